"""The messages table: the wire JSON of each message, clustered by chat and number. Imported old messages (v=0) stand as they came."""

import sqlite3

import msgspec

from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json, Message
from anycowork.domain.ports import MessagePage
from anycowork.store.columns import unpacked

Connection = sqlite3.Connection
AS_IT_CAME, CURRENT = 0, 1
Cursor = int | str | None


def wire_body(message: Message, seq: int) -> bytes:
    """What a reader of the chat is sent, ready to be spliced into an answer or an event."""
    return msgspec.json.encode({**message.to_json(), "seq": seq}, order="sorted")


def add(connection: Connection, message: Message, *, seq: int, body: bytes, v: int = CURRENT) -> None:
    connection.execute(
        "INSERT INTO messages (chat_id, seq, id, turn_id, message_type, v, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (message.chat_id, seq, message.id, message.turn_id, message.message_type.value, v, body),
    )


def history(connection: Connection, chat_id: str) -> list[Message]:
    rows = connection.execute("SELECT body FROM messages WHERE chat_id = ? ORDER BY seq", (chat_id,))
    return [Message.from_stored(chat_id, unpacked(body)) for (body,) in rows]


def find(connection: Connection, chat_id: str, message_id: str) -> Message | None:
    row = connection.execute("SELECT body FROM messages WHERE id = ? AND chat_id = ?", (message_id, chat_id)).fetchone()
    return None if row is None else Message.from_stored(chat_id, unpacked(row[0]))


def page(
    connection: Connection, chat_id: str, *, after: Cursor, before: Cursor, limit: int, last_seq: int
) -> MessagePage:
    """Ascending. After a cursor: the `limit` that follow it. Otherwise the newest `limit` (before a cursor, if given).

    `next` goes on in the same direction: send it as `after` where `after` was sent, else as `before`.
    """
    low = _seq_of(connection, chat_id, after, "after")
    high = _seq_of(connection, chat_id, before, "before")
    forward = low is not None
    rows = connection.execute(
        "SELECT seq, v, body FROM messages WHERE chat_id = ? AND seq > ? AND seq < ?"
        f" ORDER BY seq {'ASC' if forward else 'DESC'} LIMIT ?",
        (chat_id, -1 if low is None else low, 2**62 if high is None else high, limit + 1),
    ).fetchall()
    shown = rows[:limit]
    further = str(shown[-1][0]) if shown and len(rows) > limit else None
    if not forward:
        shown.reverse()
    bodies = tuple(_shown(chat_id, seq, v, body) for seq, v, body in shown)
    return MessagePage(bodies=bodies, last_seq=last_seq, next=further)


def _seq_of(connection: Connection, chat_id: str, cursor: Cursor, param: str) -> int | None:
    """A cursor is a number or the id of a message."""
    if cursor is None or isinstance(cursor, int):
        return cursor
    row = connection.execute("SELECT seq FROM messages WHERE id = ? AND chat_id = ?", (cursor, chat_id)).fetchone()
    if row is not None:
        return int(row[0])
    if cursor.isascii() and cursor.isdigit() and len(cursor) < 19:
        return int(cursor)
    raise Invalid(
        f"'{cursor}' is neither a message of this chat nor a number. Send a message id, or the 'next' of a page.",
        param=param,
    )


def _shown(chat_id: str, seq: int, v: int, body: bytes) -> bytes:
    if v == CURRENT:
        return body
    stored: Json = unpacked(body)
    return wire_body(Message.from_stored(chat_id, stored), seq)
