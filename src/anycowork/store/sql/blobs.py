"""The blobs table: each content is stored once, under its hash."""

from hashlib import sha256

from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.writer import Writer


class Blobs:
    """The bytes of images, by their hash."""

    def __init__(self, reader: SqlReader, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer

    async def put(self, data: bytes) -> str:
        """Stores the content and returns its SHA-256 once it is durable."""
        hash_ = sha256(data).hexdigest()
        await self._writer.run(
            lambda connection: (
                connection.execute(
                    "INSERT INTO blobs (hash, size, data) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING",
                    (hash_, len(data), data),
                ).rowcount
            ),
            exclusive=False,
        )
        return hash_

    async def get(self, hash_: str) -> bytes | None:
        return await self._reader.read(_find, hash_)


def _find(connection: SqlConnection, hash_: str) -> bytes | None:
    row = connection.execute("SELECT data FROM blobs WHERE hash = ?", (hash_,)).fetchone()
    return None if row is None else bytes(row[0])
