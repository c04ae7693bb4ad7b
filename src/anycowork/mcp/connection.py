"""One configured server: the session that lists its tools, kept up with backoff, and the sessions that calls use.

A remote server has one session for all. A program or a module has one without any workspace, to list its tools, and one for each
workspace that a call comes from, started with the first admitted call: nothing of a workspace is shown to a server that nobody called from
it.
"""

import asyncio
import importlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

from pydantic import JsonValue

from anycowork.domain.errors import ToolFault
from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.messages import Json
from anycowork.domain.network import WEB_PORTS, read_destination, wanted_destinations
from anycowork.domain.ports import SuppliedFile
from anycowork.mcp.definitions import McpToolDefinition, definitions_of, plain_text
from anycowork.mcp.http_transport import ask_for_sign_in
from anycowork.mcp.modules import ModuleLoader
from anycowork.mcp.oauth import ServerSignIn, TokenStore, oauth_provider
from anycowork.mcp.offers import OfferedResource, ServerOffers, prompt_workflows
from anycowork.mcp.server_launcher import ProgramView, ServerLauncher
from anycowork.mcp.session import END_SECONDS, McpSession
from anycowork.mcp.session_factory import SessionFactory, WorkspaceSessions
from anycowork.mcp.stdio_transport import McpFailed
from anycowork.mcp.tool import McpTool
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.stdio_program import LineLog
from anycowork.workspace.jail import Jail

FIRST_DELAY = 1.0
LONGEST_DELAY = 60.0
_STEADY_SECONDS = 30.0
_ATTEMPT_STEPS = 3  # of an attempt: start, list, end; each takes as long as a call may
_LOOK_EVERY = 60.0
TURN_WAIT_SECONDS = 15.0  # that a turn waits for a server that is being started
_SIGN_IN = "it wants you to sign in: use 'Sign in' in the settings, or `anycowork mcp sign-in`"
_OWN_LINE = "AnyCowork:"  # begins what we add to the lines of the server
log = logging.getLogger(__name__)


class McpConnection:
    """`tools_changed` is called whenever what it offers has changed. `taken` are the names that its tools cannot have.
    `only_chat` is the chat that it is there for, if it is not for all."""

    def __init__(
        self,
        config: McpServerConfig,
        launcher: ServerLauncher,
        tasks: asyncio.TaskGroup,
        tokens: TokenStore,
        *,
        modules: ModuleLoader,
        taken_names: Callable[[], frozenset[str]],
        tools_changed: Callable[[], None],
        only_chat: str | None = None,
    ) -> None:
        self.config = config
        self.log = LineLog()
        self._tasks, self._tokens = tasks, tokens
        self._sessions = SessionFactory(
            launcher, modules, tokens, self.log, self._list_changed, for_chat=only_chat is not None
        )
        self._sign_in: ServerSignIn | None = None
        self._taken, self._tools_changed = taken_names, tools_changed
        self._only_chat = only_chat
        self._status, self._error = "disabled", ""
        self._offers = ServerOffers()
        self._definitions: list[McpToolDefinition] = []
        self._problems: list[str] = []
        self._workflows: list[SuppliedFile] = []
        self._main: McpSession | None = None
        self._workspaces = WorkspaceSessions(
            self._new_session, lambda root: self._sessions.key_files(self.config, root), tasks
        )
        self._settled, self._wake = asyncio.Event(), asyncio.Event()
        self._first: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._started_at = 0.0
        self._task: asyncio.Task[None] | None = None

    # --- what it offers

    def tools(self) -> list[McpTool]:
        return [McpTool(definition, self) for definition in self._definitions]

    def version_of(self, tool: str) -> str | None:
        """What the server says of the tool now; None if it has no such tool."""
        return next((definition.version for definition in self._definitions if definition.name == tool), None)

    def resources(self) -> Sequence[OfferedResource]:
        """The resources that it listed."""
        return self._offers.resources

    def workflows(self) -> list[SuppliedFile]:
        """Its prompts as workflows."""
        return self._workflows

    def shown(self) -> Json:
        used = {definition.name: definition for definition in self._definitions}
        listed: list[JsonValue] = [
            {
                "name": tool.name[:200],
                "description": used[tool.name].spec.description if tool.name in used else "",
                "enabled": tool.name in used,
                "read_only": tool.name in used and used[tool.name].spec.read_only,
            }
            for tool in self._offers.callable()[:1_000]
        ]
        error: Json = {"error": self._error} if self._error else {}
        return {
            **self.config.shown(),
            "status": self._status,
            **error,
            "sign_in": self._sign_in_state(),
            "problems": [*self._problems],
            "log": [*self.log.lines()],
            "refused_hosts": [*self._refused_hosts()],
            "tools": listed,
            "resources": len(self._offers.resources),
            "prompts": [prompt.name[:200] for prompt in self._offers.prompts],
        }

    # --- its life

    def start(self) -> None:
        """Connects, and reconnects whenever it is lost."""
        if self._task is None:
            self._settled.clear()
            loop = asyncio.get_running_loop()
            self._first, self._started_at = loop.create_future(), loop.time()
            self._status, self._error = "connecting", ""
            self._task = self._tasks.create_task(self._keep_up())

    @property
    def is_started(self) -> bool:
        return self._task is not None

    @property
    def is_awaited(self) -> bool:
        """Whether its first attempt since `start` is not over, and a turn waits for it."""
        is_tried = self._task is None or self._first.done()
        return not is_tried and asyncio.get_running_loop().time() < self._started_at + TURN_WAIT_SECONDS

    async def until_tried(self) -> None:
        """Waits for the first attempt since `start`, as long as a turn waits for it."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._started_at + TURN_WAIT_SECONDS):
                await asyncio.shield(self._first)

    async def first_outcome(self) -> Json:
        """What it showed when the first attempt since `start` was over, however later ones go."""
        try:
            async with asyncio.timeout(self._attempt_seconds):
                return await asyncio.shield(self._first)
        except TimeoutError:
            log.warning("the MCP server '%s' has neither connected nor failed", self.config.name)
            return self.shown()

    @property
    def _attempt_seconds(self) -> float:
        return _ATTEMPT_STEPS * max(self.config.timeout, END_SECONDS)

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        self._status, self._error = "disabled", ""
        self._take(ServerOffers())
        self._report()

    async def sign_in(self, sign_in: ServerSignIn) -> None:
        """Returns when a person has logged in; then it connects anew. Raises: McpFailed."""
        url = self.config.url
        if url is None:
            raise McpFailed("it is a program; only remote servers have people sign in")
        self._sign_in = sign_in
        try:
            await asyncio.to_thread(importlib.import_module, "mcp.client.auth")
            await ask_for_sign_in(self.config, oauth_provider(self.config.name, url, self._tokens, sign_in))
            if self._tokens.find(self.config.name, url) is None:
                raise McpFailed("it does not ask anybody to sign in")
            await self.stop()
            self.start()
        except Exception as error:  # noqa: BLE001  # whatever a server provokes in the SDK is the server's failure
            raise McpFailed(plain_text(str(error) or type(error).__name__, 300)) from None
        finally:
            if self._sign_in is sign_in:
                self._sign_in = None

    def fail(self, reason: str) -> None:
        """Says why signing in did not work, unless it is connected."""
        if self._status != "ready":
            self._status, self._error = "failed", reason

    def _sign_in_state(self) -> str:
        if self.config.url is None:
            return "none"
        if self._sign_in is not None:
            return "open"
        if self._sessions.wants_sign_in:
            return "needed"
        return "done" if self._tokens.find(self.config.name, self.config.url) is not None else "none"

    def use(self, config: McpServerConfig) -> None:
        """Takes another choice of tools at once; what is running stays."""
        self.config = config
        self._take(self._offers)

    async def relist(self) -> None:
        """Lists its tools again. Raises: McpFailed."""
        if self._main is None:
            raise McpFailed(self._error or "it is not connected")
        self._take(await self._main.offers())

    @asynccontextmanager
    async def session_for(self, root: str | None) -> AsyncIterator[McpSession]:
        """Raises: McpFailed."""
        if self.config.url is not None or self.config.workspace_access == "none" or root is None:
            with self._loss_logged(session := await self._main_session()):
                yield session
            return
        try:
            async with self._workspaces.session_in(root) as session:
                with self._loss_logged(session):
                    yield session
        finally:
            self._wake.set()

    @asynccontextmanager
    async def session_of_call(self, view: ProgramView) -> AsyncIterator[McpSession]:
        """A program of its own for one call; afterwards nothing of it runs any more. Raises: McpFailed."""
        session = self._sessions.new_session(self.config, view)
        try:
            await session.open(self._tasks)
            with self._loss_logged(session):
                yield session
        finally:
            await session.aclose()
        if not session.is_over:
            raise McpFailed("it could not be ended")

    @property
    def sandbox(self) -> Sandbox | None:
        return self._sessions.sandbox

    @contextmanager
    def _loss_logged(self, session: McpSession) -> Iterator[None]:
        """It is started anew so soon that nobody would know of it otherwise."""
        try:
            yield
        except McpFailed:
            if session.is_lost:
                self.log.add(f"{_OWN_LINE} {session.loss} (in a call)".encode())
            raise

    async def _main_session(self) -> McpSession:
        if self._task is None:
            raise McpFailed("it is disconnected")
        if self._main is None or self._main.closed.is_set():
            self._settled.clear()
            self._wake.set()
            try:
                async with asyncio.timeout(self._attempt_seconds):
                    await self._settled.wait()
            except TimeoutError:
                pass
        if self._main is None or self._main.closed.is_set():
            raise McpFailed(self._error or "it is not connected")
        return self._main

    async def _keep_up(self) -> None:
        loop, delay = asyncio.get_running_loop(), FIRST_DELAY
        try:
            while True:
                started_at = loop.time()
                await self._connect_once()
                if loop.time() - started_at > _STEADY_SECONDS:
                    delay = FIRST_DELAY
                self._report()
                await self._pause(delay)
                delay = min(2 * delay, LONGEST_DELAY)
        finally:
            await self._workspaces.aclose()

    def _report(self) -> None:
        """An attempt is over: tells everybody who waits for it."""
        self._settled.set()
        if not self._first.done():
            self._first.set_result(self.shown())

    async def _connect_once(self) -> None:
        """Returns when the session is over; what went wrong is kept."""
        self._status, self._sessions.wants_sign_in = "connecting", False
        session = self._new_session(None)
        try:
            await session.open(self._tasks)
            self._take(await session.offers())
            self._main, self._status, self._error = session, "ready", ""
            self._report()
            await self._until_closed(session)
            self._status, self._error = "failed", f"{session.loss}{self._last_line()}. It is being restored"
            self.log.add(f"{_OWN_LINE} {session.loss}".encode())
        except (ToolFault, OSError) as error:
            self._status, self._error = "failed", self._why_failed(session, error)
        finally:
            self._main = None
            await session.aclose()

    def _why_failed(self, session: McpSession, error: Exception) -> str:
        if self._sessions.wants_sign_in:
            return _SIGN_IN
        if self.config.command is None:
            return str(error)
        refused = self._refused_hosts()
        if refused:
            return (
                f"it wanted to reach {', '.join(refused[:3])}, which its list of hosts does not name. Add it there ('network'), if the "
                f"program may reach it{self._last_line()}"
            )
        if not session.ended_early:
            return f"{error}{self._last_line()}"
        printed = self._last_line()
        if not printed:
            return f"the program '{self.config.command}' ended before it was ready and printed nothing; run it in a terminal to see why"
        return f"the program '{self.config.command}' ended before it was ready{printed}"

    def _last_line(self) -> str:
        printed = [line for line in self.log.lines() if not line.startswith(_OWN_LINE)]
        return f"; its last line was: {printed[-1]}" if printed else ""

    def _refused_hosts(self) -> list[str]:
        """The hosts that it wanted to reach since it started, and that its configuration does not name."""
        allowed = wanted_destinations(self.config.network)
        hosts = map(read_destination, self.log.network.refused)
        refused = [host for host in hosts if not any(destination.covers(host) for destination in allowed)]
        return list(dict.fromkeys(host.host if host.port in WEB_PORTS else str(host) for host in refused))

    async def _until_closed(self, session: McpSession) -> None:
        """Meanwhile it relists when the server says that its tools changed, and ends sessions that nobody used for long."""
        waking = asyncio.ensure_future(self._wake_when_closed(session))
        try:
            while not session.closed.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_EVERY):
                        await self._wake.wait()
                self._wake.clear()
                if self._relist_wanted and not session.closed.is_set():
                    self._relist_wanted = False
                    self._take(await session.offers())
                await self._workspaces.end_idle()
        finally:
            waking.cancel()
            await asyncio.wait(
                [waking]
            )  # a task that nobody waits for is destroyed with the loop, and the log tells of it

    async def _wake_when_closed(self, session: McpSession) -> None:
        await session.closed.wait()
        self._wake.set()

    _relist_wanted = False

    def _list_changed(self) -> None:
        self._relist_wanted = True
        self._wake.set()

    async def _pause(self, seconds: float) -> None:
        """Until the time is over, or somebody needs the server now."""
        self._wake.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _take(self, offers: ServerOffers) -> None:
        before = self._definitions
        self._offers = offers
        self._definitions, self._problems = definitions_of(
            self.config,
            offers.callable(),
            taken_names=self._taken(),
            confined=self._sessions.is_confined(self.config),
            only_chat=self._only_chat,
        )
        self._workflows, left_out = prompt_workflows(self.config.name, offers.prompts, self._definitions)
        self._problems += left_out
        if self._definitions != before:
            self._tools_changed()

    def _new_session(self, root: str | None) -> McpSession:
        return self._sessions.new_session(self.config, ProgramView(None if root is None else Jail(root)))
