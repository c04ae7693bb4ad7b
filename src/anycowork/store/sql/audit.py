"""Reads the audit chains in pages, those of chats and that of changes to people, and verifies them."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from anycowork.domain.audit import START, BrokenChain, ChainEnd, ChainHead, ChainLink, HeadEvent, next_head, verify
from anycowork.domain.people import PEOPLE_CHAIN
from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.store.sql.connection import SqlConnection, Table, large_query, query
from anycowork.store.sql.people import people_chain_end

_PAGE = 100
_NO_END = 2**62
log = logging.getLogger(__name__)
_TAIL = 1 << 16


def chat_ids(connection: SqlConnection) -> list[str]:
    """Returns every chat that has a row or a record, so that a removed row does not hide its records.

    Jumps from chat to chat in the index of the records: DISTINCT would read the whole index.
    """
    rows = connection.execute(
        "WITH RECURSIVE recorded (id) AS (SELECT MIN(chat_id) FROM records UNION ALL"
        " SELECT (SELECT MIN(chat_id) FROM records WHERE chat_id > recorded.id) FROM recorded WHERE recorded.id IS NOT NULL)"
        " SELECT id FROM chats UNION SELECT id FROM recorded WHERE id IS NOT NULL ORDER BY 1"
    )
    return [row[0] for row in rows]


def chain_ids(connection: SqlConnection) -> list[str]:
    """Returns every chat, and the chain of changes to people if there is one. A database of an earlier release has no table for it."""
    has_changes = connection.dialect.has_table(connection, "people_changes") and people_chain_end(connection)
    return [*chat_ids(connection), *([PEOPLE_CHAIN] if has_changes else [])]


class AuditChains(Table):
    """Reads and verifies the audit chains."""

    @query
    def end_of(connection: SqlConnection, chat_id: str) -> ChainEnd | None:
        """Returns None if there is no such chat."""
        if chat_id == PEOPLE_CHAIN:
            return people_chain_end(connection)
        row = connection.execute(
            "SELECT chain, (SELECT MAX(seq) FROM records WHERE chat_id = chats.id AND message_id IS NULL) FROM chats WHERE id = ?",
            (chat_id,),
        ).fetchone()
        return None if row is None else ChainEnd(str(row[0]), int(row[1] or 0))

    @query
    def links_after(
        connection: SqlConnection, chat_id: str, seq: int, *, up_to: int = _NO_END, limit: int
    ) -> list[ChainLink]:
        """Returns a page of the chain, ascending."""
        return list(_links_after(connection, chat_id, seq, up_to=up_to, limit=limit))

    @large_query
    def verify_chat(connection: SqlConnection, chat_id: str) -> BrokenChain | None:
        """Returns None if every record of the chat is present and unchanged."""
        return check_chain(connection, chat_id).broken


def _links_after(
    connection: SqlConnection, chat_id: str, seq: int, *, up_to: int = _NO_END, limit: int
) -> Iterator[ChainLink]:
    table, of_chain = _table_of(chat_id)
    rows = connection.execute(
        f"SELECT seq, body, hash, type FROM {table} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (*of_chain, seq, up_to, limit),
    )
    # Someone who tampers with the database may leave text where bytes were.
    for number, body, hash_, type_ in rows:
        yield ChainLink(number, body if isinstance(body, bytes) else str(body).encode(), str(hash_), str(type_))


def _table_of(chain_id: str) -> tuple[str, tuple[str, ...]]:
    """Returns the table and the condition that select the records of a chain, and their parameters."""
    if chain_id == PEOPLE_CHAIN:
        return "people_changes WHERE tenant_id = 'local'", ()
    return "records WHERE chat_id = ? AND message_id IS NULL", (chain_id,)


@value
class ChainCheck:
    """What was found of one chat's chain. `end` is None if the chat is missing; `checked` is the number of records that were read."""

    broken: BrokenChain | None
    end: ChainEnd | None = None
    checked: int = 0


def check_chain(
    connection: SqlConnection,
    chat_id: str,
    *,
    head: ChainHead | None = None,
    after: ChainEnd | None = None,
    on_page: Callable[[int], None] = lambda records: None,
) -> ChainCheck:
    """Checks that every record of the chat is present and unchanged. `head` is the end of the chain that the heads file remembers.

    With `after`, only the records after that one are read; the record itself must still be there, with the same hash.
    `on_page` is called after each page, with its number of records; what it raises ends the check.
    """
    end = AuditChains.end_of(connection, chat_id)
    if end is None:
        problem = "the chat itself is missing" if chat_id != PEOPLE_CHAIN else "all its records are missing"
        return ChainCheck(BrokenChain(0, problem))
    if after is not None and after.seq and not _has_record(connection, chat_id, after):
        return ChainCheck(
            BrokenChain(after.seq, "an earlier check found the chain to reach this record, and it no longer does"), end
        )
    links = _PagedLinks(connection, chat_id, after.seq if after else 0, on_page)
    broken = verify(links, end=end.hash, after=after) or _check_head(connection, head)
    return ChainCheck(broken, end, links.count)


def _check_head(connection: SqlConnection, head: ChainHead | None) -> BrokenChain | None:
    """Checks that the remembered end of the chain is still part of it."""
    if head is None or head.event is not HeadEvent.ADVANCED or not head.seq:
        return None
    if _has_record(connection, head.chat_id, ChainEnd(head.hash, head.seq)):
        return None
    return BrokenChain(head.seq, f"the chain once reached this record, at {head.at}, and no longer does")


def _has_record(connection: SqlConnection, chat_id: str, end: ChainEnd) -> bool:
    table, of_chain = _table_of(chat_id)
    row = connection.execute(f"SELECT hash FROM {table} AND seq = ?", (*of_chain, end.seq)).fetchone()
    return row is not None and row[0] == end.hash


class _PagedLinks:
    """Reads the links of a chat page by page, and counts them."""

    def __init__(self, connection: SqlConnection, chat_id: str, seq: int, on_page: Callable[[int], None]) -> None:
        self.count = 0
        self._connection, self._chat_id, self._seq, self._on_page = connection, chat_id, seq, on_page

    def __iter__(self) -> Iterator[ChainLink]:
        """One record is in memory at a time, where the database sends them so."""
        before = -1
        while before != self.count:
            before = self.count
            for link in _links_after(self._connection, self._chat_id, self._seq, limit=_PAGE):
                yield link
                self._seq = link.seq
                self.count += 1
            self._on_page(self.count - before)


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
        """`shared`: several servers use the database, each with its own file, so that a new file does not mean that one was lost."""
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
