"""Reads messages from their records. The bytes that readers received and the chain covers are the only copy.

The messages table says where the record of a message is. It also keeps imported messages in their original form.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any  # a payload is any JSON object

import msgspec

from anycowork.domain.errors import Invalid, NotFound
from anycowork.domain.images import images_of
from anycowork.domain.messages import Message, MessageType, QueuedMessage, Speaker, stored_origins
from anycowork.domain.origins import Origins
from anycowork.domain.ports import MessagePage
from anycowork.domain.times import stored_time
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, query
from anycowork.store.sql.row_mapper import BOOLEAN, RowMapper, from_json_text
from anycowork.store.sql.turns import RunningTurnCache

Cursor = int | str | None
Row = tuple[str, str, int]
"""id, chat_id, seq"""
_ROWS = RowMapper(QueuedMessage, "id, chat_id, content, principal, steer, created_at", types={"steer": BOOLEAN})
_PUT = (
    f"{_ROWS.insert('queued_messages')}"
    " ON CONFLICT (id) DO UPDATE SET content = excluded.content, steer = excluded.steer,"
    " principal = excluded.principal"
)


def insert(connection: SqlConnection, rows: Sequence[Row]) -> None:
    connection.write_later("INSERT INTO messages (id, chat_id, seq) VALUES (?, ?, ?)", rows)


def insert_imported(connection: SqlConnection, rows: Sequence[tuple[str, str, int, bytes]]) -> None:
    """Inserts messages together with their original form."""
    connection.executemany("INSERT INTO messages (id, chat_id, seq, raw) VALUES (?, ?, ?, ?)", rows)


def imported_form(connection: SqlConnection, chat_id: str, message_id: str) -> bytes | None:
    """Returns the original form of an imported message."""
    row = connection.execute("SELECT raw FROM messages WHERE id = ? AND chat_id = ?", (message_id, chat_id)).fetchone()
    return None if row is None else row[0]


def remove_of_chat(connection: SqlConnection, chat_id: str) -> set[str]:
    """Deletes the chat's messages; call it before its records are deleted. Returns the hashes of the images they name.

    There is no index by chat: only this function would use it, and every message would pay for it.
    """
    hashes = set[str]()
    for page_ in recorded_pages(connection, chat_id):
        rows = []
        for _, body in page_:
            message = message_in(chat_id, body)
            rows.append((message.id, chat_id))
            hashes |= {image.sha256 for image in images_of(message)}
        connection.executemany("DELETE FROM messages WHERE id = ? AND chat_id = ?", rows)
    return hashes


def remove_unnamed_image(connection: SqlConnection, hash_: str) -> None:
    """Deletes the image unless a message of another chat names it: each content is stored once.

    Scans every message, but only when images are deleted.
    """
    reference = connection.execute(
        "SELECT 1 FROM records WHERE type = 'message' AND instr(body, ?) > 0 LIMIT 1", (hash_.encode(),)
    ).fetchone()
    if reference is None:
        connection.execute("DELETE FROM blobs WHERE hash = ?", (hash_,))


def lengths(
    connection: SqlConnection, chat_id: str, *, newest: int | None = None, since: int = 0, before: int = 2**62
) -> list[tuple[int, int]]:
    """Returns the number and byte length of every message, or of the newest, ascending. Does not read their bodies."""
    rows = connection.execute(
        "SELECT seq, length(body) FROM records WHERE chat_id = ? AND seq >= ? AND seq < ? AND type = 'message'"
        " ORDER BY seq DESC LIMIT ?",
        (chat_id, since, before, 2**62 if newest is None else newest),
    ).fetchall()
    return rows[::-1]


def lengths_since(connection: SqlConnection, chat_id: str, message_id: str) -> list[tuple[int, int]]:
    """Returns the number and byte length of this message and of all newer ones, ascending; nothing without it."""
    return connection.execute(
        "SELECT seq, length(body) FROM records WHERE chat_id = ?1 AND type = 'message'"
        " AND seq >= (SELECT seq FROM messages WHERE id = ?2 AND chat_id = ?1) ORDER BY seq",
        (chat_id, message_id),
    ).fetchall()


def lengths_after(
    connection: SqlConnection, chat_id: str, seq: int, *, up_to: int, limit: int
) -> list[tuple[int, int]]:
    """Returns the number and byte length of the next messages, ascending. Does not read their bodies."""
    return connection.execute(
        "SELECT seq, length(body) FROM records WHERE chat_id = ? AND seq > ? AND seq <= ? AND type = 'message'"
        " ORDER BY seq LIMIT ?",
        (chat_id, seq, up_to, limit),
    ).fetchall()


def between(connection: SqlConnection, chat_id: str, first: int, last: int) -> list[Message]:
    """Returns the messages with these numbers, both ends included."""
    return [message_in(chat_id, body) for _, body in bodies_between(connection, chat_id, first, last)]


def bodies_between(connection: SqlConnection, chat_id: str, first: int, last: int) -> list[tuple[int, bytes]]:
    """Returns number and record of the messages with these numbers, both ends included."""
    return connection.execute(
        "SELECT seq, body FROM records WHERE chat_id = ? AND seq BETWEEN ? AND ? AND type = 'message' ORDER BY seq",
        (chat_id, first, last),
    ).fetchall()


def hash_of(connection: SqlConnection, chat_id: str, seq: int) -> str | None:
    """Returns the hash of a record, which covers all records of its chat before it."""
    row = connection.execute("SELECT hash FROM records WHERE chat_id = ? AND seq = ?", (chat_id, seq)).fetchone()
    return None if row is None else row[0]


def first(connection: SqlConnection, chat_id: str, limit: int) -> list[Message]:
    """Returns the oldest messages, ascending."""
    rows = connection.execute(
        "SELECT body FROM records WHERE chat_id = ? AND type = 'message' ORDER BY seq LIMIT ?", (chat_id, limit)
    ).fetchall()
    return [message_in(chat_id, body) for (body,) in rows]


def number_of(connection: SqlConnection, chat_id: str, message_id: str) -> int | None:
    row = connection.execute("SELECT seq FROM messages WHERE id = ? AND chat_id = ?", (message_id, chat_id)).fetchone()
    return None if row is None else int(row[0])


def find(connection: SqlConnection, chat_id: str, message_id: str) -> Message | None:
    row = connection.execute(
        "SELECT body FROM messages JOIN records USING (chat_id, seq) WHERE messages.id = ? AND chat_id = ?",
        (message_id, chat_id),
    ).fetchone()
    return None if row is None else message_in(chat_id, row[0])


def page(
    connection: SqlConnection, chat_id: str, *, after: Cursor, before: Cursor, limit: int, last_seq: int
) -> MessagePage:
    """Returns a page, ascending. With `after`: the next `limit` messages. Otherwise the newest `limit` (before a cursor, if given).

    `next` continues in the same direction: send it as `after` if `after` was sent, else as `before`.
    """
    low = _seq_of(connection, chat_id, after, "after")
    high = _seq_of(connection, chat_id, before, "before")
    forward = low is not None
    rows = connection.execute(
        "SELECT seq, body FROM records WHERE chat_id = ? AND seq > ? AND seq < ? AND type = 'message'"
        f" ORDER BY seq {'ASC' if forward else 'DESC'} LIMIT ?",
        (chat_id, -1 if low is None else low, 2**62 if high is None else high, limit + 1),
    ).fetchall()
    page_rows = rows[:limit]
    further = str(page_rows[-1][0]) if page_rows and len(rows) > limit else None
    if not forward:
        page_rows.reverse()
    return MessagePage(bodies=tuple(message_bytes(body) for _, body in page_rows), last_seq=last_seq, next=further)


def recorded_pages(connection: SqlConnection, chat_id: str) -> Iterator[Sequence[tuple[int, bytes]]]:
    """Yields position and body of every message's record, a few at a time: a chat may be larger than memory."""
    seq = -1
    while rows := connection.execute(
        "SELECT seq, position, body FROM records WHERE chat_id = ? AND seq > ? AND type = 'message' ORDER BY seq LIMIT ?",
        (chat_id, seq, _PAGE),
    ).fetchall():
        seq = rows[-1][0]
        yield [(position, body) for _, position, body in rows]


_PAGE = 200


def _seq_of(connection: SqlConnection, chat_id: str, cursor: Cursor, param: str) -> int | None:
    """Resolves a cursor: a number or the id of a message."""
    if cursor is None or isinstance(cursor, int):
        return cursor
    if (seq := number_of(connection, chat_id, cursor)) is not None:
        return seq
    if cursor.isascii() and cursor.isdigit() and len(cursor) < 19:
        return int(cursor)
    raise Invalid(
        f"'{cursor}' is neither a message of this chat nor a number. Send a message id, or the 'next' value of a page.",
        param=param,
    )


def message_in(chat_id: str, body: bytes) -> Message:
    """Returns the record's message. A message as this release writes it is read in one step, any other one leniently."""
    try:
        document = _current.decode(body).message
    except msgspec.ValidationError:
        return Message.from_stored(chat_id, from_json_text(message_bytes(body)))
    return Message(
        document.id,
        chat_id,
        document.role,
        document.content,
        document.message_type,
        document.payload,
        document.agent_role,
        document.turn_id,
        document.job_id,
        document.task_id,
        document.reasoning,
        stored_time(document.created_at),
        origins=_origins(document.role, bytes(document.origins)),
    )


@lru_cache(maxsize=128)  # thousands of messages of a chat carry few different sets
def _origins(author: Speaker, stored: bytes) -> Origins:
    return stored_origins(author, msgspec.json.decode(stored))


def message_bytes(body: bytes) -> bytes:
    """Returns the message as it was sent to readers."""
    return bytes(_holder.decode(body).message)


class _CurrentMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """Exactly the fields of `Message.to_json`. With others, the message is read by `Message.from_stored`, which keeps them."""

    id: str
    role: Speaker
    content: str
    message_type: MessageType
    payload: dict[str, Any] | None
    agent_role: str | None
    turn_id: str | None
    job_id: str | None
    task_id: str | None
    reasoning: str | None
    created_at: str
    seq: int
    origins: msgspec.Raw = msgspec.Raw(b"null")


class _CurrentRecord(msgspec.Struct):
    message: _CurrentMessage


class _Holder(msgspec.Struct):
    message: msgspec.Raw


_current = msgspec.json.Decoder(_CurrentRecord)
_holder = msgspec.json.Decoder(_Holder)


def put_queued(connection: SqlConnection, queued: QueuedMessage) -> None:
    """Adds a message, or replaces the content, the kind and the author of one that is there."""
    connection.execute(_PUT, _ROWS.row(queued))


def remove_queued(connection: SqlConnection, chat_id: str, queued_id: str) -> None:
    """Raises: NotFound, so that a message is sent or removed once."""
    statement = "DELETE FROM queued_messages WHERE id = ? AND chat_id = ?"
    if connection.execute(statement, (queued_id, chat_id)).rowcount != 1:
        raise NotFound("queued message", queued_id)


class QueuedMessageTable(Table):
    """Reads the queued messages."""

    def __init__(self, reader: SqlReader, running: RunningTurnCache) -> None:
        super().__init__(reader)
        self._running = running

    async def of_chat(self, chat_id: str) -> list[QueuedMessage]:
        """Returns them in the order in which they are sent: what steers first, then by age."""
        return await self._running.queue_of(chat_id, lambda: self._reader.read(_of_chat, chat_id))

    @query
    def chats(connection: SqlConnection) -> list[str]:
        """Returns the chats that have queued messages."""
        return [row[0] for row in connection.execute("SELECT DISTINCT chat_id FROM queued_messages")]


def _of_chat(connection: SqlConnection, chat_id: str) -> list[QueuedMessage]:
    rows = connection.execute(
        f"SELECT {_ROWS.columns} FROM queued_messages WHERE chat_id = ? ORDER BY steer DESC, id", (chat_id,)
    )
    return [_ROWS.value(row) for row in rows]
