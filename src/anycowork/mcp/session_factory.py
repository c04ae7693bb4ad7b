"""Makes the sessions of one server, one for each workspace that needs its own: with its program in the sandbox, with its address, or
with its module."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.values import mutable_value, replace
from anycowork.mcp.http_transport import remote_transport
from anycowork.mcp.modules import ModuleLoader
from anycowork.mcp.oauth import TokenStore, oauth_provider
from anycowork.mcp.program import find_program
from anycowork.mcp.server_launcher import ProgramView, ServerLauncher
from anycowork.mcp.session import SCRATCH, McpSession
from anycowork.mcp.stdio_transport import Ended, McpFailed
from anycowork.sandbox.bubblewrap import HOME
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.stdio_program import LineLog

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
from dataclasses import field

_NO_SANDBOX = (
    "this machine gives no full sandbox that could hold the program, so it is not started; `anycowork doctor` says what is missing. "
    "To run it with the server's own rights all the same, set 'unsandboxed'"
)
_IDLE_SECONDS = 600.0
_MOST_WORKSPACES = 8
KeyFiles = Callable[[str], frozenset[str]]


class SessionFactory:
    """A program `for_chat` sees no credentials, also none that its configuration names.

    `wants_sign_in` is set when a remote server refused a session because nobody has signed in.
    """

    def __init__(
        self,
        launcher: ServerLauncher,
        modules: ModuleLoader,
        tokens: TokenStore,
        lines: LineLog,
        offers_changed: Callable[[], None],
        *,
        for_chat: bool,
    ) -> None:
        self._launcher = launcher
        self._modules = modules
        self._tokens = tokens
        self._lines = lines
        self._offers_changed = offers_changed
        self._for_chat = for_chat
        self.wants_sign_in = False

    def new_session(self, config: McpServerConfig, view: ProgramView) -> McpSession:
        """`view` is what a program sees."""

        def connect(end_session: Ended) -> "AbstractAsyncContextManager[TransportStreams]":
            if config.module is not None:
                return self._modules.run(config.module)
            if config.url is None:
                return self._program(config, view, end_session)
            auth = oauth_provider(config.name, config.url, self._tokens, None)
            return remote_transport(config, auth=auth, unauthorized=self._unauthorized, note=self._lines.add)

        root = view.jail.origin if view.jail else None
        scratch = config.command is not None and self._launcher.sandbox is not None
        return McpSession(
            connect,
            server=config.name,
            legacy=config.kind == "sse",
            timeout=config.timeout,
            root=root,
            own_folder=HOME if config.data_folder else SCRATCH,
            has_roots=config.url is None and (root is not None or scratch),
            sampling=config.sampling,
            offers_changed=self._offers_changed,
        )

    def is_confined(self, config: McpServerConfig) -> bool:
        """Whether its program is held to reading, if it has one."""
        return config.command is None or self._launcher.sandbox is not None

    def key_files(self, config: McpServerConfig, root: str) -> frozenset[str]:
        """The key files that a program started now would not see. Blocking."""
        return self._launcher.key_files(root) if config.command is not None else frozenset()

    def _unauthorized(self) -> None:
        self.wants_sign_in = True

    @property
    def sandbox(self) -> Sandbox | None:
        return self._launcher.sandbox

    @asynccontextmanager
    async def _program(
        self, config: McpServerConfig, view: ProgramView, end_session: Ended
    ) -> AsyncIterator["TransportStreams"]:
        if self._launcher.sandbox is None and not config.unsandboxed:
            raise McpFailed(_NO_SANDBOX)
        program = await asyncio.to_thread(
            find_program, config, self._launcher.data_dir, shows_credentials=not self._for_chat
        )
        if config.data_folder:
            view = replace(view, home=await asyncio.to_thread(self._data_folder, config.name))
        async with self._launcher.run(
            program, view, network=config.network, lines=self._lines, end_session=end_session
        ) as streams:
            yield streams

    def _data_folder(self, name: str) -> Path:
        """Blocking. Raises: McpFailed if it is full, OSError."""
        folder = self._launcher.folders.made(name)
        if (reason := self._launcher.why_full(name)) is not None:
            raise McpFailed(reason)
        return folder


@mutable_value
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
