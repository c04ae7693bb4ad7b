"""The queued_messages table: what people wrote while the agent worked, until it is sent."""

from anycowork.domain.errors import NotFound
from anycowork.domain.messages import QueuedMessage
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.row_mapper import BOOLEAN, RowMapper

_ROWS = RowMapper(QueuedMessage, "id, chat_id, content, principal, steer, created_at", types={"steer": BOOLEAN})
_PUT = (
    f"{_ROWS.insert('queued_messages')}"
    " ON CONFLICT (id) DO UPDATE SET content = excluded.content, steer = excluded.steer,"
    " principal = excluded.principal"
)


def put(connection: SqlConnection, queued: QueuedMessage) -> None:
    """Adds a message, or replaces the content, the kind and the author of one that is there."""
    connection.execute(_PUT, _ROWS.row(queued))


def remove(connection: SqlConnection, chat_id: str, queued_id: str) -> None:
    """Raises: NotFound, so that a message is sent or removed once."""
    statement = "DELETE FROM queued_messages WHERE id = ? AND chat_id = ?"
    if connection.execute(statement, (queued_id, chat_id)).rowcount != 1:
        raise NotFound("queued message", queued_id)


def of_chat(connection: SqlConnection, chat_id: str) -> list[QueuedMessage]:
    """Returns them in the order in which they are sent: what steers first, then by age."""
    rows = connection.execute(
        f"SELECT {_ROWS.columns} FROM queued_messages WHERE chat_id = ? ORDER BY steer DESC, id", (chat_id,)
    )
    return [_ROWS.value(row) for row in rows]


def chats(connection: SqlConnection) -> list[str]:
    """Returns the chats that have queued messages."""
    return [row[0] for row in connection.execute("SELECT DISTINCT chat_id FROM queued_messages")]
