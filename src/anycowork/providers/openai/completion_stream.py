"""Reads one accepted response: turns its bytes into chunks, and names every way a stream can fail."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from anycowork.domain.model import Chunk, ReplyFinished, UsageChunk
from anycowork.domain.provider_errors import BrokenStream
from anycowork.domain.values import value
from anycowork.providers.http.retries import TryAgain
from anycowork.providers.http.sse import EventTooLarge, SseReader
from anycowork.providers.openai.native_calls import (
    DONE,
    CallPieces,
    CompletionDelta,
    UnreadableDelta,
    read_delta,
    read_whole,
)
from anycowork.providers.openai.upstream import Upstream

if TYPE_CHECKING:
    import aiohttp

MAX_WHOLE_BYTES = 16 * 1024 * 1024


@value
class Timeouts:
    """Seconds: to connect, until the first byte of the answer, between two pieces of it, and after its end for the usage."""

    connect: float = 10.0
    first_byte: float = 300.0
    idle: float = 120.0
    tail: float = 5.0


class CompletionStream:
    """Reads one response to its end. It is complete with `[DONE]` or a finish reason; otherwise it broke off."""

    def __init__(self, response: "aiohttp.ClientResponse", upstream: Upstream, timeouts: Timeouts) -> None:
        self._response = response
        self._upstream = upstream
        self._timeouts = timeouts
        self._finish: str | None = None
        self._usage: UsageChunk | None = None
        self._calls = CallPieces()
        self._done = False

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        """Raises: BrokenStream; TryAgain if the connection was lost."""
        try:
            async for delta in self._deltas():
                if delta.error is not None:
                    raise self._broken(f"failed while answering. It says: {self._upstream.quoted(delta.error)}")
                for chunk in delta.chunks:
                    yield chunk
                for piece in delta.calls:
                    self._calls.add(piece.index, name=piece.name, arguments=piece.arguments)
                self._finish = delta.finish or self._finish
                self._usage = delta.usage or self._usage
        except (BrokenStream, TryAgain):
            if self._finish is None:
                raise
        if not self._done and self._finish is None:
            raise self._broken("ended its answer without finishing it. Check its address, or ask again.")
        for call in self._calls.whole():
            yield call
        if self._usage is not None:
            yield self._usage
        yield ReplyFinished(self._finish)

    async def _deltas(self) -> AsyncGenerator[CompletionDelta, None]:
        first = await self._piece(self._timeouts.first_byte)
        if first.lstrip().startswith(b"{"):
            yield await self._whole(first)
            return
        reader, piece = SseReader(), first
        while piece:
            for data in self._events(reader, piece):
                yield self._read(data)
            if self._done:
                return
            piece = await self._piece(self._timeouts.tail if self._finish else self._timeouts.idle)
        for data in reader.close():
            if data.strip() == DONE:
                self._done = True
            else:
                yield self._read(data)

    def _events(self, reader: SseReader, piece: bytes) -> list[bytes]:
        """Returns the events before `[DONE]`; what follows is not part of the answer."""
        try:
            events = reader.feed(piece)
        except EventTooLarge as error:
            raise self._broken(f"sent {error}.") from None
        marks = [event.strip() == DONE for event in events]
        self._done = any(marks)
        return events[: marks.index(True)] if self._done else events

    async def _whole(self, first: bytes) -> CompletionDelta:
        """Reads the single JSON object of a server that ignores `stream`."""
        body = bytearray(first)
        while piece := await self._piece(self._timeouts.idle):
            body += piece
            if len(body) > MAX_WHOLE_BYTES:
                raise self._broken(f"sent an answer of more than {MAX_WHOLE_BYTES} bytes.")
        try:
            delta = read_whole(bytes(body))
        except UnreadableDelta:
            raise self._broken("sent an answer that is not JSON.") from None
        self._done = bool(delta.chunks or delta.calls)
        return delta

    def _read(self, data: bytes) -> CompletionDelta:
        try:
            return read_delta(data)
        except UnreadableDelta:
            raise self._broken("sent an event that is not JSON.") from None

    async def _piece(self, within: float) -> bytes:
        """Returns the next bytes; empty at the end."""
        import aiohttp  # already loaded: one of its responses is being read

        try:
            async with asyncio.timeout(within):
                return await self._response.content.readany()
        except TimeoutError:
            raise self._broken(f"hung: nothing came for {within:g} s. Ask again.") from None
        except (aiohttp.ClientError, OSError):
            raise TryAgain(self._broken("closed the connection in the middle of its answer. Ask again.")) from None

    def _broken(self, problem: str) -> BrokenStream:
        return BrokenStream(f"{self._upstream.name} {problem}")
