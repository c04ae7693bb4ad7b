"""Implements the `Toolbox` port: built-in tools, and third-party tools beside them. It does not decide which of these tools a role is
shown and may call."""

from collections.abc import Iterable, Mapping, Sequence

from anycowork.domain.ports import Tool
from anycowork.domain.tools import ToolSpec
from anycowork.sandbox.egress import Egress
from anycowork.sandbox.sandbox import Sandbox
from anycowork.tools.execute_command import ExecuteCommand
from anycowork.tools.move_and_delete import DeleteFile, MoveFile
from anycowork.tools.read_tools import GetFileInfo, ListDirectory, ReadFile
from anycowork.tools.ripgrep import Ripgrep, find_ripgrep
from anycowork.tools.search_symbol import SearchSymbol
from anycowork.tools.search_tools import Grep, SearchCode
from anycowork.tools.write_tools import CreateFile, UpdateFile


class ToolRegistry:
    def __init__(self, tools: Iterable[Tool]) -> None:
        self._own = _by_name(tools)
        self._all = self._own
        self._specs = _sorted(self._all)

    @property
    def own_names(self) -> frozenset[str]:
        return frozenset(self._own)

    def set_third_party(self, others: Iterable[Tool]) -> None:
        """Replaces the third-party tools. None can replace a built-in tool. Raises: ValueError."""
        self._all = _by_name([*self._own.values(), *others])
        self._specs = _sorted(self._all)

    def find(self, name: str) -> Tool | None:
        return self._all.get(name)

    def specs(self) -> Sequence[ToolSpec]:
        """Returns specs by priority, then name; the same object as long as they are the same."""
        return self._specs


def _by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for tool in tools:
        if tool.spec.name in found:
            raise ValueError(f"two tools are called '{tool.spec.name}'")
        found[tool.spec.name] = tool
    return found


def _sorted(tools: Mapping[str, Tool]) -> tuple[ToolSpec, ...]:
    return tuple(sorted((tool.spec for tool in tools.values()), key=lambda spec: (spec.priority, spec.name)))


def built_in_tools(
    rg: str | None, command_timeout: float, sandbox: Sandbox | None = None, egress: Egress | None = None
) -> ToolRegistry:
    """`rg` is ripgrep's path; None looks for it beside this Python and on PATH. `command_timeout` is in seconds.

    Without a `sandbox`, commands run with the server's own rights, only for roles that may do anything, and always ask. `egress` gives
    commands network access; None uses the real network.
    """
    ripgrep = Ripgrep(rg or find_ripgrep())
    return ToolRegistry(
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
