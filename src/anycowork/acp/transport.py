"""JSON-RPC messages, one per line, on two file descriptors. A bad line gets an error as its answer and ends nothing."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

LONGEST_LINE = 50 * 1024 * 1024
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600

Message = dict[str, Any]  # Any: the SDK's own type for a decoded message


class StdioTransport:
    """What the SDK's connection reads and writes. It hands on only messages that the connection can take without failing."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._returned: list[Message] = []
        self._deferred: dict[asyncio.Task[Any], list[Callable[[], Awaitable[None]]]] = {}

    def after_response(self, work: Callable[[], Awaitable[None]]) -> None:
        """Does the work once the response to the current request is written: an editor learns a session's id from it."""
        task = asyncio.current_task()
        if task is not None:
            self._deferred.setdefault(task, []).append(work)

    async def send(self, message: Message) -> None:
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()
        task = asyncio.current_task()
        if task in self._deferred and "method" not in message:
            for work in self._deferred.pop(task):
                if "error" not in message:
                    await work()

    async def receive(self) -> Message | None:
        """The next message; None at the end of the input."""
        if self._returned:
            return self._returned.pop(0)
        while (line := await self._line()) is not None:
            if not line.strip():
                continue
            try:
                message = json.loads(line)  # noqa: TID251  # bounded by its line, and a depth that is too large is caught
            except (ValueError, RecursionError):
                await self._refuse(None, _PARSE_ERROR, "Parse error: this line is not JSON.")
                continue
            if (fault := _fault(message)) is None:
                return _plain(message)
            if fault:
                request_id = message.get("id") if isinstance(message, dict) else None
                await self._refuse(request_id, _INVALID_REQUEST, f"Invalid request: {fault}")
        return None

    def give_back(self, message: Message) -> None:
        """The message that was received last is received again."""
        self._returned.append(message)

    async def close(self) -> None:
        self._writer.close()

    async def _line(self) -> bytes | None:
        """A whole line; the last one may lack its line feed. An overlong line is skipped, and refused."""
        skipped = False
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.LimitOverrunError as error:
                skipped = True
                await self._reader.readexactly(error.consumed)
                continue
            except asyncio.IncompleteReadError as error:
                line = error.partial
                if not line:
                    return None
            if not skipped:
                return line
            skipped = False
            await self._refuse(None, _INVALID_REQUEST, f"Invalid request: a line has at most {LONGEST_LINE} bytes.")

    async def _refuse(self, request_id: object, code: int, text: str) -> None:
        valid_id = request_id if isinstance(request_id, str | int) else None
        await self.send({"jsonrpc": "2.0", "id": valid_id, "error": {"code": code, "message": text}})


async def stdio_transport(source: int, sink: int) -> StdioTransport:
    """On these descriptors, which it then owns. Raises: ValueError if the source is a plain file."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb"))
    pipe, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(sink, "wb"))
    return StdioTransport(reader, asyncio.StreamWriter(pipe, protocol, None, loop))


def _fault(message: object) -> str | None:
    """What is wrong with a message; None if nothing is, and "" if it is to be dropped without an answer."""
    if not isinstance(message, dict):
        return "a message is one JSON object."
    method, request_id = message.get("method"), message.get("id")
    if "method" in message:
        if not isinstance(method, str):
            return "'method' is a text."
        if "id" in message and not isinstance(request_id, str | int):
            return "'id' is a text or a whole number."
        return None
    # A response. One that fits no request of ours, or is no answer at all, is dropped: the request goes on waiting.
    is_answer = type(request_id) is int and ("result" in message or isinstance(message.get("error"), dict))
    return None if is_answer else "" if "result" in message or "error" in message else "it has no 'method'."


def _plain(message: Message) -> Message:
    """Without `_meta`, which the SDK would spread over the parameters."""
    params = message.get("params")
    if "method" in message and isinstance(params, dict) and "_meta" in params:
        return {**message, "params": {name: value for name, value in params.items() if name != "_meta"}}
    return message
