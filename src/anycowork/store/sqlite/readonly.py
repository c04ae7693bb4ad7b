"""Opens a database to read it beside a running server, or without one."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from anycowork.domain.errors import StorageFault
from anycowork.store.sqlite.connection import SqliteConnection, connect_to_read


@contextmanager
def open_readonly(path: Path) -> Iterator[SqliteConnection]:
    """Opens the database read-only, also while a server uses it. Raises: StorageFault."""
    if not path.is_file():
        raise StorageFault(f"There is no database '{path}'. Name the data folder with --data-dir.")
    try:
        with closing(connect_to_read(path)) as connection:
            connection.execute("BEGIN")
            yield connection
    except sqlite3.Error as error:
        raise StorageFault(f"The database '{path}' cannot be read ({error}).") from error


def expects_heads_file(connection: SqliteConnection) -> bool:
    """Tells whether a file of heads must exist."""
    try:
        return bool(connection.execute("SELECT COALESCE(MAX(audit_heads), 0) FROM house").fetchone()[0])
    except sqlite3.OperationalError:
        return False  # a database of an earlier release that this one has not opened yet
