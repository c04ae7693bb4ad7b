"""The language servers of all workspaces: started with the first edit of a language, used again, and ended when unused."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable
from contextlib import suppress

from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import ToolContext
from anycowork.sandbox.layers.staging_folders import runner_for
from anycowork.sandbox.sandbox import Sandbox
from anycowork.tools.built_in_tool import folder_of
from anycowork.tools.language.diagnostics import EditCheck, NewErrors
from anycowork.tools.language.language_server import (
    Edit,
    LanguageServer,
    LanguageServerProgram,
    family_of,
    find_programs,
    language_of,
)
from anycowork.workspace.text import decode

MOST_SERVERS = 4
MOST_STARTS = 2  # of one server that fails, until this process ends
LARGEST_CHECKED = 500_000  # bytes
MOST_TURNS = 100  # that late errors are kept for
_Key = tuple[str, ...]


class LanguageServers:
    """`seconds` is how long an edit waits for its errors; 0 switches them off."""

    def __init__(self, sandbox: Sandbox, tasks: asyncio.TaskGroup, seconds: Callable[[], float]) -> None:
        self._sandbox = sandbox
        self._tasks = tasks
        self._seconds = seconds
        self._servers: OrderedDict[_Key, LanguageServer] = OrderedDict()
        self._failures: Counter[_Key] = Counter()
        self._expected: OrderedDict[str, set[str]] = (
            OrderedDict()
        )  # families of languages, by the turn whose edits wait

    async def check_edit(self, path: str, before: bytes | None, after: bytes, tool_context: ToolContext) -> EditCheck:
        """Returns the errors that this edit brought, and those of earlier ones that came too late. Waits no longer than the setting;
        what is found later comes with a later result of the turn."""
        texts = _texts(path, before, after)
        seconds = self._seconds()
        jail = folder_of(tool_context).jail
        # A private copy or a layer of a task lives shorter than a server takes to start.
        if seconds <= 0 or texts is None or jail.layers != (jail.origin,) or not tool_context.hidden.tells(path):
            return EditCheck()
        server = await self._server_for(path, tool_context)
        if server is None:
            return EditCheck()
        edit = Edit(path, *texts, asyncio.Event())
        if server.show(edit):
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await edit.checked.wait()
        pending = server.pending()
        if pending is not None and tool_context.turn_id:
            self._expect(tool_context.turn_id, family_of(path))
        return EditCheck(server.take_new_errors(), pending)

    def late_errors(self, tool_context: ToolContext) -> NewErrors | None:
        """Returns errors that a server found after the results of the turn's edits were told, once. Waits for nothing."""
        families = self._expected.get(tool_context.turn_id, set())
        for family in [*families]:
            server = self._servers.get(_key(family, tool_context))
            if server is None or server.pending() is None:
                families.remove(family)
            if server is not None and (errors := server.take_new_errors()) is not None:
                return errors
        return None

    def _expect(self, turn_id: str, family: str) -> None:
        self._expected.setdefault(turn_id, set()).add(family)
        if len(self._expected) > MOST_TURNS:
            self._expected.popitem(last=False)

    async def aclose(self) -> None:
        for server in self._servers.values():
            server.stop()
        for server in [*self._servers.values()]:
            await server.ended.wait()

    async def _server_for(self, path: str, tool_context: ToolContext) -> LanguageServer | None:
        """Returns the workspace's running server for this language, or starts one; None if there is none that works."""
        jail, hidden, key = folder_of(tool_context).jail, tool_context.hidden, _key(family_of(path), tool_context)
        may_run = _may_run(tool_context)
        server = self._servers.get(key)
        if server is not None and not server.ended.is_set():
            self._servers.move_to_end(key)
            return server
        if server is not None:
            del self._servers[key]
            self._failures[(*key, server.program.path)] += server.failed
        for program in await asyncio.to_thread(self._programs, jail.root, path):
            if (program.in_workspace and not may_run) or self._failures[(*key, program.path)] >= MOST_STARTS:
                continue
            if (started := self._servers.get(key)) is not None:  # by another edit meanwhile
                return started
            self._make_room()
            server = self._servers[key] = LanguageServer(self._sandbox, jail, hidden, program)
            self._tasks.create_task(server.run())
            return server
        return None

    def _programs(self, root: str, path: str) -> list[LanguageServerProgram]:
        tools = self._sandbox.toolchains_for(root, runner_for(root))
        return [*find_programs(root, path, ":".join(tools.path))]

    def _make_room(self) -> None:
        """Stops the server that was unused for longest, if there are too many."""
        running = [server for server in self._servers.values() if not server.ended.is_set()]
        if len(running) >= MOST_SERVERS:
            running[0].stop()


def _may_run(tool_context: ToolContext) -> bool:
    return Permission.EXECUTE_COMMANDS in tool_context.permissions


def _key(family: str, tool_context: ToolContext) -> _Key:
    """What one may read or run, another may not: they share no server."""
    root, hidden = folder_of(tool_context).jail.root, tool_context.hidden
    return root, family, str(_may_run(tool_context)), *hidden.patterns, "", *hidden.asking


def _texts(path: str, before: bytes | None, after: bytes) -> tuple[str | None, str] | None:
    """Returns both texts, if there is a server for this kind of file and they are not too large for it."""
    if language_of(path) is None or max(len(before or b""), len(after)) > LARGEST_CHECKED:
        return None
    old, new = decode(before) if before is not None else None, decode(after)
    if new is None or (before is not None and old is None):
        return None
    return (old.body if old is not None else None), new.body
