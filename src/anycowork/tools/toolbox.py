"""Implements the `Toolbox` port: built-in tools, and beside them those of other sources (plugins, MCP servers).
It does not decide which of these tools a role is shown and may call."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from anycowork.domain.tool_ports import Tool
from anycowork.domain.tools import ToolSpec
from anycowork.sandbox.network.egress import Egress
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.sandbox.sandbox import Sandbox
from anycowork.tools.ask_agent import AskAgent
from anycowork.tools.built_in_tool import BuiltInTool
from anycowork.tools.execute_command import ExecuteCommand
from anycowork.tools.language.language_servers import LanguageServers
from anycowork.tools.move_and_delete import DeleteFile, MoveFile
from anycowork.tools.read_tools import GetFileInfo, ListDirectory, ReadFile, ReadHistory
from anycowork.tools.ripgrep import Ripgrep, find_ripgrep
from anycowork.tools.search_symbol import SearchSymbol
from anycowork.tools.search_tools import Grep, SearchCode
from anycowork.tools.web.fetch_page import FetchPage
from anycowork.tools.web.search_web import SearchWeb
from anycowork.tools.write_tools import CreateFile, UpdateFile


class ToolSource(Protocol):
    """Where tools come from besides the built-in ones. Each source is refreshed without the others."""

    @property
    def source_name(self) -> str: ...

    def tools(self) -> Iterable[Tool]:
        """The tools it has now."""


class ToolRegistry:
    """The built-in tools, which nothing can replace, and the tools of each source as they were when it was last refreshed."""

    def __init__(self, tools: Iterable[Tool], unlisted: Iterable[Tool] = ()) -> None:
        """`unlisted` tools can be called by name, but no list offers them: the prompt names one where it is needed."""
        self._unlisted = _by_name(unlisted)
        self._built_in = _by_name(tools)
        self._sources: dict[str, dict[str, Tool]] = {}
        self._all = self._built_in
        self._specs: tuple[ToolSpec, ...] | None = None

    def taken_names(self, source_name: str) -> frozenset[str]:
        """The names that this source cannot have: those of the built-in tools and of the other sources."""
        others = (tools for name, tools in self._sources.items() if name != source_name)
        return frozenset(self._built_in).union(self._unlisted, *others)

    def refresh(self, source: ToolSource) -> None:
        """Replaces the tools of this source. Raises: ValueError if a name is taken; then nothing changes."""
        sources = {**self._sources, source.source_name: _by_name(source.tools())}
        everything = _by_name(
            [*self._built_in.values(), *(tool for tools in sources.values() for tool in tools.values())]
        )
        self._sources, self._all, self._specs = sources, everything, None

    def find(self, name: str) -> Tool | None:
        return self._all.get(name) or self._unlisted.get(name)

    def specs(self) -> Sequence[ToolSpec]:
        """Returns specs by priority, then name; the same object as long as they are the same."""
        if self._specs is None:
            self._specs = _sorted(self._all)
        return self._specs


def _by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    tools_by_name: dict[str, Tool] = {}
    for tool in tools:
        name = (
            tool.name if isinstance(tool, BuiltInTool) else tool.spec.name
        )  # a start needs no spec of the built-in ones
        if name in tools_by_name:
            raise ValueError(f"two tools are called '{name}'")
        tools_by_name[name] = tool
    return tools_by_name


def _sorted(tools: Mapping[str, Tool]) -> tuple[ToolSpec, ...]:
    return tuple(sorted((tool.spec for tool in tools.values()), key=lambda spec: (spec.priority, spec.name)))


def built_in_tools(
    rg: str | None,
    command_timeout: Callable[[], float],
    sandbox: Sandbox | None = None,
    egress: Egress | None = None,
    remote: RemoteRuns | None = None,
    language_servers: LanguageServers | None = None,
) -> ToolRegistry:
    """`rg` is ripgrep's path; None looks for it beside this Python and on PATH. `command_timeout` returns seconds, for each command.

    Without a `sandbox`, commands run with the server's own rights, only for roles that may do anything, and always ask. `egress` gives
    commands and pages network access; None uses the real network. `remote` are the workers that commands of tasks run on.
    `language_servers` say which errors an edit brings.
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
            CreateFile(language_servers),
            UpdateFile(language_servers),
            MoveFile(),
            DeleteFile(),
            ExecuteCommand(timeout=command_timeout, sandbox=sandbox, egress=egress, remote=remote),
            AskAgent(),
            FetchPage(egress),
        ],
        # With a search engine, another `search_web` is offered instead.
        unlisted=[ReadHistory(), SearchWeb(lambda: None)],
    )
