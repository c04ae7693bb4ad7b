"""The configured delegates as one source of the toolbox. Without a sandbox there are none: nothing could hold them."""

from collections.abc import Sequence

from anycowork.delegates.tool import DelegateTool
from anycowork.domain.delegates import DelegateConfig
from anycowork.mcp.server_launcher import ServerLauncher


class DelegateSource:
    """Implements the toolbox's `ToolSource`."""

    source_name = "agents"

    def __init__(self, configs: Sequence[DelegateConfig], launcher: ServerLauncher) -> None:
        self._configs, self._launcher = configs, launcher

    def tools(self) -> list[DelegateTool]:
        sandbox = self._launcher.sandbox
        if sandbox is None:
            return []
        return [DelegateTool(config, self._launcher, sandbox) for config in self._configs]
