"""Opens a PostgreSQL database."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from anycowork.domain.errors import StorageFault
from anycowork.domain.events import Record
from anycowork.domain.ports import Clock
from anycowork.domain.values import replace
from anycowork.store.postgres.address import DatabaseAddress, read_address
from anycowork.store.postgres.connection import OUTAGE_SECONDS, PostgresConnection, unreachable
from anycowork.store.postgres.peer_table import session_name
from anycowork.store.postgres.peers import Announcements, PostgresPeers
from anycowork.store.postgres.reader import PostgresReader
from anycowork.store.sql.audit_heads import AuditHeads
from anycowork.store.sql.change_writer import SharedChats
from anycowork.store.sql.database import Database, assemble, mark_open


async def open_postgres(
    url: str,
    heads_file: Path,
    clock: Clock,
    publish: Callable[[Record], None],
    chats_changed: Callable[[], None] = lambda: None,
    *,
    outage_seconds: float = OUTAGE_SECONDS,
    is_worker: bool = False,
) -> Database:
    """Opens the database. Raises: StorageFault if it cannot be reached, or belongs to a newer release."""
    server_id = clock.new_id()
    address = replace(read_address(url), session_name=session_name(server_id))
    peers = PostgresPeers(address, server_id, is_worker=is_worker)
    try:
        alone = await peers.join()
        connection = PostgresConnection(address, outage_seconds=outage_seconds, connects_again=not is_worker)
        peers.is_broken = lambda: connection.is_broken
        heads, clean = await asyncio.to_thread(_open, connection, address, heads_file, clock, alone)
        if alone:
            await peers.settled()
    except BaseException:
        await peers.aclose()
        raise
    reader = PostgresReader(address, outage_seconds=outage_seconds)
    announcements = Announcements(server_id)

    def abandon() -> None:
        connection.abandon()
        reader.abandon()

    return await asyncio.to_thread(
        assemble,
        connection,
        reader,
        clock,
        publish,
        chats_changed,
        heads,
        ended_cleanly=clean,
        peers=peers,
        shared_chats=SharedChats(peers.fence.lock, announcements.add),
        announce=announcements.send,
        abandon=abandon,
    )


def _open(
    connection: PostgresConnection, address: DatabaseAddress, heads_file: Path, clock: Clock, alone: bool
) -> tuple[AuditHeads, bool]:
    try:
        connection.connect()
        migrate(connection, address)
        clean = mark_open(connection, clock.now(), alone=alone)
        return AuditHeads(heads_file, connection, clock, shared=True), clean
    except connection.dialect.errors as error:
        connection.close()
        raise unreachable(address, error) from None
    except BaseException:
        connection.close()
        raise


@contextmanager
def open_postgres_readonly(url: str) -> Iterator[PostgresConnection]:
    """Yields a connection that sees the database as it is now, whatever is written meanwhile. Raises: StorageFault."""
    address = read_address(url)
    with closing(PostgresConnection(address)) as connection:
        connection.connect()
        try:
            connection.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection
        except connection.dialect.errors as error:
            raise unreachable(address, error) from None


MIGRATIONS = Path(__file__).parent / "migrations"
OLDEST_SERVER = 14
_RECORDED = "CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"


def migrate(connection: PostgresConnection, address: DatabaseAddress, *, migrations: Path = MIGRATIONS) -> None:
    """Applies the missing migrations. Several servers may start at once: one migrates, the others wait.

    Raises: StorageFault if PostgreSQL is too old, or the database was written by a newer release.
    """
    _require_server(connection, address)
    ours = {file.stem for file in migrations.glob("*.sql")}
    connection.begin()
    try:
        connection.execute(_RECORDED)
        applied = {row[0] for row in connection.execute("SELECT name FROM schema_migrations")}
        if newer := sorted(applied - ours):
            raise StorageFault(
                f"The database {address.public_url} was written by a newer AnyCowork (it has '{newer[-1]}'). Start that release, or use"
                " another database."
            )
        for name in sorted(ours - applied):
            connection.script((migrations / f"{name}.sql").read_text())
            connection.execute("INSERT INTO schema_migrations (name) VALUES (?)", (name,))
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def describe(url: str) -> str:
    """Returns the server's version and the database, for people. Changes nothing. Raises: StorageFault."""
    address = read_address(url)
    with closing(PostgresConnection(address)) as connection:
        connection.connect()
        _require_server(connection, address)
        version = connection.execute("SHOW server_version").fetchone()[0]
        has_tables = connection.execute("SELECT to_regclass('schema_migrations') IS NOT NULL").fetchone()[0]
        return f"{version} at {address.public_url}" + (
            "" if has_tables else " (its tables are created at the first start)"
        )


def _require_server(connection: PostgresConnection, address: DatabaseAddress) -> None:
    version = connection.execute("SHOW server_version_num").fetchone()[0]
    if int(version) < OLDEST_SERVER * 10_000:
        raise StorageFault(
            f"The database {address.public_url} runs PostgreSQL {int(version) // 10_000}; AnyCowork needs {OLDEST_SERVER} or newer."
            " Upgrade it, or use another database."
        )
