"""A server's program as a transport of the SDK: one JSON message per line, both ways.

The SDK's own stdio transport starts programs itself, without the descriptors that the sandbox needs, and takes lines of any length.
"""

import asyncio
import logging
import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import value
from anycowork.mcp.message_size import has_too_many_values
from anycowork.sandbox.network.dialer import NetworkReport

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

LONGEST_LINE = 4_000_000
_MOST_LOGGED = 200
_SECONDS_TO_END = 2.0
_LAST_WORDS_SECONDS = 2.0
_EXIT_SECONDS = 1.0
CONNECTION_LOST = "the connection to it was lost"
_SIGNALLED = 128  # what a shell and the sandbox add to the signal that ended a program
log = logging.getLogger(__name__)
Ended = Callable[..., None]
"""Called when a program has ended or must end; with the reason, if it is known."""


class McpFailed(ToolFault):
    """A server did not do what was asked of it."""

    code = "mcp_failed"


class LineLog:
    """The last lines that a server printed besides the protocol. `network` is what the newest of its starts reached and was refused."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_MOST_LOGGED)
        self.network = NetworkReport()

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
    process: "subprocess.Popen[bytes]",
    lines: LineLog,
    *,
    longest_line: int = LONGEST_LINE,
    may_pass: Callable[[], bool] = lambda: True,
) -> AsyncIterator[ProcessPipes]:
    """The pipes of a started process; what it prints on stderr is logged while it `may_pass`. They are closed at the end."""
    output, errors = asyncio.StreamReader(limit=longest_line), asyncio.StreamReader(limit=65_536)
    connecting = asyncio.ensure_future(_connect_pipes(process, output, errors))
    noting = asyncio.ensure_future(log_lines(errors, lines, may_pass))
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
async def message_streams(
    process: "subprocess.Popen[bytes]",
    first: bytes,
    lines: LineLog,
    end_session: Ended,
    may_pass: Callable[[], bool],
) -> AsyncIterator["TransportStreams"]:
    import anyio
    from mcp.shared.message import SessionMessage

    async with open_pipes(process, lines, may_pass=may_pass) as pipes:
        pipes.writer.write(first)
        to_session, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        write_stream, from_session = anyio.create_memory_object_stream[SessionMessage](16)
        messages = read_messages(pipes.output, to_session, lines, may_pass)
        hearing = asyncio.ensure_future(_end_after(messages, process, to_session, end_session))
        speaking = asyncio.ensure_future(_speak(pipes.writer, from_session, end_session))
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


async def _end_after(
    messages: Coroutine[Any, Any, str], process: "subprocess.Popen[bytes]", to_session: Any, end_session: Ended
) -> None:
    """Ends the session with the reason why there are no more messages, before the SDK notices that there are none."""
    reason = ""
    async with to_session:
        try:
            reason = await messages or await asyncio.to_thread(_exit_reason, process)
        finally:
            end_session(reason)


def _exit_reason(process: "subprocess.Popen[bytes]") -> str:
    """Blocking, for a moment: a program that ends closes its output first."""
    try:
        status = process.wait(_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        return f"{CONNECTION_LOST}: the program closed its output"
    number = -status if status < 0 else status - _SIGNALLED
    if number in set(signal.Signals):
        return f"{CONNECTION_LOST}: the program was ended by {signal.Signals(number).name}"
    return f"{CONNECTION_LOST}: the program ended with exit status {status}"


async def read_messages(
    output: asyncio.StreamReader, to_session: Any, lines: LineLog, may_pass: Callable[[], bool] = lambda: True
) -> str:
    """Returns why it stopped, or nothing at the end of the output. A line that is no message is logged and passed over; one that is too
    long, has too many values or may not pass ends the session.

    Others have their turn after each line: a buffer full of short ones would hold the event loop for seconds.
    """
    import anyio
    import mcp_types
    from mcp.shared.message import SessionMessage

    try:
        while line := await output.readline():
            if has_too_many_values(line):
                return _logged(lines, "a message has too many values")
            if not may_pass():
                return f"{CONNECTION_LOST}: it could have read a file that it may not"
            try:
                message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                lines.add(line)
                await asyncio.sleep(0)
                continue
            await to_session.send(SessionMessage(message))
    except ValueError:
        return _logged(lines, "a line was too long")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        pass  # nobody listens any more
    return ""


def _logged(lines: LineLog, reason: str) -> str:
    lines.add(f"the session was ended: {reason}".encode())
    return f"{CONNECTION_LOST}: {reason}"


async def _speak(writer: asyncio.StreamWriter, from_session: Any, end_session: Ended) -> None:
    try:
        async for outgoing in from_session:
            writer.write(outgoing.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await writer.drain()
    except (ConnectionError, RuntimeError):
        end_session()


async def log_lines(errors: asyncio.StreamReader, lines: LineLog, may_pass: Callable[[], bool] = lambda: True) -> None:
    """Others have their turn after each piece."""
    while piece := await errors.read(4096):
        for line in piece.split(b"\n") if may_pass() else ():
            lines.add(line)
        await asyncio.sleep(0)
