"""Reads the audit chain from the records table, in pages, and verifies it."""

from collections.abc import Iterator

from anycowork.domain.audit import BrokenChain, ChainEnd, ChainHead, HeadEvent, Link, verify
from anycowork.store.sql.connection import SqlConnection

_PAGE = 500
_NO_END = 2**62


def chat_ids(connection: SqlConnection) -> list[str]:
    """Returns every chat that has a row or a record, so that a removed row does not hide its records."""
    rows = connection.execute("SELECT id FROM chats UNION SELECT DISTINCT chat_id FROM records ORDER BY 1")
    return [row[0] for row in rows]


def end_of(connection: SqlConnection, chat_id: str) -> ChainEnd | None:
    row = connection.execute(
        "SELECT chain, (SELECT MAX(seq) FROM records WHERE chat_id = chats.id AND message_id IS NULL) FROM chats WHERE id = ?",
        (chat_id,),
    ).fetchone()
    return None if row is None else ChainEnd(str(row[0]), int(row[1] or 0))


def links_after(connection: SqlConnection, chat_id: str, seq: int, *, up_to: int = _NO_END, limit: int) -> list[Link]:
    rows = connection.execute(
        "SELECT seq, body, hash, type FROM records WHERE chat_id = ? AND message_id IS NULL AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (chat_id, seq, up_to, limit),
    )
    # Someone who tampers with the database may leave text where bytes were.
    return [
        Link(seq, body if isinstance(body, bytes) else str(body).encode(), str(hash_), str(type_))
        for seq, body, hash_, type_ in rows
    ]


def verify_chat(connection: SqlConnection, chat_id: str, head: ChainHead | None = None) -> BrokenChain | None:
    """Returns None if every record of the chat is present and unchanged. `head` is the end of the chain that the heads file remembers."""
    end = end_of(connection, chat_id)
    if end is None:
        return BrokenChain(0, "the chat itself is missing")
    return verify(_all_links(connection, chat_id), end=end.hash) or _check_head(connection, head)


def _check_head(connection: SqlConnection, head: ChainHead | None) -> BrokenChain | None:
    """Checks that the remembered end of the chain is still part of it."""
    if head is None or head.event is not HeadEvent.ADVANCED or not head.seq:
        return None
    row = connection.execute(
        "SELECT hash FROM records WHERE chat_id = ? AND seq = ? AND message_id IS NULL", (head.chat_id, head.seq)
    ).fetchone()
    if row is not None and row[0] == head.hash:
        return None
    return BrokenChain(head.seq, f"the chain once reached this record, at {head.at}, and no longer does")


def _all_links(connection: SqlConnection, chat_id: str) -> Iterator[Link]:
    seq = 0
    while page := links_after(connection, chat_id, seq, limit=_PAGE):
        yield from page
        seq = page[-1].seq
