"""The Toolbox of the domain's ports. Which of these tools a role is shown and may call is not decided here.

Tools of third parties (entry points of the group `anycowork.tools`) are not loaded: importing them would put foreign code beside
the server's secrets. They need a worker process of their own, in which a Tool's three methods are asked over a pipe.
"""

from collections.abc import Iterable, Sequence

from anycowork.domain.ports import Tool
from anycowork.domain.tools import ToolSpec
from anycowork.tools.moving import DeleteFile, MoveFile
from anycowork.tools.reading import GetFileInfo, ListDirectory, ReadFile
from anycowork.tools.ripgrep import Ripgrep, find_ripgrep
from anycowork.tools.search import Grep, SearchCode
from anycowork.tools.shell import ExecuteCommand
from anycowork.tools.symbols import SearchSymbol
from anycowork.tools.writing import CreateFile, UpdateFile
from anycowork.workspace.egress import Egress
from anycowork.workspace.sandbox import Sandbox


class Toolbox:
    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.spec.name in self._tools:
                raise ValueError(f"two tools are called '{tool.spec.name}'")
            self._tools[tool.spec.name] = tool

    def find(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def specs(self) -> Sequence[ToolSpec]:
        """By priority, then name."""
        return sorted((tool.spec for tool in self._tools.values()), key=lambda spec: (spec.priority, spec.name))


def built_in_tools(
    rg: str | None, command_timeout: float, sandbox: Sandbox | None = None, egress: Egress | None = None
) -> Toolbox:
    """`rg` is ripgrep's path; None looks for it beside this Python and on PATH. `command_timeout` is in seconds.

    Without a `sandbox` commands run with the server's own rights, only for roles that may do anything, and always ask. `egress` is how commands get
    network; None leads to the real one.
    """
    ripgrep = Ripgrep(rg or find_ripgrep())
    return Toolbox(
        [
            ReadFile(),
            ListDirectory(),
            GetFileInfo(),
            Grep(ripgrep),
            SearchCode(ripgrep),
            SearchSymbol(ripgrep),
            CreateFile(),
            UpdateFile(),
            MoveFile(),
            DeleteFile(),
            ExecuteCommand(timeout=command_timeout, sandbox=sandbox, egress=egress),
        ]
    )
