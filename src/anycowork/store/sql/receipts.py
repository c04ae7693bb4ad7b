"""The receipts table."""

from anycowork.domain.evidence import Receipt
from anycowork.domain.messages import Json
from anycowork.store.sql.connection import SqlConnection, Table, query
from anycowork.store.sql.row_mapper import from_json_text, to_json_text


def put(connection: SqlConnection, receipt: Receipt, *, chat_id: str) -> None:
    """The id is the hash of the content, so the same one may come again."""
    connection.execute(
        "INSERT INTO receipts (id, chat_id, body) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (receipt.id, chat_id, to_json_text(receipt.body)),
    )


class ReceiptTable(Table):
    """Reads the receipts of passed checks."""

    @query
    def find(connection: SqlConnection, receipt_id: str) -> Json | None:
        row = connection.execute("SELECT body FROM receipts WHERE id = ?", (receipt_id,)).fetchone()
        return None if row is None else from_json_text(row[0])

    @query
    def ids_of(connection: SqlConnection, chat_id: str) -> list[str]:
        """Returns the receipts of a chat, in the order of their ids, in every database."""
        rows = connection.execute("SELECT id FROM receipts WHERE chat_id = ?", (chat_id,))
        return sorted(str(row[0]) for row in rows)
