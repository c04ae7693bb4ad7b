"""Opens SQLite connections with the promised durability. Knows no tables."""

import sqlite3
from pathlib import Path

from anycowork.domain.errors import StorageFault

BUSY_SECONDS = 5.0
LARGEST_LOG = 32 << 20  # bytes; a large change may make the log longer, afterwards it is cut to this
CHECKPOINT_PAGES = 4000  # of 4 KB: checkpoints run a quarter as often as by default, with up to 16 MB in the log


def create_file(path: Path) -> None:
    """Creates the database file, readable by its owner only; its log and index inherit that."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise StorageFault(
            f"The database '{path}' cannot be opened: {error.strerror}. Check the folder and its owner."
        ) from error


def connect_to_write(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Opens a connection whose commits return when the log is synced."""
    connection = _connect(path, busy_seconds)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {LARGEST_LOG}")
    return connection


def connect_to_read(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    connection = _connect(path, busy_seconds)
    connection.execute("PRAGMA query_only = ON")
    return connection


def is_damaged(error: sqlite3.Error) -> bool:
    """Tells whether the file's content is at fault, rather than a full disk or another program."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    # One thread opens it and another uses it, never two at once.
    return sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
