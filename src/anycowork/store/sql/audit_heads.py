"""Keeps a second copy of the heads of all audit chains: an append-only file beside the database, readable by its owner only.

It is written after the database, so every head in it was durable before. It may miss what a killed server had just written, and the steps
of a turn that still runs. It is never ahead of the database, so every head in it must be in the database.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from anycowork.domain.audit import START, ChainEnd, ChainHead, HeadEvent, next_head
from anycowork.domain.ports import Clock
from anycowork.store.sql.audit import AuditChains, chain_ids
from anycowork.store.sql.connection import SqlConnection

log = logging.getLogger(__name__)

_TAIL = 1 << 16


def heads_path(database: Path) -> Path:
    return database.with_name("audit-heads.jsonl")


def read_heads(path: Path, offset: int = 0) -> Iterator[tuple[int, ChainHead]]:
    """Yields every head from the byte `offset` on, each with the byte at which its line begins; skips a line that is still being written.

    Raises: OSError; ValueError for a line that is not a head.
    """
    with path.open("rb") as lines:
        lines.seek(offset)
        for line in lines:
            if line.endswith(b"\n"):
                yield offset, _head(line)
            offset += len(line)


class AuditHeads:
    """Writes heads on the writer's thread, after each commit. Any thread may read the newest head."""

    def __init__(self, path: Path, connection: SqlConnection, clock: Clock, *, shared: bool = False) -> None:
        """`shared`: several servers use the database, and each has a file of its own, so that a new file is no sign of a lost one."""
        self._path = path
        self._connection = connection
        self._clock = clock
        self._errors: tuple[type[BaseException], ...] = (OSError, *connection.dialect.errors)
        self._waiting: dict[str, tuple[HeadEvent, ChainEnd | None]] = {}
        self._shared = shared
        self._is_begun = not shared and _was_begun(connection)
        self.newest = _newest(path)

    def note(self, chat_id: str, event: HeadEvent = HeadEvent.ADVANCED, end: ChainEnd | None = None) -> None:
        """Marks the chat: its chain gets a new head with the next commit, or is removed. An `end` that is not known is read."""
        self._waiting[chat_id] = event, end

    def forget_ends(self) -> None:
        """Forgets the ends that were noted: they may have been rolled back."""
        self._waiting = {chat_id: (event, None) for chat_id, (event, _) in self._waiting.items()}

    def write(self) -> None:
        """Writes the current heads of the marked chats. If the disk refuses, it logs the error and tries again later."""
        if not self._waiting:
            return
        try:
            heads = list(self._new_heads())
            if heads:
                self._append(heads)
                self.newest = heads[-1]
            self._waiting.clear()
        except self._errors as error:
            log.error("the heads of the audit chains could not be written to %s: %s", self._path, error)

    def _new_heads(self) -> Iterator[ChainHead]:
        newest = self.newest
        for chat_id, event, end in [*self._initial_heads(), *self._marked_heads()]:
            newest = next_head(newest, self._clock.now(), event, chat_id, end)
            yield newest

    def _initial_heads(self) -> Iterator[tuple[str, HeadEvent, ChainEnd]]:
        """Starts a new file with all existing chats, so that chats of earlier releases are in it."""
        if self.newest is not None:
            return
        if self._is_begun:
            log.error("%s is missing: starting a new file of audit chain heads", self._path)
            yield "", HeadEvent.RESTARTED, ChainEnd(START, 0)
        for chat_id in chain_ids(self._connection):
            if chat_id not in self._waiting and (end := AuditChains.end_of(self._connection, chat_id)) is not None:
                yield chat_id, HeadEvent.ADVANCED, end

    def _marked_heads(self) -> Iterator[tuple[str, HeadEvent, ChainEnd]]:
        for chat_id, (event, noted_end) in self._waiting.items():
            end = noted_end or AuditChains.end_of(self._connection, chat_id)
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
                raise OSError(f"only {written} of {len(data)} bytes were written")
        finally:
            os.close(fd)
        if not self._is_begun and not self._shared:
            self._connection.execute("UPDATE house SET audit_heads = 1")
            self._is_begun = True


def _was_begun(connection: SqlConnection) -> bool:
    return bool(connection.execute("SELECT COALESCE(MAX(audit_heads), 0) FROM house").fetchone()[0])


def _newest(path: Path) -> ChainHead | None:
    """Returns the last complete line and cuts off an incomplete one that a killed server left."""
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            complete_lines, newline, torn = file.read().rpartition(b"\n")
            if torn:
                file.truncate(size - len(torn))
            return _head(complete_lines.rpartition(b"\n")[2]) if newline else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.error("%s cannot be read (%s): starting a new file of audit chain heads", path, error)
        return None


def _row(head: ChainHead) -> dict[str, object]:
    return {name: getattr(head, name) for name in ("count", "at", "event", "chat_id", "seq", "hash", "head")}


def _head(line: bytes) -> ChainHead:
    """Raises: ValueError."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, object])
        return ChainHead(
            count=int(str(fields["count"])),
            at=str(fields["at"]),
            event=HeadEvent(str(fields["event"])),
            chat_id=str(fields["chat_id"]),
            seq=int(str(fields["seq"])),
            hash=str(fields["hash"]),
            head=str(fields["head"]),
        )
    except (KeyError, msgspec.DecodeError) as error:
        raise ValueError(f"not a head ({error})") from None
