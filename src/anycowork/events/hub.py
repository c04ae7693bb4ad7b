"""Publishes records to live readers. Every record is encoded once into a log that its readers share; a reader is a cursor in it."""

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

# Comments in the SSE protocol: clients that do not know them ignore them, and they have no event id.
SIGN_OF_LIFE = b": keep-alive\n\n"
CHATS_CHANGED = b": chats\n\n"

Frame = tuple[int, bytes]
"""The event id to resume from, and the bytes to send."""


def frame(record: Record) -> Frame:
    """Encode a record for a reader of one chat."""
    return _frame(record.seq, record)


def sidebar_frame(record: Record) -> Frame:
    """Encode a record for a reader of all chats."""
    return _frame(record.position, record)


def _frame(number: int, record: Record) -> Frame:
    return number, b"id: %d\nevent: %s\ndata: %s\n\n" % (number, record.type.value.encode(), record.body)


class Hub:
    """The cost of `publish` does not depend on slow readers: a reader that falls behind the log replays from the store."""

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
        """Hint to readers that the list of chats has changed (a chat was added, removed or renamed), so that they reload it."""
        if self._sidebar is not None:
            self._sidebar.hint()

    @contextmanager
    def reading(self, chat_id: str) -> Iterator["Reader"]:
        """Yield a cursor at the end of the chat's log; it receives what is published from now on."""
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
        return _EventLog(self._frames_kept, self._bytes_kept, self._heartbeat_seconds)


@dataclass(slots=True)
class _EventLog:
    """The newest frames, limited in count and bytes, kept only while there are readers. `first` is the index of the oldest frame."""

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
        """Remove the reader; return True if it was the last."""
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

    __slots__ = ("_beats", "_cursor", "_hints", "_log", "_waiter")

    def __init__(self, log: _EventLog) -> None:
        self._log = log
        self._cursor = log.end
        self._beats = log.beats
        self._hints = log.hints
        self._waiter: asyncio.Future[None] | None = None

    def take(self) -> list[Frame] | None:
        """Return all new frames; None if some are no longer in the log: then call `catch_up` and replay."""
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
        """Wait for new frames and return empty bytes, or return a comment that is due. Several pending hints become one."""
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
