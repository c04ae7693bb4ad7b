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
from anycowork.tools.language.diagnostics import NewErrors
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
_Key = tuple[str, ...]


class LanguageServers:
    """`seconds` is how long an edit waits for its errors; 0 switches them off."""

    def __init__(self, sandbox: Sandbox, tasks: asyncio.TaskGroup, seconds: Callable[[], float]) -> None:
        self._sandbox = sandbox
        self._tasks = tasks
        self._seconds = seconds
        self._servers: OrderedDict[_Key, LanguageServer] = OrderedDict()
        self._failures: Counter[_Key] = Counter()

    async def errors_of_edit(
        self, path: str, before: bytes | None, after: bytes, tool_context: ToolContext
    ) -> NewErrors | None:
        """Returns the errors that this edit brought, and those of earlier ones that came too late. Waits no longer than the setting."""
        texts = _texts(path, before, after)
        seconds = self._seconds()
        jail = folder_of(tool_context).jail
        # A private copy or a layer of a task lives shorter than a server takes to start.
        if seconds <= 0 or texts is None or jail.layers != (jail.origin,) or not tool_context.hidden.tells(path):
            return None
        server: LanguageServer | None = None
        edit = Edit(path, *texts, asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                server = await self._server_for(path, tool_context)
                if server is not None and server.show(edit):
                    await edit.checked.wait()
        return server.take_new_errors() if server is not None else None

    async def aclose(self) -> None:
        for server in self._servers.values():
            server.stop()
        for server in [*self._servers.values()]:
            await server.ended.wait()

    async def _server_for(self, path: str, tool_context: ToolContext) -> LanguageServer | None:
        """Returns the workspace's running server for this language, or starts one; None if there is none that works."""
        jail, hidden = folder_of(tool_context).jail, tool_context.hidden
        may_run = Permission.EXECUTE_COMMANDS in tool_context.permissions
        # What one may read or run, another may not: they share no server.
        key = (jail.root, family_of(path), str(may_run), *hidden.patterns, "", *hidden.asking)
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


def _texts(path: str, before: bytes | None, after: bytes) -> tuple[str | None, str] | None:
    """Returns both texts, if there is a server for this kind of file and they are not too large for it."""
    if language_of(path) is None or max(len(before or b""), len(after)) > LARGEST_CHECKED:
        return None
    old, new = decode(before) if before is not None else None, decode(after)
    if new is None or (before is not None and old is None):
        return None
    return (old.body if old is not None else None), new.body
