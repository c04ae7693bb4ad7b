"""Connections to SQLite with the durability we promise. No tables here."""

import sqlite3
from pathlib import Path

from anycowork.domain.errors import StorageFault

BUSY_SECONDS = 5.0
LARGEST_LOG = 32 << 20  # bytes; one large change makes it longer, and afterwards it is cut to this
CHECKPOINT_PAGES = 4000  # of 4 KB: the log is copied back a quarter as often as by default, for up to 16 MB of it


def create_file(path: Path) -> None:
    """Makes the database's file readable by its owner alone; its log and its index inherit that."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise StorageFault(
            f"The database '{path}' cannot be opened: {error.strerror}. Check the folder and its owner."
        ) from error


def connect_to_write(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """A commit on this connection returns when its log is synced."""
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
    """Whether the file's content is at fault, not the disk's room nor another program."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    # Opened by one thread and used by another, never by two at once.
    return sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
