"""Copies a SQLite database into an empty PostgreSQL database, in one transaction that is verified before it is committed."""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any  # rows have no types

from anycowork.domain.audit import BrokenChain
from anycowork.domain.errors import StorageFault
from anycowork.domain.values import value
from anycowork.store.postgres.address import DatabaseAddress, read_address
from anycowork.store.postgres.connection import PostgresConnection, unreachable
from anycowork.store.postgres.database import migrate
from anycowork.store.postgres.peers import others_are_there
from anycowork.store.sql import message_search
from anycowork.store.sql.audit import AuditChains, chain_ids
from anycowork.store.sqlite.connection import SqliteConnection
from anycowork.store.sqlite.database import is_current

BATCH_ROWS, BATCH_BYTES = 1_000, 4_000_000
_OF_PEERS = (
    "chat_holders",
    "engine_runs",
    "engine_signals",
    "layer_folders",
    "layer_requests",
    "pack_folders",
    "peers",
    "refused_jobs",
    "workspace_markers",
    "forwarded_requests",
)  # SQLite has one process, and none of these
_CHECKS_FOR_OTHERS, _BETWEEN_CHECKS = 20, 0.1  # times, seconds
_SKIPPED = frozenset({"schema_migrations", "message_search", *_OF_PEERS})  # the search index is built anew

Progress = Callable[[str, int], None]
"""Gets a table's name and how many of its rows are copied so far."""


@value
class TransferReport:
    """How many rows each table has, and the chats whose audit chain was broken before."""

    rows: dict[str, int]
    broken: tuple[str, ...]


def _stays_in_use(target: PostgresConnection) -> bool:
    """Tells whether a server uses the database; one that has just stopped may leave its connection for a moment."""
    for _ in range(_CHECKS_FOR_OTHERS):
        if not others_are_there(target):
            return False
        time.sleep(_BETWEEN_CHECKS)
    return True


def transfer(database: Path, url: str, progress: Progress) -> TransferReport:
    """Copies every table and verifies counts and audit chains. The SQLite database is only read.

    Raises: StorageFault if one of them cannot be opened, the target is not empty or is in use, or the copy differs; then nothing is kept.
    """
    address = read_address(url)
    with _source(database) as source, closing(PostgresConnection(address)) as target:
        target.connect()
        try:
            if _stays_in_use(target):
                raise StorageFault(f"A server uses the database {address.public_url}. Stop it first.")
            migrate(target, address)
            target.begin()
            _require_empty(target, address)
            rows = {table: _copy(source, target, table, progress) for table in _tables(target)}
            _index_messages(target, progress)
            broken = _verify(source, target, rows)
            target.commit()
        except target.dialect.errors as error:
            raise unreachable(address, error) from None
    return TransferReport(rows, broken)


@contextmanager
def _source(database: Path) -> Iterator[SqliteConnection]:
    if not database.is_file():
        raise StorageFault(f"There is no database '{database}'. Name the data folder with --data-dir.")
    try:
        if not is_current(database):
            raise StorageFault(
                f"The database '{database}' is of an earlier release. Start this release on it once, then move it."
            )
        opened = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, factory=SqliteConnection)
        with closing(opened) as connection:
            connection.execute("BEGIN")
            yield connection
    except sqlite3.Error as error:
        raise StorageFault(f"The database '{database}' cannot be read ({error}).") from error


def _tables(target: PostgresConnection) -> list[str]:
    rows = target.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename")
    return [row[0] for row in rows if row[0] not in _SKIPPED]


def _require_empty(target: PostgresConnection, address: DatabaseAddress) -> None:
    for table in _tables(target):
        if count := _count(target, table):
            raise StorageFault(
                f"The database {address.public_url} is not empty: '{table}' has {count} rows. Nothing was copied. Name an empty database."
            )


def _copy(source: SqliteConnection, target: PostgresConnection, table: str, progress: Progress) -> int:
    types = _columns(target, table)
    rows = source.execute(f"SELECT {', '.join(types)} FROM {table}")
    binary = [type_ == "bytea" for type_ in types.values()]
    done = 0
    for batch in _batches(rows):
        target.copy(table, list(types), [_converted(row, binary) for row in batch])
        done += len(batch)
        progress(table, done)
    if table == "records":
        target.execute("SELECT setval('record_positions', (SELECT COALESCE(MAX(position), 0) + 1 FROM records))")
    if table == "snapshots":
        target.execute(
            "SELECT setval(pg_get_serial_sequence('snapshots', 'position'), (SELECT COALESCE(MAX(position), 1) FROM snapshots))"
        )
    return done


def _columns(target: PostgresConnection, table: str) -> dict[str, str]:
    rows = target.execute(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ?"
        " ORDER BY ordinal_position",
        (table,),
    )
    return {str(row[0]): str(row[1]) for row in rows}


def _batches(rows: sqlite3.Cursor) -> Iterator[list[tuple[Any, ...]]]:
    batch: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += sum(len(item) for item in row if isinstance(item, str | bytes))
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _converted(row: Sequence[Any], binary: Sequence[bool]) -> list[Any]:
    """SQLite keeps text where bytes belong, if it was given text."""
    return [
        item.encode() if is_binary and isinstance(item, str) else item
        for item, is_binary in zip(row, binary, strict=True)
    ]


def _index_messages(target: PostgresConnection, progress: Progress) -> None:
    position, done = 0, 0
    page = "SELECT position, body FROM records WHERE type = 'message' AND position > ? ORDER BY position LIMIT 500"
    while rows := target.execute(page, (position,)).fetchall():
        message_search.index(target, [(row[0], row[1]) for row in rows])
        position = rows[-1][0]
        done += len(rows)
        progress("message_search", done)


def _verify(source: SqliteConnection, target: PostgresConnection, rows: dict[str, int]) -> tuple[str, ...]:
    """Returns chats that were broken before. Raises: StorageFault if the copy differs."""
    for table in rows:
        if (copied := _count(target, table)) != (expected := _count(source, table)):
            raise StorageFault(
                f"The copy differs: '{table}' has {copied} of {expected} rows. Nothing was kept; try again."
            )
    broken = []
    for chat_id in chain_ids(source):
        before: BrokenChain | None = AuditChains.verify_chat(source, chat_id)
        if AuditChains.verify_chat(target, chat_id) != before:
            raise StorageFault(f"The copy differs: the audit chain of chat {chat_id}. Nothing was kept; try again.")
        if before is not None:
            broken.append(chat_id)
    return tuple(broken)


def _count(connection: SqliteConnection | PostgresConnection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
