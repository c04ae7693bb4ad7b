"""The queued_messages table: what people wrote while the agent worked, until it is sent."""

from anycowork.domain.errors import NotFound
from anycowork.domain.messages import QueuedMessage
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, query
from anycowork.store.sql.row_mapper import BOOLEAN, RowMapper
from anycowork.store.sql.turns import RunningTurnCache

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
