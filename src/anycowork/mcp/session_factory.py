"""Makes the sessions of one server: with its program in the sandbox, with its address, or with its module."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.values import replace
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

_NO_SANDBOX = (
    "this machine gives no full sandbox that could hold the program, so it is not started; `anycowork doctor` says what is missing. "
    "To run it with the server's own rights all the same, set 'unsandboxed'"
)


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
