"""A second place for the heads of all chats' audit chains: a file beside the database that only grows, for its owner alone.

It is written after the database: what it names was durable before. It may be behind by what a killed server had just written, and by
the steps of a turn that still runs; it is never ahead, so whatever it names must be in the database.
"""

import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from anycowork.domain.audit import START, ChainEnd, ChainHead, HeadEvent, next_head
from anycowork.domain.ports import Clock
from anycowork.store.sqlite.audit import end_of

log = logging.getLogger(__name__)

Connection = sqlite3.Connection
_TAIL = 1 << 16


def heads_path(database: Path) -> Path:
    return database.with_name("audit-heads.jsonl")


def read_heads(path: Path) -> Iterator[ChainHead]:
    """Every head; a line that is still being written is left out. Raises: OSError, ValueError for what is no head."""
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield _head(line)


class AuditHeads:
    """Writes heads on the writer's thread, after each commit. Reads the newest one from any thread."""

    def __init__(self, path: Path, connection: Connection, clock: Clock) -> None:
        self._path = path
        self._connection = connection
        self._clock = clock
        self._waiting: dict[str, HeadEvent] = {}
        self._is_begun = bool(connection.execute("SELECT COALESCE(MAX(audit_heads), 0) FROM house").fetchone()[0])
        self.newest = _newest(path)

    def note(self, chat_id: str, event: HeadEvent = HeadEvent.ADVANCED) -> None:
        """The chat's chain will have a new head with the next commit, or be gone."""
        self._waiting[chat_id] = event

    def write(self) -> None:
        """Writes the heads of the noted chats as they are in the database now. A disk that refuses is logged, and tried again later."""
        if not self._waiting:
            return
        try:
            heads = list(self._made())
            if heads:
                self._append(heads)
                self.newest = heads[-1]
            self._waiting.clear()
        except (OSError, sqlite3.Error) as error:
            log.error("the heads of the audit chains could not be written to %s: %s", self._path, error)

    def _made(self) -> Iterator[ChainHead]:
        newest = self.newest
        for chat_id, event, end in [*self._first_ones(), *self._noted()]:
            newest = next_head(newest, self._clock.now(), event, chat_id, end)
            yield newest

    def _first_ones(self) -> Iterator[tuple[str, HeadEvent, ChainEnd]]:
        """A new file begins with all the chats there are, so that those of earlier releases are in it."""
        if self.newest is not None:
            return
        if self._is_begun:
            log.error("%s is missing: the heads of the audit chains begin anew", self._path)
            yield "", HeadEvent.RESTARTED, ChainEnd(START, 0)
        for (chat_id,) in self._connection.execute("SELECT id FROM chats ORDER BY id").fetchall():
            if chat_id not in self._waiting and (end := end_of(self._connection, chat_id)) is not None:
                yield chat_id, HeadEvent.ADVANCED, end

    def _noted(self) -> Iterator[tuple[str, HeadEvent, ChainEnd]]:
        for chat_id, event in self._waiting.items():
            end = end_of(self._connection, chat_id)
            if end is not None:
                yield chat_id, HeadEvent.ADVANCED, end
            elif event is HeadEvent.REMOVED:
                yield chat_id, event, ChainEnd(START, 0)

    def _append(self, heads: Iterable[ChainHead]) -> None:
        data = b"".join(msgspec.json.encode(_row(head)) + b"\n" for head in heads)
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            size = os.fstat(fd).st_size
            written = os.write(fd, data)
            if written < len(data):
                os.ftruncate(fd, size)
                raise OSError(f"only {written} of {len(data)} bytes were taken")
        finally:
            os.close(fd)
        if not self._is_begun:
            self._connection.execute("UPDATE house SET audit_heads = 1")
            self._is_begun = True


def _newest(path: Path) -> ChainHead | None:
    """The last whole line; what a killed server left of one is cut off."""
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            whole, newline, torn = file.read().rpartition(b"\n")
            if torn:
                file.truncate(size - len(torn))
            return _head(whole.rpartition(b"\n")[2]) if newline else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.error("%s cannot be read (%s): the heads of the audit chains begin anew", path, error)
        return None


def _row(head: ChainHead) -> dict[str, object]:
    return {name: getattr(head, name) for name in ("count", "at", "event", "chat_id", "seq", "hash", "head")}


def _head(line: bytes) -> ChainHead:
    """Raises: ValueError."""
    try:
        found = msgspec.json.decode(line, type=dict[str, object])
        return ChainHead(
            count=int(str(found["count"])),
            at=str(found["at"]),
            event=HeadEvent(str(found["event"])),
            chat_id=str(found["chat_id"]),
            seq=int(str(found["seq"])),
            hash=str(found["hash"]),
            head=str(found["head"]),
        )
    except (KeyError, msgspec.DecodeError) as error:
        raise ValueError(f"this is no head ({error})") from None
