"""Streams server-sent events as bytes: missed events first, then live ones, without gaps and duplicates. Knows no HTTP."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Protocol

from anycowork.domain.events import Record
from anycowork.events.hub import Frame, Hub, Reader, frame, sidebar_frame

PAGE = 1000

RecordsAfter = Callable[[str, int, int], Awaitable[list[Record]]]
SidebarAfter = Callable[[int, int], Awaitable[list[Record]]]
LastNumber = Callable[[str], Awaitable[int]]
LastPosition = Callable[[], Awaitable[int]]
Replay = Callable[[int], Awaitable[list[Frame]]]


class Records(Protocol):
    """The journal reads that a stream needs."""

    async def records_after(self, chat_id: str, seq: int, limit: int) -> list[Record]: ...
    async def last_number(self, chat_id: str) -> int: ...
    async def sidebar_after(self, position: int, limit: int) -> list[Record]: ...
    async def last_position(self) -> int: ...


class Streams:
    """Combines the journal and the hub into event streams."""

    def __init__(self, records: Records, hub: Hub) -> None:
        self._records = records
        self._hub = hub

    def follow(self, chat_id: str, *, after: int) -> AsyncGenerator[bytes, None]:
        kept = self._records
        return follow(chat_id, after, records_after=kept.records_after, last_number=kept.last_number, hub=self._hub)

    def follow_all(self, *, after: int | None) -> AsyncGenerator[bytes, None]:
        kept = self._records
        return follow_all(after, sidebar_after=kept.sidebar_after, last_position=kept.last_position, hub=self._hub)


async def follow(
    chat_id: str, after: int, *, records_after: RecordsAfter, last_number: LastNumber, hub: Hub
) -> AsyncGenerator[bytes, None]:
    """Yield every event of the chat after this number, once and in order, batched where possible.

    A number beyond the last one (after a backup was restored) does not suppress future events.
    """

    async def replay(number: int) -> list[Frame]:
        return [frame(record) for record in await records_after(chat_id, number, PAGE)]

    with hub.reading(chat_id) as reader:
        start = min(after, await last_number(chat_id))
        async with aclosing(_joined(reader, start, replay)) as stream:
            async for piece in stream:
                yield piece


async def follow_all(
    after: int | None, *, sidebar_after: SidebarAfter, last_position: LastPosition, hub: Hub
) -> AsyncGenerator[bytes, None]:
    """Yield the sidebar events of all chats after this position; without one, from now on."""

    async def replay(number: int) -> list[Frame]:
        return [sidebar_frame(record) for record in await sidebar_after(number, PAGE)]

    with hub.reading_all() as reader:
        newest = await last_position()
        start = newest if after is None else min(after, newest)
        async with aclosing(_joined(reader, start, replay)) as stream:
            async for piece in stream:
                yield piece


async def _joined(reader: Reader, after: int, replay: Replay) -> AsyncGenerator[bytes, None]:
    """Replay, then follow live. The reader exists before the first replay, so nothing is missed; duplicates are sent once."""
    last = after
    while True:
        reader.catch_up()
        more = True
        while more:
            missed = await replay(last)
            if missed:
                last = missed[-1][0]
                yield b"".join(data for _, data in missed)
            more = len(missed) == PAGE
        while (frames := reader.take()) is not None:
            fresh = [data for number, data in frames if number > last]
            if fresh:
                last = frames[-1][0]
                yield fresh[0] if len(fresh) == 1 else b"".join(fresh)
            elif comment := await reader.wait():
                yield comment
