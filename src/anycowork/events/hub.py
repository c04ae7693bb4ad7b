"""Publishes records to live readers, from the first one that they miss. Every chat has one log that its readers share; a reader is a
cursor in it."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import field
from itertools import islice
from operator import attrgetter

from anycowork.domain.events import SIDEBAR, Record, StreamItem, StreamSignal
from anycowork.domain.values import mutable_value
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.records import RecordTable

RECORDS_KEPT = 1024
BYTES_KEPT = 1024 * 1024
HEARTBEAT_SECONDS = 15.0
PAGE = 1000
UNSETTLED_SECONDS = 0.05  # until records are looked for again that wait for another writer
Replay = Callable[[int], Awaitable[list[Record]]]
NumberOf = Callable[[Record], int]


class Hub:
    """The cost of `publish` does not depend on slow readers: a reader that falls behind the log replays from the store."""

    def __init__(
        self,
        *,
        records_kept: int = RECORDS_KEPT,
        bytes_kept: int = BYTES_KEPT,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        shared: bool = False,
    ) -> None:
        """`shared`: other servers write too, so that only the store knows the order of the records of all chats."""
        self._shared = shared
        self._records_kept = records_kept
        self._bytes_kept = bytes_kept
        self._heartbeat_seconds = heartbeat_seconds
        self._logs: dict[str, _EventLog] = {}
        self._sidebar: _EventLog | None = None
        self._list_changes = 0

    def publish(self, record: Record) -> None:
        log = self._logs.get(record.chat_id)
        if log is not None:
            log.append(record)
        if self._sidebar is not None and record.type in SIDEBAR:
            if self._shared:
                self._sidebar.invalidate()
            else:
                self._sidebar.append(record)

    def reread(self, chat_id: str | None) -> None:
        """Makes the readers of a chat, or of all, read the store again: another server has written there."""
        for log in [*self._logs.values()] if chat_id is None else filter(None, [self._logs.get(chat_id)]):
            log.invalidate()
        self.reread_sidebar()

    def reread_sidebar(self) -> None:
        """Makes the readers of the sidebar read the store again."""
        if self._sidebar is not None:
            self._sidebar.invalidate()

    def chats_changed(self) -> None:
        """Hint to readers that the list of chats has changed (a chat was added, removed, renamed or shared), so that they reload it."""
        self._list_changes += 1
        if self._sidebar is not None:
            self._sidebar.hint()

    def list_state(self) -> tuple[int, int]:
        """Returns something else after each change of who may see what; where others write too, after a second at the latest."""
        return self._list_changes, int(time.monotonic()) if self._shared else 0

    @contextmanager
    def reading(self, chat_id: str) -> Iterator["Reader"]:
        """Yields a cursor at the end of the chat's log; it receives what is published from now on."""
        log = self._logs.get(chat_id)
        if log is None:
            log = self._logs[chat_id] = self._new_log()
        reader = log.join()
        try:
            yield reader
        finally:
            if log.leave(reader):
                del self._logs[chat_id]

    @contextmanager
    def reading_all(self) -> Iterator["Reader"]:
        """Like `reading`, for the sidebar's log."""
        if self._sidebar is None:
            self._sidebar = self._new_log()
        log = self._sidebar
        reader = log.join()
        try:
            yield reader
        finally:
            if log.leave(reader):
                self._sidebar = None

    @property
    def readers(self) -> int:
        logs = [*self._logs.values(), *([self._sidebar] if self._sidebar else [])]
        return sum(len(log.readers) for log in logs)

    def _new_log(self) -> "_EventLog":
        return _EventLog(self._records_kept, self._bytes_kept, self._heartbeat_seconds)


@mutable_value
class _EventLog:
    """The newest records, limited in count and bytes, kept only while there are readers. `first` is the index of the oldest one."""

    records_kept: int
    bytes_kept: int
    heartbeat_seconds: float
    records: deque[Record] = field(default_factory=deque)
    size: int = 0
    first: int = 0
    beats: int = 0
    hints: int = 0
    readers: set["Reader"] = field(default_factory=set)
    timer: asyncio.TimerHandle | None = None

    @property
    def end(self) -> int:
        return self.first + len(self.records)

    def append(self, record: Record) -> None:
        self.records.append(record)
        self.size += len(record.body)
        while len(self.records) > self.records_kept or (self.size > self.bytes_kept and len(self.records) > 1):
            self.size -= len(self.records.popleft().body)
            self.first += 1
        self._wake()

    def invalidate(self) -> None:
        """Drops the log and skips one index: every reader has fallen behind, and replays from the store."""
        self.first = self.end + 1
        self.records.clear()
        self.size = 0
        self._wake()

    def hint(self) -> None:
        self.hints += 1
        self._wake()

    def join(self) -> "Reader":
        if self.timer is None:
            self._beat_later()
        reader = Reader(self)
        self.readers.add(reader)
        return reader

    def leave(self, reader: "Reader") -> bool:
        """Removes the reader; returns True if it was the last."""
        self.readers.discard(reader)
        if self.readers or self.timer is None:
            return False
        self.timer.cancel()
        self.timer = None
        return True

    def _beat_later(self) -> None:
        # One timer for all readers: a timeout per reader would cost more than the delivery.
        self.timer = asyncio.get_running_loop().call_later(self.heartbeat_seconds, self._beat)

    def _beat(self) -> None:
        self.beats += 1
        self._wake()
        self._beat_later()

    def _wake(self) -> None:
        for reader in self.readers:
            reader.wake()


class Reader:
    """One reader's cursor."""

    __slots__ = ("_beats", "_cursor", "_delivered", "_hints", "_log", "_waiter")

    def __init__(self, log: _EventLog) -> None:
        self._log = log
        self._cursor = log.end
        self._beats = log.beats
        self._hints = log.hints
        self._delivered: list[tuple[int, Record]] = []
        self._waiter: asyncio.Future[None] | None = None

    def deliver(self, record: Record) -> None:
        """Gives a record to this reader alone, in its place among those that are published."""
        self._delivered.append((self._log.end, record))
        self.wake()

    def take(self) -> list[Record] | None:
        """Returns all new records; None if some are no longer in the log: then call `catch_up` and replay."""
        log = self._log
        if self._cursor < log.first:
            return None
        if self._cursor == log.end and not self._delivered:
            return []
        new_records = list(islice(log.records, self._cursor - log.first, None))
        for position, record in reversed(self._delivered):
            new_records.insert(position - self._cursor, record)
        self._delivered.clear()
        self._cursor = log.end
        return new_records

    def catch_up(self) -> None:
        self._delivered.clear()
        self._cursor = self._log.end

    async def wait(self) -> StreamSignal | None:
        """Waits for new records and return None, or returns a signal that is due. Several pending hints become one."""
        while self._cursor == self._log.end and not self._delivered:
            if self._hints != self._log.hints:
                self._hints = self._log.hints
                return StreamSignal.CHATS_CHANGED
            if self._beats != self._log.beats:
                self._beats = self._log.beats
                return StreamSignal.KEEP_ALIVE
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return None

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Streams:
    """Combines the journal and the hub into streams of records."""

    def __init__(self, records: RecordTable, hub: Hub, unstored: Journal | None = None) -> None:
        self._records = records
        self._hub = hub
        self._unstored = unstored
        self.list_state, self.list_changed = hub.list_state, hub.chats_changed

    async def follow(self, chat_id: str, *, after: int) -> AsyncGenerator[StreamItem, None]:
        """Yields every record of the chat after this number, once and in order, batched where possible; then what is not stored.

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
        """Yields the sidebar records of all chats after this position; without one, from now on."""

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
