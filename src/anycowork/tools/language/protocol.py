"""JSON-RPC with a language server over its pipes: bounded messages, answers to its requests, and its diagnostics.

The client libraries take messages of any size and cost 0.7 s to import (ADR 0334); what is needed of the protocol is this.
"""

import asyncio
import re
from collections.abc import Callable

import msgspec
from pydantic import JsonValue

from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import ToolFault
from anycowork.domain.values import value
from anycowork.sandbox.stdio_program import ProcessPipes

LARGEST_MESSAGE = 2 << 20
MOST_BETWEEN_EDITS = 16 << 20  # bytes that a server may send for one edit
LEAST_COUNTED = 4_096  # bytes: what a message costs us, however short it is
MOST_UNREAD = 4 << 20  # bytes that it has not read yet
_MOST_VALUES = 50_000
_LENGTH = re.compile(rb"content-length: ?(\d{1,9})(?:\r\n|$)", re.IGNORECASE)
_NOT_FOUND = -32601
_ANSWERED_EMPTY = frozenset(
    {
        "client/registerCapability",
        "client/unregisterCapability",
        "window/workDoneProgress/create",
        "workspace/diagnostic/refresh",
    }
)


class LanguageServerFailed(ToolFault):
    """The server broke the protocol, ended, or took too long. It harms no edit."""

    code = "language_server_failed"


class RpcConnection:
    """One request at a time. `on_notice` gets the notifications that the server sends."""

    def __init__(self, pipes: ProcessPipes, on_notice: Callable[[str, dict[str, JsonValue]], None]) -> None:
        self._pipes = pipes
        self._on_notice = on_notice
        self._answers: dict[int, asyncio.Future[dict[str, JsonValue]]] = {}
        self._number = 0
        self._received = 0

    async def request(self, method: str, params: JsonValue) -> JsonValue:
        """Returns the result; None if the server answers with an error. Raises: LanguageServerFailed."""
        self._number += 1
        number = self._number
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send({"id": number, "method": method, "params": params})
            result: JsonValue = (await answer).get("result")
            return result
        finally:
            self._answers.pop(number, None)

    async def notify(self, method: str, params: JsonValue) -> None:
        """Raises: LanguageServerFailed."""
        await self._send({"method": method, "params": params})

    def begin_edit(self) -> None:
        self._received = 0

    async def read(self) -> None:
        """Reads until the server ends. Others have their turn after each message. Raises: LanguageServerFailed."""
        output = self._pipes.output
        try:
            while True:
                header = await output.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(header)
                size = int(length[1]) if length else -1
                self._received += max(len(header) + size, LEAST_COUNTED)
                if not 0 <= size <= LARGEST_MESSAGE or self._received > MOST_BETWEEN_EDITS:
                    raise LanguageServerFailed("it sent too much, or a message that cannot be read")
                message = read_json(await output.readexactly(size), strict=False, max_values=_MOST_VALUES)
                if isinstance(message, dict):
                    await self._take(message)
                await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError) as error:
            raise LanguageServerFailed(f"its output ended or cannot be read ({type(error).__name__})") from None

    async def _take(self, message: dict[str, JsonValue]) -> None:
        method, number, params = message.get("method"), message.get("id"), message.get("params")
        if isinstance(method, str):
            if number is not None:
                await self._answer(method, number, params)
            self._on_notice(method, params if isinstance(params, dict) else {})
        elif isinstance(number, int) and (answer := self._answers.get(number)) is not None and not answer.done():
            answer.set_result(message)

    async def _answer(self, method: str, number: JsonValue, params: JsonValue) -> None:
        if method == "workspace/configuration":
            items = params.get("items") if isinstance(params, dict) else None
            empty: list[JsonValue] = [None] * len(items) if isinstance(items, list) else []
            await self._send({"id": number, "result": empty})
        elif method in _ANSWERED_EMPTY:
            await self._send({"id": number, "result": None})
        else:
            await self._send({"id": number, "error": {"code": _NOT_FOUND, "message": "not offered here"}})

    async def _send(self, message: dict[str, JsonValue]) -> None:
        """Waits for nothing: a server that reads nothing must not hold what reads its output."""
        body = msgspec.json.encode({"jsonrpc": "2.0", **message})
        writer = self._pipes.writer
        if writer.is_closing() or writer.transport.get_write_buffer_size() > MOST_UNREAD:
            raise LanguageServerFailed("it does not read what it is sent")
        writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


@value
class ChangedLines:
    """The lines from `first` up to `last`, counted from 0, that others take the place of. Each line of `text` has its line end."""

    first: int
    last: int
    text: str

    def to_json(self) -> dict[str, JsonValue]:
        start: JsonValue = {"line": self.first, "character": 0}
        return {"range": {"start": start, "end": {"line": self.last, "character": 0}}, "text": self.text}

    def apply(self, lines: list[str]) -> None:
        """Changes the lines of the text before into those of the text after."""
        lines[self.first : self.last] = self.text.split("\n")[:-1]


def changed_lines(before: str, after: str) -> ChangedLines | None:
    """Returns what makes the first text the second; None where that is no change of whole lines. Whole ones, because Python and the
    protocol count characters differently, and where a carriage return may end a line, lines too. Pure."""
    if "\r" in before or "\r" in after:
        return None
    start = before.rfind("\n", 0, _common_start(before, after)) + 1
    most = min(len(before), len(after)) - start
    same = _common_start(before[len(before) - most :][::-1], after[len(after) - most :][::-1])
    end = len(before) - same
    if before[start:end][-1:] not in ("", "\n") or after[start : len(after) - same][-1:] not in ("", "\n"):
        end = before.find("\n", end) + 1
        if not end:
            return None
    first = before.count("\n", 0, start)
    text = after[start : len(after) - (len(before) - end)]
    return ChangedLines(first, first + before.count("\n", start, end), text)


def _common_start(text: str, other: str) -> int:
    """Returns how many characters both begin with."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if text[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
