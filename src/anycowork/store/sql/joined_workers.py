"""The worker_invites and joined_workers tables: workers that joined over HTTP. Tokens and secrets are stored as hashes only."""

import msgspec

from anycowork.domain.errors import NotAllowed
from anycowork.domain.job_workers import JoinedWorker
from anycowork.domain.ports import Clock
from anycowork.domain.times import later
from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.row_mapper import RowMapper, json_of, to_json_text
from anycowork.store.sql.writer import Writer

_WORKERS = RowMapper(
    JoinedWorker,
    "id, host, labels, level, processor, version, joined_at",
    types={"labels": json_of(tuple[str, ...])},
)
_LABELS = msgspec.json.Decoder(tuple[str, ...])
_INVITE = "INSERT INTO worker_invites (hash, labels, created_by, expires_at) VALUES (?, ?, ?, ?)"
_COME_BACK = "UPDATE joined_workers SET host = ?, level = ?, processor = ?, version = ? WHERE id = ?"
_USE = "UPDATE worker_invites SET used_by = ? WHERE hash = ? AND used_by IS NULL AND expires_at > ?"


class JoinedWorkerTable:
    def __init__(self, reader: SqlReader, writer: Writer, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock

    async def invite(self, token_hash: str, *, labels: tuple[str, ...], created_by: str, seconds: float) -> str:
        """Stores an invitation and returns when it expires."""
        expires_at = later(self._clock.now(), seconds)
        row = (token_hash, to_json_text(list(labels)), created_by, expires_at)
        await self._writer.run(lambda connection: connection.execute(_INVITE, row).rowcount)
        return expires_at

    async def join(self, token_hash: str, worker: JoinedWorker, *, secret_hash: str) -> None:
        """Uses the invitation up and adds the worker. Raises: NotAllowed if it is used, expired or for other labels."""
        now = self._clock.now()
        await self._writer.run(lambda connection: _join(connection, token_hash, worker, secret_hash, now))

    async def update(self, worker: JoinedWorker) -> None:
        """Stores what a worker that came back says of itself."""
        row = (worker.host, worker.level, worker.processor, worker.version, worker.id)
        await self._writer.run(lambda connection: connection.execute(_COME_BACK, row).rowcount)

    async def withdraw(self, token_hash: str) -> str | None:
        """Removes an invitation, and the worker that joined by it. Returns that worker's id, if there is one."""
        return await self._writer.run(lambda connection: _withdraw(connection, token_hash))

    async def holder(self, secret_hash: str) -> JoinedWorker | None:
        return await self._reader.read(_holder, secret_hash)

    async def all(self) -> list[JoinedWorker]:
        return await self._reader.read(_all)

    async def remove(self, worker_id: str) -> bool:
        """Removes the worker, whose secret is then refused. Returns False if there is no such worker."""
        removal = "DELETE FROM joined_workers WHERE id = ?"
        return await self._writer.run(lambda connection: connection.execute(removal, (worker_id,)).rowcount) == 1


def _join(connection: SqlConnection, token_hash: str, worker: JoinedWorker, secret_hash: str, now: str) -> None:
    row = connection.execute("SELECT labels FROM worker_invites WHERE hash = ?", (token_hash,)).fetchone()
    if row is None or connection.execute(_USE, (worker.id, token_hash, now)).rowcount != 1:
        raise NotAllowed(
            "This join token is unknown, used or expired: each is good once. Make a new one with 'anycowork workers invite'."
        )
    labels = _LABELS.decode(row[0])
    if labels and not set(worker.labels) <= set(labels):
        raise NotAllowed(f"This join token is for the labels {', '.join(labels)} only. Leave out the others.")
    connection.execute(_WORKERS.insert("joined_workers", "secret_hash"), _WORKERS.row(worker, secret_hash))


def _withdraw(connection: SqlConnection, token_hash: str) -> str | None:
    row = connection.execute("SELECT used_by FROM worker_invites WHERE hash = ?", (token_hash,)).fetchone()
    connection.execute("DELETE FROM worker_invites WHERE hash = ?", (token_hash,))
    if row is None or row[0] is None:
        return None
    connection.execute("DELETE FROM joined_workers WHERE id = ?", (row[0],))
    return str(row[0])


def withdraw_invites(connection: SqlConnection, person_id: str) -> None:
    """Removes the invitations of this person that nobody has used: no list shows them."""
    connection.execute(
        "DELETE FROM worker_invites WHERE used_by IS NULL AND created_by LIKE ?", (f"person:{person_id}:%",)
    )


def _holder(connection: SqlConnection, secret_hash: str) -> JoinedWorker | None:
    row = connection.execute(
        f"SELECT {_WORKERS.columns} FROM joined_workers WHERE secret_hash = ?", (secret_hash,)
    ).fetchone()
    return None if row is None else _WORKERS.value(row)


def _all(connection: SqlConnection) -> list[JoinedWorker]:
    rows = connection.execute(f"SELECT {_WORKERS.columns} FROM joined_workers ORDER BY joined_at, id")
    return [_WORKERS.value(row) for row in rows]
