"""A delegate as a tool: one task, given to another vendor's agent in a private copy of the workspace, and settled like a command."""

import asyncio
import importlib
import os
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any

from pydantic import SecretStr

from anycowork.delegates.sandbox_requests import SandboxRequests
from anycowork.delegates.transport import DelegateTransport
from anycowork.domain.agents import DelegateConfig
from anycowork.domain.errors import BadParameters, ToolFault, ToolTimedOut
from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.messages import Json
from anycowork.domain.network import wanted_destinations
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallError, CallStatus, Intent, Parameters, ToolResult, ToolSpec
from anycowork.domain.values import replace, value
from anycowork.mcp.definitions import plain_text
from anycowork.mcp.program import find_program
from anycowork.mcp.server_launcher import ServerLauncher
from anycowork.sandbox.bubblewrap import VisiblePaths
from anycowork.sandbox.commit.delta import UnusableDelta
from anycowork.sandbox.commit.transaction import Transaction
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.network.dialer import NetworkReach
from anycowork.sandbox.network.egress import proxy_environment
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.stdio_program import LineLog, open_pipes, start_words, started_process
from anycowork.tools.built_in_tool import folder_of
from anycowork.tools.command_changes import commit_now, settle_changes
from anycowork.tools.command_summary import without_key_files
from anycowork.tools.plugins.schemas import problems_by

START_SECONDS = 60.0
CANCEL_SECONDS = 3.0
LONGEST_TASK = 200_000
MOST_DROPPED_FILES = 100
UNSANDBOXED_MODES = ("full-access", "agent-full-access")
"""Codex's modes without a sandbox of its own. That one cannot start inside ours, which holds the agent in any mode."""


class DelegateFailed(ToolFault):
    """The agent did not do its task."""

    code = "agent_failed"


class DelegateTool:
    """Implements the `Tool` port."""

    def __init__(self, config: DelegateConfig, launcher: ServerLauncher, sandbox: Sandbox) -> None:
        self._config, self._launcher, self._sandbox = config, launcher, sandbox
        task: Json = {
            "type": "string",
            "description": "What the agent is to do, in full: it sees the files and nothing else.",
        }
        self.spec = ToolSpec(
            name=config.tool,
            category="agents",
            description=f"Give a task to the agent '{config.name}'. It works on a copy of the workspace; its changes are checked and kept.",
            permissions=frozenset({Permission.EXECUTE_COMMANDS}),
            schema={"type": "object", "properties": {"task": task}, "required": ["task"]},
            priority=75,
            contained=True,
            looks_below=True,
            reveals=True,
            delegate=config.name,
        )

    def problems(self, parameters: Parameters) -> list[str]:
        return problems_by(self.spec.schema, parameters)

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        """Starts nothing. Raises: BadParameters."""
        task = parameters.get("task")
        if problems := self.problems(parameters):
            raise BadParameters(f"{self.spec.name}: " + " ".join(problems))
        if not isinstance(task, str) or not task.strip() or len(task) > LONGEST_TASK:
            raise BadParameters(f"{self.spec.name}: 'task' must be a text of 1 to {LONGEST_TASK:,} letters.")
        return Prepared(
            tool=self.spec.name,
            parameters=parameters,
            resource=f"agent:{self._config.name}",
            intent=Intent(command=f"agent {self._config.name}", contained=True),
            network=wanted_destinations(self._config.network),
        )

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        """Raises: ToolFault. What it changed is dropped if it fails, is stopped or runs out of time."""
        jail = folder_of(tool_context).jail
        if tool_context.commit.held is not None:
            return await commit_now(self._sandbox.staging, jail, tool_context.commit.held, tool_context)
        task = str(prepared.parameters["task"])
        async with self._sandbox.begin(jail, Layer.COPY, tool_context.hidden) as transaction:
            log = LineLog()
            requests = SandboxRequests(self._sandbox, transaction, seconds=self._config.seconds)
            try:
                async with AsyncExitStack() as things:
                    pipes = await things.enter_async_context(
                        delegate_process(self._config, self._launcher, self._sandbox, transaction, log)
                    )
                    transport = DelegateTransport(pipes.reader, pipes.writer, log)
                    result = await self._converse(task, transport, pipes.ended, requests, tool_context, jail.origin)
            except DelegateFailed as failed:
                printed = f" It printed: {' / '.join(log.lines()[-5:])}" if log.lines() else ""
                raise DelegateFailed(f"{failed.message}{printed}") from None
            finally:
                await requests.aclose()
            result = without_key_files(result, transaction.covered.key_files)
            whose = f"The agent '{self._config.name}' in this role"
            settled = await settle_changes(
                transaction, f"agent {self._config.name}", result, tool_context, by_itself=True, whose=whose
            )
            return await asyncio.to_thread(_with_dropped_files, settled, transaction)

    async def _converse(
        self,
        task: str,
        transport: DelegateTransport,
        program_end: asyncio.Event,
        requests: SandboxRequests,
        tool_context: ToolContext,
        root: str,
    ) -> ToolResult:
        await asyncio.to_thread(
            importlib.import_module, "anycowork.delegates.acp_client"
        )  # a second, in which chats go on
        from acp.client.connection import ClientSideConnection
        from acp.exceptions import RequestError
        from pydantic import ValidationError

        from anycowork.delegates.acp_client import DelegateClient

        name = self._config.name
        client: Any = DelegateClient(name, root, requests, tool_context)
        connection = ClientSideConnection(client, transport)
        try:
            session = await _unless_ended(program_end, self._open(connection, root))
            async with asyncio.timeout(self._config.seconds):
                reason = await _unless_ended(program_end, self._prompt(connection, session, task))
        except TimeoutError:
            raise ToolTimedOut(
                f"The agent '{name}' was not done within {self._config.seconds:g} seconds. Nothing it changed was kept."
            ) from None
        except RequestError as error:
            raise DelegateFailed(f"The agent '{name}' answered with an error: {plain_text(str(error), 300)}.") from None
        except (ConnectionError, EOFError):
            raise DelegateFailed(f"The agent '{name}' ended before it was done. Nothing it changed was kept.") from None
        except ValidationError:
            raise DelegateFailed(f"The agent '{name}' does not speak the Agent Client Protocol.") from None
        finally:
            with suppress(ConnectionError):  # the SDK raises again what its sending met when the agent closed its pipe
                await connection.close()
        return _result(name, reason, client)

    async def _open(self, connection: Any, root: str) -> str:
        from acp.meta import PROTOCOL_VERSION
        from acp.schema import ClientCapabilities, FileSystemCapabilities, Implementation

        from anycowork import __version__

        # It reads the copy itself: agents differ in what they take for the answer that a file is missing (ADR 0088).
        can = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=False, write_text_file=True), terminal=True)
        info = Implementation(name="anycowork", title="AnyCowork", version=__version__)
        try:
            async with asyncio.timeout(START_SECONDS):
                await connection.initialize(
                    protocol_version=PROTOCOL_VERSION, client_capabilities=can, client_info=info
                )
                session = await connection.new_session(cwd=root, mcp_servers=[])
                if (mode := _unsandboxed_mode(session.modes)) is not None:
                    await connection.set_session_mode(session_id=session.session_id, mode_id=mode)
        except TimeoutError:
            raise DelegateFailed(
                f"The agent '{self._config.name}' did not answer within {START_SECONDS:g} seconds."
            ) from None
        return str(session.session_id)

    async def _prompt(self, connection: Any, session: str, task: str) -> str:
        """The reason why it stopped. A cancellation is passed on before the process is ended."""
        from acp.helpers import text_block

        try:
            answer = await connection.prompt(session_id=session, prompt=[text_block(task)])
        except asyncio.CancelledError:
            try:
                async with asyncio.timeout(CANCEL_SECONDS):
                    await connection.cancel(session_id=session)
            except (TimeoutError, ConnectionError):
                pass  # it is ended in any case
            raise
        return str(answer.stop_reason)


async def _unless_ended(program_end: asyncio.Event, work: Coroutine[Any, Any, str]) -> str:
    """What the work brings. Raises: ConnectionError if the program ends first."""
    working, end_wait = asyncio.ensure_future(work), asyncio.ensure_future(program_end.wait())
    try:
        await asyncio.wait([working, end_wait], return_when=asyncio.FIRST_COMPLETED)
        if not working.done() or working.cancelled():  # the SDK cancels what waits when the pipe closes
            raise ConnectionError("the program ended")
        return working.result()
    finally:
        for task in (working, end_wait):
            task.cancel()
        await asyncio.gather(working, end_wait, return_exceptions=True)


def _unsandboxed_mode(modes: Any) -> str | None:
    """Returns the mode to switch to, so that the agent starts no sandbox inside ours; None if it has none of these modes."""
    if modes is None or modes.current_mode_id in UNSANDBOXED_MODES:
        return None
    offered = [str(mode.id) for mode in modes.available_modes]
    return next((mode for mode in offered if mode in UNSANDBOXED_MODES), None)


def _with_dropped_files(result: ToolResult, transaction: Transaction) -> ToolResult:
    """Names the files whose changes were not kept, so that a person sees what the agent was kept from. Blocking."""
    if "dropped" not in result.facts:
        return result
    try:
        paths = [change.path for change in transaction.look().paths()]
    except UnusableDelta:
        return result  # the result names the reason
    return replace(result, facts={**result.facts, "dropped_files": [*paths[:MOST_DROPPED_FILES]]})


def _result(name: str, reason: str, client: Any) -> ToolResult:
    kept_from = f"\n\n[It was kept from: {'; '.join(client.kept_from[:20])}]" if client.kept_from else ""
    text = (client.text or f"The agent '{name}' said nothing.").replace("\0", "�")
    result = ToolResult(
        status=CallStatus.OK,
        content=text + kept_from,
        facts={"agent": name, "agent_calls": client.calls, "kept_from": [*client.kept_from]},
    )
    if reason == "end_turn":
        return result
    error = DelegateFailed(f"The agent '{name}' stopped before it was done: {plain_text(reason, 80)}.")
    return replace(result, status=CallStatus.ERROR, error=CallError.of(error))


class DelegateSource:
    """Implements the toolbox's `ToolSource`."""

    source_name = "agents"

    def __init__(self, configs: Sequence[DelegateConfig], launcher: ServerLauncher) -> None:
        self._configs, self._launcher = configs, launcher

    def tools(self) -> list[DelegateTool]:
        sandbox = self._launcher.sandbox
        if sandbox is None:
            return []
        return [DelegateTool(config, self._launcher, sandbox) for config in self._configs]


LONGEST_LINE = 20_000_000


@value
class DelegatePipes:
    """`ended` is set when the program is gone."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ended: asyncio.Event


@asynccontextmanager
async def delegate_process(
    config: DelegateConfig, launcher: ServerLauncher, sandbox: Sandbox, transaction: Transaction, log: LineLog
) -> AsyncIterator[DelegatePipes]:
    """Runs the program for the duration of the block, then ends it and its children. Raises: ToolFault, OSError."""
    values = {name: SecretStr(os.environ[name]) for name in config.environment if name in os.environ}
    described = McpServerConfig(name="agent", command=config.command, args=list(config.args), env=values)
    program = await asyncio.to_thread(find_program, described, launcher.data_dir)
    destinations = wanted_destinations(config.network)
    reach = NetworkReach(destinations, destinations) if destinations else None
    async with AsyncExitStack() as things:
        launch = things.enter_context(
            sandbox.launch(
                start_words(is_confined=False),
                transaction.jail.origin,
                transaction.stage,
                source=transaction.jail.layers,
                cache_kept=False,
                environment=proxy_environment(reach) if reach else None,
                held_back=reach is not None,
                sight=VisiblePaths(program.places, workspace=True, hidden=program.hidden),
                masks=transaction.covered.masks,
            )
        )
        launch.status.watch()
        things.push_async_callback(launch.status.all_gone)
        if reach is not None:
            await things.enter_async_context(launcher.egress.beside(launch, transaction.stage.runner, reach))
        process = things.enter_context(started_process(launch.argv, env={}, fds=launch.fds))
        pipes = await things.enter_async_context(open_pipes(process, log, longest_line=LONGEST_LINE))
        pipes.writer.write(program.first_line)
        yield DelegatePipes(pipes.output, pipes.writer, things.enter_context(_end_of(process.pid)))


@contextmanager
def _end_of(pid: int) -> Iterator[asyncio.Event]:
    """Sets when the process ends: the protocol's connection does not notice a closed pipe while it waits for an answer."""
    end_event, loop, watched = asyncio.Event(), asyncio.get_running_loop(), os.pidfd_open(pid)
    loop.add_reader(watched, end_event.set)
    try:
        yield end_event
    finally:
        loop.remove_reader(watched)
        os.close(watched)
