"""Manages this server's plugins: which are installed, which are enabled, their tools, and their problems."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from pathlib import Path

from pydantic import ValidationError

from anycowork.domain.errors import ToolFault
from anycowork.domain.messages import Json
from anycowork.domain.network import NETWORK
from anycowork.domain.values import mutable_value
from anycowork.domain.visible_text import os_reason
from anycowork.tools.child_process import ChildEnding, ChildLimits
from anycowork.tools.plugins.manifest import (
    DeclaredTool,
    Plugin,
    PluginDescription,
    ToolNotOffered,
    declared,
    describe_problems,
    find_plugins,
    plain_name,
    without_clashes,
)
from anycowork.tools.plugins.runtime import PluginRuntime
from anycowork.tools.plugins.tool import PluginTool
from anycowork.tools.toolbox import ToolRegistry

DESCRIBE_SECONDS = 20.0
_MOST_DESCRIBED = 1_000_000
_NO_WORKSPACE = "/"  # it runs as the server's own user; nothing of it is visible
_NO_SANDBOX = "this machine has no sandbox for foreign code, so it is not used; `anycowork doctor` says what is missing"


@mutable_value
class _PluginState:
    """The outcome of enabling one plugin."""

    tools: list[DeclaredTool] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class PluginManager:
    """Adds the tools of enabled plugins to the toolbox. `runtime` None: this machine cannot run them. `timeout` returns the seconds that a call may
    take."""

    source_name = "plugins"

    def __init__(
        self, folder: Path, toolbox: ToolRegistry, runtime: PluginRuntime | None, *, timeout: Callable[[], float]
    ) -> None:
        self._folder = folder
        self._toolbox = toolbox
        self._runtime = runtime
        self._timeout = timeout
        self._looked: dict[str, _PluginState] = {}
        self._tools: tuple[PluginTool, ...] = ()
        self._switching = asyncio.Lock()

    async def enable(self, names: Iterable[str]) -> None:
        """Enables exactly these and disables the others. One that fails is reported and left out; the server continues without it."""
        async with self._switching:
            enabled_names = dict.fromkeys(map(plain_name, names))
            installed = {plugin.name: plugin for plugin in await self._found()} if enabled_names else {}
            looked = {
                name: _PluginState(problems=["it is not installed"]) for name in enabled_names if name not in installed
            }
            async with asyncio.TaskGroup() as tasks:
                inspections = {
                    name: tasks.create_task(self._inspect(installed[name]))
                    for name in enabled_names
                    if name in installed
                }
            looked |= {name: task.result() for name, task in inspections.items()}
            every = [tool for state in looked.values() for tool in state.tools]
            offered, refused = without_clashes(every, {*self._toolbox.taken_names(self.source_name), NETWORK})
            for name, state in looked.items():
                state.tools = [tool for tool in offered if tool.plugin == name]
                state.problems += refused.get(name, [])
            self._looked = looked
            self._tools = tuple(self._tool(installed[tool.plugin], tool) for tool in offered)
            self._toolbox.refresh(self)

    def tools(self) -> Sequence[PluginTool]:
        """Returns the tools of the enabled plugins."""
        return self._tools

    def report(self) -> list[Json]:
        """Lists every plugin that is installed or enabled: its name, whether it is on, how many tools it has, its problems. Blocking."""
        installed = {plugin.name: plugin for plugin in find_plugins(self._folder)}
        return [self._report_of(name, installed.get(name)) for name in sorted({*installed, *self._looked})]

    async def _found(self) -> Sequence[Plugin]:
        return await asyncio.to_thread(find_plugins, self._folder)

    async def _inspect(self, plugin: Plugin) -> _PluginState:
        """Returns its tools as it describes them in the sandbox: nothing of it is imported here."""
        if self._runtime is None:
            return _PluginState(problems=[_NO_SANDBOX])
        try:
            described = await _describe(plugin, self._runtime)
        except (ToolFault, OSError) as error:
            return _PluginState(problems=describe_problems([os_reason(error, with_path=True)]))
        looked = _PluginState(problems=list(described.problems))
        for description in described.tools:
            try:
                looked.tools.append(declared(plugin.name, plugin.entries, description))
            except ToolNotOffered as refused:
                looked.problems.append(str(refused))
        looked.problems = describe_problems(looked.problems)
        return looked

    def _tool(self, plugin: Plugin, tool: DeclaredTool) -> PluginTool:
        assert self._runtime is not None  # without it no tool was ever declared
        return PluginTool(plugin, tool, self._runtime, self._timeout)

    def _report_of(self, name: str, plugin: Plugin | None) -> Json:
        looked = self._looked.get(name)
        return {
            "name": name,
            "version": plugin.version if plugin else None,
            "on": looked is not None,
            "tools": len(looked.tools) if looked else 0,
            "problems": list(looked.problems) if looked else [],
        }


async def _describe(plugin: Plugin, runtime: PluginRuntime) -> PluginDescription:
    """Raises: ToolFault."""
    bounds = ChildLimits(seconds=DESCRIBE_SECONDS, output=_MOST_DESCRIBED)
    asking = runtime.worker_for(plugin, {"do": "describe", "entries": list(plugin.entries)}, bounds)
    async with runtime.sandbox.read_only(_NO_WORKSPACE) as stage:
        child, _ = await asking.run(_NO_WORKSPACE, stage)
    if child.how is ChildEnding.TIMED_OUT:
        raise ToolFault(f"it did not say within {DESCRIBE_SECONDS:g} seconds what tools it has")
    try:
        if child.how is ChildEnding.ITSELF:
            return PluginDescription.model_validate_json(child.output)
    except ValidationError:
        pass
    printed = child.errors.decode(errors="replace").strip()[-300:]
    raise ToolFault(f"it did not say what tools it has{f'; it last printed: {printed}' if printed else ''}")
