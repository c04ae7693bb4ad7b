"""Reads the audit chain from the records table, in pages, and verifies it without a running server."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from anycowork.domain.audit import BrokenChain, ChainEnd, ChainHead, HeadEvent, Link, verify
from anycowork.domain.errors import StorageFault
from anycowork.store.sqlite.connection import connect_to_read

Connection = sqlite3.Connection
_PAGE = 500
_NO_END = 2**62


@contextmanager
def open_readonly(path: Path) -> Iterator[Connection]:
    """Opens the database read-only, also while a server uses it. Raises: StorageFault."""
    if not path.is_file():
        raise StorageFault(f"There is no database '{path}'. Name the data folder with --data-dir.")
    try:
        with closing(connect_to_read(path)) as connection:
            connection.execute("BEGIN")
            yield connection
    except sqlite3.Error as error:
        raise StorageFault(f"The database '{path}' cannot be read ({error}).") from error


def chat_ids(connection: Connection) -> list[str]:
    """Returns every chat that has a row or a record, so that a removed row does not hide its records."""
    rows = connection.execute("SELECT id FROM chats UNION SELECT DISTINCT chat_id FROM records ORDER BY 1")
    return [row[0] for row in rows]


def end_of(connection: Connection, chat_id: str) -> ChainEnd | None:
    row = connection.execute(
        "SELECT chain, (SELECT MAX(seq) FROM records WHERE chat_id = chats.id AND message_id IS NULL) FROM chats WHERE id = ?",
        (chat_id,),
    ).fetchone()
    return None if row is None else ChainEnd(str(row[0]), int(row[1] or 0))


def links_after(connection: Connection, chat_id: str, seq: int, *, up_to: int = _NO_END, limit: int) -> list[Link]:
    rows = connection.execute(
        "SELECT seq, body, hash, type FROM records WHERE chat_id = ? AND message_id IS NULL AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (chat_id, seq, up_to, limit),
    )
    # Someone who tampers with the database may leave text where bytes were.
    return [
        Link(seq, body if isinstance(body, bytes) else str(body).encode(), str(hash_), str(type_))
        for seq, body, hash_, type_ in rows
    ]


def verify_chat(connection: Connection, chat_id: str, head: ChainHead | None = None) -> BrokenChain | None:
    """Returns None if every record of the chat is present and unchanged. `head` is the end of the chain that the heads file remembers."""
    end = end_of(connection, chat_id)
    if end is None:
        return BrokenChain(0, "the chat itself is missing")
    return verify(_all_links(connection, chat_id), end=end.hash) or _check_head(connection, head)


def expects_heads_file(connection: Connection) -> bool:
    """Tells whether a file of heads must exist."""
    try:
        return bool(connection.execute("SELECT COALESCE(MAX(audit_heads), 0) FROM house").fetchone()[0])
    except sqlite3.OperationalError:
        return False  # a database of an earlier release that this one has not opened yet


def _check_head(connection: Connection, head: ChainHead | None) -> BrokenChain | None:
    """Checks that the remembered end of the chain is still part of it."""
    if head is None or head.event is not HeadEvent.ADVANCED or not head.seq:
        return None
    row = connection.execute(
        "SELECT hash FROM records WHERE chat_id = ? AND seq = ? AND message_id IS NULL", (head.chat_id, head.seq)
    ).fetchone()
    if row is not None and row[0] == head.hash:
        return None
    return BrokenChain(head.seq, f"the chain once reached this record, at {head.at}, and no longer does")


def _all_links(connection: Connection, chat_id: str) -> Iterator[Link]:
    seq = 0
    while page := links_after(connection, chat_id, seq, limit=_PAGE):
        yield from page
        seq = page[-1].seq
