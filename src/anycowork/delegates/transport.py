"""A delegate's messages, one JSON object per line, each checked and bounded before the protocol's SDK sees it.

The SDK's own reader joins lines of any length, parses them whatever they hold, starts a task for every message, and logs a traceback for
each one that it cannot take.
"""

import asyncio
import json
from typing import Any  # the SDK's own type for a decoded message

from anycowork.mcp.answer_limits import has_too_many_values
from anycowork.sandbox.stdio_program import LineLog

MOST_REQUESTS = 32  # of the delegate that are open at once; 16 of them may wait for terminals
_UPDATE = "session/update"
_INVALID_REQUEST = -32600
_TOO_MANY = f"At most {MOST_REQUESTS} requests are answered at once. Wait for an answer."
_TOO_LONG = b"the session was ended: a line was too long"
_TOO_DENSE = b"the session was ended: a message has too many values"
Message = dict[str, Any]


class DelegateTransport:
    """Implements the SDK's `Transport`. What cannot be taken is noted in the log of the delegate, and passed over or ends the session."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, log: LineLog) -> None:
        self._reader, self._writer, self._log = reader, writer, log
        self._open_requests = 0

    async def send(self, message: Message) -> None:
        if "method" not in message:
            self._open_requests -= 1  # a response
        self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await self._writer.drain()

    async def receive(self) -> Message | None:
        """The next message; None at the end of the session. Others have their turn before each line: lines may come without end."""
        while line := await self._line():
            await asyncio.sleep(0)
            if has_too_many_values(line):
                self._log.add(_TOO_DENSE)
                return None
            message = parsed_message(line)
            if message is None:
                self._log.add(line)
            elif "method" in message and "id" in message and self._open_requests >= MOST_REQUESTS:
                await self._refuse(message)
            else:
                self._open_requests += "method" in message and "id" in message
                return message
        return None

    async def close(self) -> None:
        """The pipes belong to the process."""

    async def _line(self) -> bytes:
        try:
            return await self._reader.readline()
        except ValueError:
            self._log.add(_TOO_LONG)
            return b""

    async def _refuse(self, request: Message) -> None:
        self._open_requests += 1
        error = {"code": _INVALID_REQUEST, "message": _TOO_MANY}
        await self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})


def parsed_message(line: bytes) -> Message | None:
    """The message in this line; None if the SDK could not take it. Halves of surrogate pairs, which cannot be stored, are replaced. Pure."""
    try:
        message = json.loads(line)  # noqa: TID251  # bounded by its line, and a depth that is too large is caught
        if b"\\ud" in line.lower():
            message = json.loads(json.dumps(message, ensure_ascii=False).encode(errors="replace"))  # noqa: TID251  # bounded by its line, and a depth that is too large is caught
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    if "method" not in message:
        is_answer = type(message.get("id")) is int and ("result" in message or isinstance(message.get("error"), dict))
        return message if is_answer else None
    if "id" in message:
        return message if isinstance(message["method"], str) and isinstance(message["id"], str | int) else None
    return message if message["method"] == _UPDATE and _is_update(message.get("params")) else None


def _is_update(params: object) -> bool:
    from acp.schema import SessionNotification  # the SDK is loaded by now
    from pydantic import ValidationError

    try:
        SessionNotification.model_validate(params)
    except (ValidationError, RecursionError):
        return False
    return True
