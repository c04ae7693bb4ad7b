"""Opens a SQLite database in the data folder."""

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from anycowork.domain.errors import DatabaseDamaged, StorageFault
from anycowork.domain.events import Record
from anycowork.domain.ports import Clock
from anycowork.store.sql.audit_heads import AuditHeads, heads_path
from anycowork.store.sql.database import Database, assemble, mark_open
from anycowork.store.sqlite.compaction import compact
from anycowork.store.sqlite.connection import (
    BUSY_SECONDS,
    SqliteReader,
    connect_to_read,
    connect_to_write,
    create_file,
    is_damaged,
)
from anycowork.store.sqlite.schema import migrate


def open_store(
    path: Path,
    clock: Clock,
    publish: Callable[[Record], None],
    chats_changed: Callable[[], None] = lambda: None,
    *,
    busy_seconds: float = BUSY_SECONDS,
) -> Database:
    """Opens the database. Raises: StorageFault if it cannot be opened, or belongs to a newer release."""
    create_file(path)
    try:
        migrate(path)
        with ExitStack() as undo:
            connect = partial(connect_to_read, path, busy_seconds=busy_seconds)
            connection = undo.enter_context(closing(connect_to_write(path, busy_seconds=busy_seconds)))
            ended_cleanly = mark_open(connection, clock.now())
            compact(connection, path)
            reader = SqliteReader(undo.enter_context(closing(connect())), connect)
            undo.pop_all()  # opened: from now on the Database closes them
    except sqlite3.Error as error:
        if is_damaged(error):
            raise DatabaseDamaged(
                f"The database '{path}' is damaged or not a database ({error}). Replace it with a backup, or move it away to start with an empty one."
            ) from error
        raise StorageFault(
            f"The database '{path}' cannot be opened ({error}). Check that it belongs to AnyCowork and that no other program locks it."
        ) from error
    heads = AuditHeads(heads_path(path), connection, clock)
    return assemble(connection, reader, clock, publish, chats_changed, heads, ended_cleanly=ended_cleanly)
