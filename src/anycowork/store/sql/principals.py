"""The principals table: the holders of keys. Stores only the hash of a key."""

import asyncio
from collections.abc import Awaitable, Callable

from anycowork.domain.metering import KeyLimits
from anycowork.domain.ports import Clock
from anycowork.domain.principals import OWNER, Principal, PrincipalKind
from anycowork.domain.values import value
from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.ledger import read_limits, write_limits
from anycowork.store.sql.row_mapper import to_json_text
from anycowork.store.sql.writer import Writer


@value
class KeyHolder:
    principal: Principal
    created_at: str
    revoked_at: str | None
    limits: KeyLimits


class ClientKeys:
    """Client keys, stored only as hashes."""

    def __init__(self, reader: SqlReader, writer: Writer, clock: Clock, *, shared: bool) -> None:
        """`shared`: other servers revoke keys too, so a key is looked up for every request."""
        self._shared = shared
        self._signal = ChangeSignal(shared=shared)
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._known: dict[str, Principal] = {}  # by hash, because every request asks; holds valid keys only

    async def add(
        self, principal: Principal, *, key_hash: str, limits: KeyLimits | None = None, payer: str = OWNER.id
    ) -> str:
        """Adds a key holder and returns the time. `payer` is the id of who pays. Raises: Conflict if the id or the key exists already."""
        created_at = self._clock.now()
        values = (
            principal.id,
            principal.kind.value,
            principal.name,
            to_json_text(sorted(principal.scopes)),
            key_hash,
            created_at,
            write_limits(limits or KeyLimits()),
            payer,
        )
        await self._writer.run(
            lambda connection: (
                connection.execute(
                    "INSERT INTO principals (id, kind, name, scopes, key_hash, created_at, limits, payer)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    values,
                ).rowcount
            )
        )
        return created_at

    async def find(self, key_hash: str) -> Principal | None:
        """Returns the holder of this key; None if the key does not exist or was revoked."""
        cached = self._known.get(key_hash)
        if cached is not None and not self._shared:
            return cached
        principal = await self._reader.read(_find, key_hash)
        if principal is not None:
            self._known[key_hash] = principal
        return principal

    async def all(self) -> list[KeyHolder]:
        return await self._reader.read(_all)

    async def revoke(self, principal_id: str) -> bool:
        """Returns False if there is no such principal, or it was revoked before."""
        values = (self._clock.now(), principal_id)
        self._known.clear()
        changed = await self._writer.run(
            lambda connection: (
                connection.execute(
                    "UPDATE principals SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", values
                ).rowcount
            )
        )
        self._known.clear()  # entries cached during the write were still valid then
        self._signal.notify()
        return changed == 1

    async def revoked(self, principal_id: str) -> None:
        """Returns when this key is revoked, here or on another server."""

        async def is_revoked() -> bool:
            return not await self._reader.read(_is_valid, principal_id)

        await self._signal.until(is_revoked)


def _find(connection: SqlConnection, key_hash: str) -> Principal | None:
    row = connection.execute(
        "SELECT id, kind, name FROM principals WHERE key_hash = ? AND revoked_at IS NULL", (key_hash,)
    ).fetchone()
    return None if row is None else Principal(row[0], PrincipalKind(row[1]), row[2])


def _is_valid(connection: SqlConnection, principal_id: str) -> bool:
    query = "SELECT 1 FROM principals WHERE id = ? AND revoked_at IS NULL"
    return connection.execute(query, (principal_id,)).fetchone() is not None


def _all(connection: SqlConnection) -> list[KeyHolder]:
    rows = connection.execute("SELECT id, kind, name, created_at, revoked_at, limits FROM principals ORDER BY id")
    return [
        KeyHolder(Principal(row[0], PrincipalKind(row[1]), row[2]), row[3], row[4], read_limits(row[5])) for row in rows
    ]


POLL_SECONDS = 1.0


class ChangeSignal:
    """`shared`: other servers change the table too, so waiting looks again every second."""

    def __init__(self, *, shared: bool) -> None:
        self._seconds = POLL_SECONDS if shared else None
        self._written = asyncio.Event()

    def notify(self) -> None:
        """Call it on the event loop after each write."""
        self._written.set()
        self._written = asyncio.Event()

    async def until(self, happened: Callable[[], Awaitable[bool]]) -> None:
        """Returns when it has happened; at once if it had before. Raises what `happened` raises."""
        while True:
            written = self._written
            if await happened():
                return
            try:
                async with asyncio.timeout(self._seconds):
                    await written.wait()
            except TimeoutError:
                continue
