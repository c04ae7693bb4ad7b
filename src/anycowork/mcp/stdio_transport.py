"""A server's program in the sandbox as a transport of the SDK: one JSON message per line, both ways.

The SDK's own stdio transport starts programs itself, without the descriptors that the sandbox needs, and takes lines of any length.
"""

import asyncio
import logging
import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anycowork.domain.errors import ToolFault
from anycowork.domain.key_files import is_key_file
from anycowork.domain.network import wanted_destinations
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.values import value
from anycowork.mcp.message_size import has_too_many_values
from anycowork.mcp.program import ServerProgram, start_words
from anycowork.sandbox.bubblewrap import VisiblePaths
from anycowork.sandbox.egress import Egress, proxy_environment
from anycowork.sandbox.masks import MaskedPaths, cover
from anycowork.sandbox.proxy import NetworkReach
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.stage import Stage
from anycowork.workspace.jail import Jail

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

LONGEST_LINE = 4_000_000
_MOST_LOGGED = 200
_SECONDS_TO_END = 2.0
_LAST_WORDS_SECONDS = 2.0
_KEY_FILES = HiddenPathRules(withholds=is_key_file)
log = logging.getLogger(__name__)


class McpFailed(ToolFault):
    """A server did not do what was asked of it."""

    code = "mcp_failed"


@value
class ServerLauncher:
    """Starts programs of servers. `sandbox` None: this machine has none, and only those that may do without are started."""

    sandbox: Sandbox | None
    egress: Egress
    data_dir: Path

    @asynccontextmanager
    async def run(
        self,
        program: ServerProgram,
        *,
        root: str | None,
        network: Sequence[str],
        lines: "LineLog",
        ended: Callable[[], None],
    ) -> AsyncIterator["TransportStreams"]:
        """While the block runs, the program does. `root` it sees read-only and without its key files; None: no workspace.

        Raises: ToolFault, OSError.
        """
        async with AsyncExitStack() as things:
            if self.sandbox is None:
                process = things.enter_context(started_process(program.argv, env=_bare_environment(program), fds=()))
                first = b""
            else:
                stage = await things.enter_async_context(self.sandbox.read_only(root or "/"))
                reach = NetworkReach(wanted_destinations(network), wanted_destinations(network)) if network else None
                covered = await self._covered(root, stage)
                launch = things.enter_context(
                    self.sandbox.launch(
                        start_words(held=root is not None),
                        root or "/",
                        stage,
                        cache_kept=False,
                        environment=proxy_environment(reach) if reach else None,
                        held_back=reach is not None,
                        sight=VisiblePaths(program.places, workspace=root is not None, hidden=program.hidden),
                        masks=covered.masks,
                    )
                )
                launch.status.watch()
                things.push_async_callback(launch.status.all_gone)
                if reach is not None:
                    await things.enter_async_context(self.egress.beside(launch, stage.runner, reach))
                process = things.enter_context(started_process(launch.argv, env={}, fds=launch.fds))
                first = program.first_line
            yield await things.enter_async_context(_streams(process, first, lines, ended))

    def key_files(self, root: str) -> frozenset[str]:
        """The key files that a program started now would not see. Blocking. Raises: ToolFault."""
        if self.sandbox is None:
            return frozenset()
        return frozenset(mask.place.path for mask in self.sandbox.key_files.masks(Jail(root), is_key_file))

    async def _covered(self, root: str | None, stage: Stage) -> MaskedPaths:
        if root is None or self.sandbox is None:
            return MaskedPaths()
        sandbox = self.sandbox
        return await asyncio.to_thread(cover, Jail(root), stage, _KEY_FILES, sandbox.key_files, sandbox.hidden_paths)


class LineLog:
    """The last lines that a server printed besides the protocol."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_MOST_LOGGED)

    def add(self, line: bytes) -> None:
        text = "".join(c if c.isprintable() else " " for c in line[:500].decode(errors="replace")).strip()
        if text:
            self._lines.append(text)

    def lines(self) -> list[str]:
        return list(self._lines)


@contextmanager
def started_process(
    argv: Sequence[str], *, env: Mapping[str, str], fds: tuple[int, ...]
) -> Iterator["subprocess.Popen[bytes]"]:
    """The program with pipes, which `open_pipes` closes; at the end it and its group are gone."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env),
        cwd="/",
        pass_fds=fds,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended
        process.wait()


@value
class ProcessPipes:
    """What the process prints, and what it reads."""

    output: asyncio.StreamReader
    writer: asyncio.StreamWriter


@asynccontextmanager
async def open_pipes(
    process: "subprocess.Popen[bytes]", lines: LineLog, *, longest_line: int = LONGEST_LINE
) -> AsyncIterator[ProcessPipes]:
    """The pipes of a started process; what it prints on stderr is logged. They are closed at the end."""
    output, errors = asyncio.StreamReader(limit=longest_line), asyncio.StreamReader(limit=65_536)
    connecting = asyncio.ensure_future(_connect_pipes(process, output, errors))
    noting = asyncio.ensure_future(log_lines(errors, lines))
    try:
        yield ProcessPipes(output, (await asyncio.shield(connecting)).writer)
    finally:
        try:
            if output.at_eof():  # it ended: what it printed last says why
                await asyncio.wait([noting], timeout=_LAST_WORDS_SECONDS)
        finally:
            noting.cancel()
            (await _done(connecting)).close()


@value
class _PipeTransports:
    out: asyncio.ReadTransport
    err: asyncio.ReadTransport
    writer: asyncio.StreamWriter

    def close(self) -> None:
        self.out.close()
        self.err.close()
        if self.writer.transport.get_write_buffer_size():
            self.writer.transport.abort()  # `close` would keep the pipe open for what was not written yet
        else:
            self.writer.close()  # also if it was lost already: `abort` fails then


async def _connect_pipes(
    process: "subprocess.Popen[bytes]", output: asyncio.StreamReader, errors: asyncio.StreamReader
) -> _PipeTransports:
    """Never cancelled: a loop that is stopped between two of them leaves a pipe open."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    loop = asyncio.get_running_loop()
    out, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), process.stdout)
    err, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(errors), process.stderr)
    into, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
    return _PipeTransports(out, err, asyncio.StreamWriter(into, flow, None, loop))


async def _done(connecting: "asyncio.Future[_PipeTransports]") -> _PipeTransports:
    """Waits even if it is cancelled: that is a matter of two rounds of the loop."""
    while not connecting.done():
        try:
            await asyncio.wait([connecting])
        except asyncio.CancelledError:
            continue  # the caller is on its way out already
    return connecting.result()


@asynccontextmanager
async def _streams(
    process: "subprocess.Popen[bytes]", first: bytes, lines: LineLog, ended: Callable[[], None]
) -> AsyncIterator["TransportStreams"]:
    import anyio
    from mcp.shared.message import SessionMessage

    async with open_pipes(process, lines) as pipes:
        pipes.writer.write(first)
        to_session, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        write_stream, from_session = anyio.create_memory_object_stream[SessionMessage](16)
        hearing = asyncio.ensure_future(read_messages(pipes.output, to_session, lines, ended))
        speaking = asyncio.ensure_future(_speak(pipes.writer, from_session, ended))
        try:
            yield read_stream, write_stream
        finally:
            pipes.writer.close()
            await asyncio.wait([hearing], timeout=_SECONDS_TO_END)
            for task in (hearing, speaking):
                task.cancel()
            await asyncio.gather(hearing, speaking, return_exceptions=True)
            for stream in (read_stream, write_stream, to_session, from_session):
                stream.close()


async def read_messages(
    output: asyncio.StreamReader, to_session: Any, lines: LineLog, ended: Callable[[], None]
) -> None:
    """A line that is no message is logged and passed over; one that is too long, or has too many values, ends the session.

    Others have their turn after each line: a buffer full of short ones would hold the event loop for seconds.
    """
    import anyio
    import mcp_types
    from mcp.shared.message import SessionMessage

    try:
        async with to_session:
            while line := await output.readline():
                if has_too_many_values(line):
                    lines.add(b"the session was ended: a message has too many values")
                    return
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    lines.add(line)
                    await asyncio.sleep(0)
                    continue
                await to_session.send(SessionMessage(message))
    except ValueError:
        lines.add(b"the session was ended: a line was too long")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        pass  # nobody listens any more
    finally:
        ended()


async def _speak(writer: asyncio.StreamWriter, from_session: Any, ended: Callable[[], None]) -> None:
    try:
        async for outgoing in from_session:
            writer.write(outgoing.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await writer.drain()
    except (ConnectionError, RuntimeError):
        ended()


async def log_lines(errors: asyncio.StreamReader, lines: LineLog) -> None:
    """Others have their turn after each piece."""
    while piece := await errors.read(4096):
        for line in piece.split(b"\n"):
            lines.add(line)
        await asyncio.sleep(0)


def _bare_environment(program: ServerProgram) -> dict[str, str]:
    import json

    given = json.loads(program.first_line)["env"]
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home()), "LANG": "C.UTF-8", **given}
