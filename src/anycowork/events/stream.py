"""Streams records: missed ones first, then live ones, without gaps and duplicates. Knows no protocol."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from operator import attrgetter

from anycowork.domain.events import Record, StreamItem
from anycowork.events.hub import Hub, Reader
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.records import RecordTable

PAGE = 1000
UNSETTLED_SECONDS = 0.05  # until records are looked for again that wait for another writer

Replay = Callable[[int], Awaitable[list[Record]]]
NumberOf = Callable[[Record], int]


class Streams:
    """Combines the journal and the hub into streams of records."""

    def __init__(self, records: RecordTable, hub: Hub, unstored: Journal | None = None) -> None:
        self._records = records
        self._hub = hub
        self._unstored = unstored

    async def follow(self, chat_id: str, *, after: int) -> AsyncGenerator[StreamItem, None]:
        """Yield every record of the chat after this number, once and in order, batched where possible; then what is not stored.

        A number beyond the last one (after a backup was restored) does not suppress future records.
        """

        async def replay(number: int) -> list[Record]:
            return await self._records.after(chat_id, number, PAGE)

        with self._hub.reading(chat_id) as reader:

            def show_unstored() -> None:
                if self._unstored is not None:
                    self._unstored.show_unstored(chat_id, reader.deliver)

            start = min(after, await self._records.last_number(chat_id))
            async with aclosing(_joined(reader, start, replay, attrgetter("seq"), show_unstored)) as stream:
                async for item in stream:
                    yield item

    async def follow_all(self, *, after: int | None) -> AsyncGenerator[StreamItem, None]:
        """Yield the sidebar records of all chats after this position; without one, from now on."""

        async def replay(position: int) -> list[Record]:
            records, more_come = await self._records.sidebar_page(position, PAGE)
            if more_come:
                asyncio.get_running_loop().call_later(UNSETTLED_SECONDS, self._hub.reread_sidebar)
            return records

        with self._hub.reading_all() as reader:
            newest = await self._records.last_position()
            start = newest if after is None else min(after, newest)
            async with aclosing(_joined(reader, start, replay, attrgetter("position"))) as stream:
                async for item in stream:
                    yield item


async def _joined(
    reader: Reader, after: int, replay: Replay, number_of: NumberOf, show_unstored: Callable[[], None] = lambda: None
) -> AsyncGenerator[StreamItem, None]:
    """Replay, then follow live. The reader exists before the first replay, so nothing is missed; duplicates are sent once.

    What is not stored is delivered after each replay, so that it is numbered after it.
    """
    last = after
    while True:
        reader.catch_up()
        more = True
        while more:
            missed = await replay(last)
            if missed:
                last = number_of(missed[-1])
                yield missed
            more = len(missed) == PAGE
        show_unstored()
        while (records := reader.take()) is not None:
            fresh = [record for record in records if number_of(record) > last]
            if fresh:
                last = number_of(fresh[-1])
                yield fresh
            elif signal := await reader.wait():
                yield signal
