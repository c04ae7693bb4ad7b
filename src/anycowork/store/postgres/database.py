"""Opens a PostgreSQL database."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from anycowork.domain.events import Record
from anycowork.domain.ports import Clock
from anycowork.domain.values import replace
from anycowork.store.postgres.address import DatabaseAddress, read_address
from anycowork.store.postgres.connection import OUTAGE_SECONDS, PostgresConnection, unreachable
from anycowork.store.postgres.peer_table import session_name
from anycowork.store.postgres.peers import Announcements, PostgresPeers
from anycowork.store.postgres.reader import PostgresReader
from anycowork.store.postgres.schema import migrate
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
