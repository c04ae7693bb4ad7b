"""Opens a PostgreSQL database, and reads it on threads: the event loop never waits for the network."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from anycowork.domain.errors import StorageFault
from anycowork.domain.events import Record
from anycowork.domain.ports import Clock
from anycowork.domain.values import replace
from anycowork.store.postgres.address import DatabaseAddress, read_address
from anycowork.store.postgres.connection import OUTAGE_SECONDS, PostgresConnection, unreachable
from anycowork.store.postgres.peer_table import session_name
from anycowork.store.postgres.peers import Announcements, PostgresPeers
from anycowork.store.sql.audit import AuditHeads
from anycowork.store.sql.change_writer import SharedChats
from anycowork.store.sql.connection import UNREADABLE, SqlConnection, damaged_row
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
    announcements = Announcements(peers)

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
        shared_chats=SharedChats(peers.fence.lock, peers.fence.wrote, peers.fence.forget, announcements.add),
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


P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
THREADS = 4
ATTEMPTS = 3


class PostgresReader:
    def __init__(self, address: DatabaseAddress, *, outage_seconds: float) -> None:
        self._address = address
        self._outage_seconds = outage_seconds
        self._threads = ThreadPoolExecutor(THREADS, "store-reader")
        self._of_thread = threading.local()
        self._connections: list[PostgresConnection] = []

    async def read(self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Raises: StorageFault if the database stays away."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._read, _bound(work, *args, **kwargs))

    async def read_large(
        self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Raises: StorageFault if the database stays away."""
        return await self.read(work, *args, **kwargs)

    def read_now(self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._threads.submit(self._read, _bound(work, *args, **kwargs)).result()

    def abandon(self) -> None:
        """Ends what waits for a silent database."""
        for connection in self._connections:
            connection.abandon()

    def close(self) -> None:
        for connection in self._connections:
            connection.give_up()
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _read(self, work: Callable[[SqlConnection], T]) -> T:
        connection = self._connection()
        dialect = connection.dialect
        for attempts_left in reversed(range(ATTEMPTS)):
            try:
                return work(connection)
            except UNREADABLE as error:
                log.debug("a stored row cannot be read", exc_info=True)
                raise damaged_row(error) from error
            except dialect.errors as error:
                if isinstance(error, dialect.errors_of_work):
                    raise
                if not attempts_left or not connection.restore(error):
                    raise dialect.storage_fault(error) from error
        raise AssertionError("the last attempt returns or raises")

    def _connection(self) -> PostgresConnection:
        connection: PostgresConnection | None = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = PostgresConnection(
                self._address, outage_seconds=self._outage_seconds
            )
            self._connections.append(connection)
        return connection


def _bound(
    work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs
) -> Callable[[SqlConnection], T]:
    return lambda connection: work(connection, *args, **kwargs)
