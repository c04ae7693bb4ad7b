"""The idempotency table: a request that is sent twice runs once and gets the same answer twice."""

from enum import StrEnum

from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.writer import Writer


class RequestState(StrEnum):
    """unknown: the server ended before the request did, so its outcome is not known."""

    BEGUN = "begun"
    FINISHED = "finished"
    UNKNOWN = "unknown"


@value
class StoredAnswer:
    """The stored request of an Idempotency-Key; without a status the request was started and never finished."""

    path: str
    body_hash: str
    state: RequestState
    status: int | None
    response: bytes | None


class IdempotencyKeys:
    def __init__(self, reader: SqlReader, writer: Writer, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock

    async def begin(self, principal: str, key: str, *, path: str, body_hash: str) -> StoredAnswer | None:
        """Returns None if the key is new; it is then reserved. Otherwise returns what is known of the first request with this key."""
        values = (principal, key, path, body_hash, self._clock.now())
        return await self._writer.run(lambda connection: _begin(connection, values), exclusive=False)

    async def finish(self, principal: str, key: str, *, status: int, response: bytes) -> None:
        values = (status, response, principal, key)
        await self._writer.run(
            lambda connection: (
                connection.execute(
                    "UPDATE idempotency SET state = 'finished', status = ?, response = ? WHERE principal = ? AND key = ?",
                    values,
                ).rowcount
            ),
            exclusive=False,
        )

    async def abandon(self, principal: str, key: str) -> None:
        """Frees the key, because the request had no effect."""
        await self._writer.run(
            lambda connection: (
                connection.execute(
                    "DELETE FROM idempotency WHERE principal = ? AND key = ? AND state = 'begun'", (principal, key)
                ).rowcount
            ),
            exclusive=False,
        )

    async def forget(self, *, before: str) -> int:
        """Frees keys older than `before`; returns how many."""
        return await self._writer.run(
            lambda connection: connection.execute("DELETE FROM idempotency WHERE created_at < ?", (before,)).rowcount
        )

    async def find(self, principal: str, key: str) -> StoredAnswer | None:
        return await self._reader.read(_find, principal, key)


def mark_interrupted(connection: SqlConnection) -> None:
    """Marks unfinished requests as unknown. No request outlives the server."""
    connection.execute("UPDATE idempotency SET state = 'unknown' WHERE state = 'begun'")


def _begin(connection: SqlConnection, values: tuple[str, str, str, str, str]) -> StoredAnswer | None:
    added = connection.execute(
        "INSERT INTO idempotency (principal, key, path, body_hash, state, created_at) VALUES (?, ?, ?, ?, 'begun', ?)"
        " ON CONFLICT (principal, key) DO NOTHING",
        values,
    )
    return None if added.rowcount == 1 else _find(connection, values[0], values[1])


def _find(connection: SqlConnection, principal: str, key: str) -> StoredAnswer | None:
    row = connection.execute(
        "SELECT path, body_hash, state, status, response FROM idempotency WHERE principal = ? AND key = ?",
        (principal, key),
    ).fetchone()
    return None if row is None else StoredAnswer(row[0], row[1], RequestState(row[2]), row[3], row[4])
