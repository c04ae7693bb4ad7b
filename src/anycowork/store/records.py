"""The records table: one durable fact per row, in the order of all chats and in the order of each."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from anycowork.domain.audit import link
from anycowork.domain.events import DELTAS, SIDEBAR, EventType, Record
from anycowork.domain.ports import UnfinishedText
from anycowork.store.columns import unpacked

Connection = sqlite3.Connection


@dataclass(frozen=True, slots=True)
class Entry:
    """A record with the columns it is found by. Only a delta has a `message_id`."""

    record: Record
    id: str
    message_id: str | None = None


def append(connection: Connection, entries: Iterable[Entry], *, chain: str) -> tuple[list[Record], str]:
    """The records with their positions, and the chain's new end."""
    placed = []
    for entry in entries:
        chain = link(chain, entry.record.body)
        position = _insert(connection, entry, chain)
        record = entry.record
        placed.append(Record(record.chat_id, record.seq, record.type, record.body, position))
    return placed, chain


def append_piece(connection: Connection, entry: Entry) -> None:
    """A piece of a delta: outside the chain, for it goes when its message is complete."""
    _insert(connection, entry, None)


def _insert(connection: Connection, entry: Entry, hash_: str | None) -> int:
    record = entry.record
    inserted = connection.execute(
        "INSERT INTO records (chat_id, seq, id, type, message_id, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (record.chat_id, record.seq, entry.id, record.type.value, entry.message_id, record.body, hash_),
    )
    return inserted.lastrowid or 0  # the position; RETURNING it would cost half as much again


def compact(connection: Connection, chat_id: str, message_id: str) -> None:
    connection.execute("DELETE FROM records WHERE chat_id = ? AND message_id = ?", (chat_id, message_id))


def after(connection: Connection, chat_id: str, seq: int, *, up_to: int | None, limit: int) -> list[Record]:
    rows = connection.execute(
        "SELECT seq, type, body, position FROM records WHERE chat_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (chat_id, seq, _NO_END if up_to is None else up_to, limit),
    )
    return [Record(chat_id, row[0], EventType(row[1]), row[2], row[3]) for row in rows]


_NO_END = 2**62
_SIDEBAR_TYPES = sorted(type_.value for type_ in SIDEBAR)
_SIDEBAR_MARKS = ", ".join("?" for _ in _SIDEBAR_TYPES)


def sidebar_after(connection: Connection, position: int, *, limit: int) -> list[Record]:
    rows = connection.execute(
        f"SELECT chat_id, seq, type, body, position FROM records WHERE position > ? AND type IN ({_SIDEBAR_MARKS}) ORDER BY position LIMIT ?",
        (position, *_SIDEBAR_TYPES, limit),
    )
    return [Record(row[0], row[1], EventType(row[2]), row[3], row[4]) for row in rows]


def last_position(connection: Connection) -> int:
    return int(connection.execute("SELECT COALESCE(MAX(position), 0) FROM records").fetchone()[0])


def last_seq(connection: Connection, chat_id: str) -> int:
    row = connection.execute("SELECT MAX(seq) FROM records WHERE chat_id = ?", (chat_id,)).fetchone()
    return int(row[0] or 0)


def first_unfinished(connection: Connection, chat_id: str) -> int | None:
    """The first delta whose message has not come yet."""
    row = connection.execute(
        "SELECT MIN(+seq) FROM records WHERE chat_id = ? AND message_id IS NOT NULL", (chat_id,)
    ).fetchone()
    return None if row[0] is None else int(row[0])


def deltas(connection: Connection, chat_id: str) -> list[Record]:
    rows = connection.execute(
        "SELECT seq, type, body, position FROM records WHERE chat_id = ? AND message_id IS NOT NULL ORDER BY seq",
        (chat_id,),
    )
    return [Record(chat_id, row[0], EventType(row[1]), row[2], row[3]) for row in rows]


def unfinished(deltas_of_chat: Iterable[Record], turn_id: str) -> list[UnfinishedText]:
    """What the pieces of this turn add up to; an offset says where each piece stands."""
    texts: dict[tuple[str, EventType], str] = {}
    for record in deltas_of_chat:
        assert record.type in DELTAS
        body = unpacked(record.body)
        offset, text = body["offset"], body["text"]
        if body["turn_id"] == turn_id and isinstance(offset, int) and isinstance(text, str):
            key = (str(body["message_id"]), record.type)
            texts[key] = texts.get(key, "")[:offset] + text
    return [UnfinishedText(message_id, kind, text) for (message_id, kind), text in texts.items()]
