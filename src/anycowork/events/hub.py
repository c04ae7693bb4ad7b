"""Who reads what, live. Every record is encoded once into a log that all its readers share; a reader is a cursor into it."""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice

from anycowork.domain.events import SIDEBAR, Record

FRAMES_KEPT = 1024
BYTES_KEPT = 1024 * 1024
HEARTBEAT_SECONDS = 15.0

# Comments to the protocol: whoever does not know them passes over them, and they have no number to come back with.
SIGN_OF_LIFE = b": keep-alive\n\n"
CHATS_CHANGED = b": chats\n\n"

Frame = tuple[int, bytes]
"""The number that a reader comes back with, and the bytes it is sent."""


def frame(record: Record) -> Frame:
    """As a reader of one chat sees it."""
    return _frame(record.seq, record)


def sidebar_frame(record: Record) -> Frame:
    """As a reader of all chats sees it."""
    return _frame(record.position, record)


def _frame(number: int, record: Record) -> Frame:
    return number, b"id: %d\nevent: %s\ndata: %s\n\n" % (number, record.type.value.encode(), record.body)


class Hub:
    """`publish` costs the same however slow the readers are: whoever falls behind the log replays from the store."""

    def __init__(
        self,
        *,
        frames_kept: int = FRAMES_KEPT,
        bytes_kept: int = BYTES_KEPT,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self._frames_kept = frames_kept
        self._bytes_kept = bytes_kept
        self._heartbeat_seconds = heartbeat_seconds
        self._logs: dict[str, _EventLog] = {}
        self._sidebar: _EventLog | None = None

    def publish(self, record: Record) -> None:
        log = self._logs.get(record.chat_id)
        if log is not None:
            log.append(frame(record))
        if self._sidebar is not None and record.type in SIDEBAR:
            self._sidebar.append(sidebar_frame(record))

    def chats_changed(self) -> None:
        """The list of chats reads otherwise than before: one came, went, or has another name. A hint; readers read the list again."""
        if self._sidebar is not None:
            self._sidebar.hint()

    @contextmanager
    def reading(self, chat_id: str) -> Iterator["Reader"]:
        """A cursor at the end of the chat's log; what is published from now on can be taken from it."""
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
        """The same for the sidebar's log."""
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
        return _EventLog(self._frames_kept, self._bytes_kept, self._heartbeat_seconds)


@dataclass(slots=True)
class _EventLog:
    """The newest frames, bounded in count and bytes, kept only while someone reads. `first` is the index of the oldest one kept."""

    frames_kept: int
    bytes_kept: int
    heartbeat_seconds: float
    frames: deque[Frame] = field(default_factory=deque)
    size: int = 0
    first: int = 0
    beats: int = 0
    hints: int = 0
    readers: set["Reader"] = field(default_factory=set)
    timer: asyncio.TimerHandle | None = None

    @property
    def end(self) -> int:
        return self.first + len(self.frames)

    def append(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.size += len(frame[1])
        while len(self.frames) > self.frames_kept or (self.size > self.bytes_kept and len(self.frames) > 1):
            self.size -= len(self.frames.popleft()[1])
            self.first += 1
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
        """True if it was the last."""
        self.readers.discard(reader)
        if self.readers or self.timer is None:
            return False
        self.timer.cancel()
        self.timer = None
        return True

    def _beat_later(self) -> None:
        # One timer for all readers: a timeout for each would cost more than the delivery.
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

    __slots__ = ("_beats", "_cursor", "_hints", "_log", "_waiter")

    def __init__(self, log: _EventLog) -> None:
        self._log = log
        self._cursor = log.end
        self._beats = log.beats
        self._hints = log.hints
        self._waiter: asyncio.Future[None] | None = None

    def take(self) -> list[Frame] | None:
        """Everything since the last time; None if some of it is gone from the log. Then replay, after `catch_up`."""
        log = self._log
        if self._cursor < log.first:
            return None
        if self._cursor == log.end:
            return []
        taken = list(islice(log.frames, self._cursor - log.first, None))
        self._cursor = log.end
        return taken

    def catch_up(self) -> None:
        self._cursor = self._log.end

    async def wait(self) -> bytes:
        """Returns when there is something to take, nothing; or the comment that is due. Many hints that were not taken are one."""
        while self._cursor == self._log.end:
            if self._hints != self._log.hints:
                self._hints = self._log.hints
                return CHATS_CHANGED
            if self._beats != self._log.beats:
                self._beats = self._log.beats
                return SIGN_OF_LIFE
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return b""

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
