"""Reads the audit chains in pages, those of chats and that of changes to people, and verifies them."""

from collections.abc import Callable, Iterator

from anycowork.domain.audit import BrokenChain, ChainEnd, ChainHead, ChainLink, HeadEvent, verify
from anycowork.domain.people_changes import PEOPLE_CHAIN
from anycowork.domain.values import value
from anycowork.store.sql.connection import SqlConnection, Table, large_query, query
from anycowork.store.sql.people import people_chain_end

_PAGE = 100
_NO_END = 2**62


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
