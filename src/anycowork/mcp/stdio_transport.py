"""A server's program as a transport of the SDK: one JSON message per line, both ways.

The SDK's own stdio transport starts programs itself, without the descriptors that the sandbox needs, and takes lines of any length.
"""

import asyncio
import logging
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from anycowork.domain.errors import ToolFault
from anycowork.mcp.answer_limits import has_too_many_values
from anycowork.sandbox.stdio_program import LineLog, open_pipes

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

_SECONDS_TO_END = 2.0
_EXIT_SECONDS = 1.0
CONNECTION_LOST = "the connection to it was lost"
_SIGNALLED = 128  # what a shell and the sandbox add to the signal that ended a program
log = logging.getLogger(__name__)
Ended = Callable[..., None]
"""Called when a program has ended or must end; with the reason, if it is known."""


class McpFailed(ToolFault):
    """A server did not do what was asked of it."""

    code = "mcp_failed"


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
            try:
                await asyncio.wait([hearing], timeout=_SECONDS_TO_END)
            finally:  # also if it is cancelled once more: a task that is dropped is destroyed by the collector
                for task in (hearing, speaking):
                    task.cancel()
                for stream in (read_stream, write_stream, to_session, from_session):
                    stream.close()
                await asyncio.gather(hearing, speaking, return_exceptions=True)


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
