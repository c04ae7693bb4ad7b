"""The sessions of one server for the workspaces that calls come from: started with the first admitted call, ended when unused."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from anycowork.mcp.session import McpSession

_IDLE_SECONDS = 600.0
_MOST_WORKSPACES = 8
KeyFiles = Callable[[str], frozenset[str]]


@dataclass(slots=True)
class _WorkspaceSession:
    session: McpSession | None = None
    opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    used_at: float = 0.0
    key_files: frozenset[str] = frozenset()


class WorkspaceSessions:
    """`key_files` names those of a workspace that a session started now would not see. It may block."""

    def __init__(
        self, new_session: Callable[[str | None], McpSession], key_files: KeyFiles, tasks: asyncio.TaskGroup
    ) -> None:
        self._new_session = new_session
        self._key_files = key_files
        self._tasks = tasks
        self._held: dict[str, _WorkspaceSession] = {}

    @asynccontextmanager
    async def session_in(self, root: str) -> AsyncIterator[McpSession]:
        """Raises: McpFailed."""
        entry = self._held.setdefault(root, _WorkspaceSession())
        entry.users += 1
        try:
            async with entry.opening:
                session = await self._open(entry, root)
            yield session
        finally:
            entry.users -= 1
            entry.used_at = asyncio.get_running_loop().time()

    async def end_idle(self) -> None:
        """Ends those that nobody used for long, and the oldest if there are too many."""
        now = asyncio.get_running_loop().time()
        unused = sorted((entry.used_at, root) for root, entry in self._held.items() if entry.users == 0)
        too_many = max(0, len(self._held) - _MOST_WORKSPACES)
        for index, (used_at, root) in enumerate(unused):
            if index < too_many or now - used_at > _IDLE_SECONDS:
                entry = self._held.pop(root)
                if entry.session is not None:
                    await entry.session.aclose()

    async def aclose(self) -> None:
        for entry in self._held.values():
            if entry.session is not None:
                await entry.session.aclose()
        self._held.clear()

    async def _open(self, entry: _WorkspaceSession, root: str) -> McpSession:
        """Starts anew if key files came into the workspace since: what a program sees cannot be covered any more."""
        key_files = await asyncio.to_thread(self._key_files, root)
        if entry.session is not None and not entry.session.closed.is_set():
            if key_files <= entry.key_files:
                return entry.session
            await entry.session.aclose()
        entry.session, entry.key_files = self._new_session(root), key_files
        await entry.session.open(self._tasks)
        return entry.session
