"""Opens SQLite connections with the promised durability. Knows no tables."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from anycowork.domain.errors import DatabaseDamaged, StorageFault
from anycowork.domain.text_search import SearchTerm
from anycowork.store.sql.connection import UNREADABLE, Dialect, SqlConnection, damaged_row

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
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


def connect_to_write(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> "SqliteConnection":
    """Opens a connection whose commits return when the log is synced."""
    connection = _connect(path, busy_seconds)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {LARGEST_LOG}")
    return connection


def connect_to_read(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> "SqliteConnection":
    connection = _connect(path, busy_seconds)
    connection.execute("PRAGMA query_only = ON")
    return connection


def is_damaged(error: sqlite3.Error) -> bool:
    """Tells whether the file's content is at fault, rather than a full disk or another program."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _connect(path: Path, busy_seconds: float) -> "SqliteConnection":
    # One thread opens it and another uses it, never two at once.
    return sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False, factory=SqliteConnection
    )


class SqliteDialect:
    """What only SQLite does so. Its full-text index (FTS5) holds no copy of the text."""

    errors: tuple[type[BaseException], ...] = (sqlite3.Error,)
    errors_of_work: tuple[type[BaseException], ...] = (
        sqlite3.IntegrityError,
        sqlite3.ProgrammingError,
        sqlite3.DataError,
        sqlite3.NotSupportedError,
    )
    integrity_errors: tuple[type[BaseException], ...] = (sqlite3.IntegrityError,)
    search = "SELECT rowid AS position FROM message_search WHERE message_search MATCH ? AND rowid < ? ORDER BY rowid DESC LIMIT ?"

    def match(self, terms: Sequence[SearchTerm]) -> str:
        """Returns the expression of FTS5. Words hold letters and digits only, so nothing in the quotes can end them."""
        return " AND ".join(f'"{" ".join(term.words)}"{"*" if term.prefix else ""}' for term in terms)

    def index(self, connection: SqlConnection, texts: Iterable[tuple[int, str]]) -> None:
        connection.executemany("INSERT INTO message_search (rowid, content) VALUES (?, ?)", texts)

    def unindex(self, connection: SqlConnection, texts: Iterable[tuple[int, str]]) -> None:
        statement = "INSERT INTO message_search (message_search, rowid, content) VALUES ('delete', ?, ?)"
        connection.executemany(statement, texts)

    share = ""
    lock = ""
    merges_writes = False

    def take_positions(self, connection: SqlConnection, count: int) -> Sequence[int]:
        last_positions = connection.execute(
            "SELECT MAX(position), (SELECT last_position FROM house) FROM records"
        ).fetchone()
        first = 1 + max(last_positions[0] or 0, last_positions[1] or 0)
        return range(first, first + count)

    def settled_position(self, connection: SqlConnection) -> int | None:
        return None

    def has_table(self, connection: SqlConnection, name: str) -> bool:
        row = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
        return row.fetchone() is not None

    def storage_fault(self, error: BaseException) -> StorageFault:
        if isinstance(error, sqlite3.Error) and is_damaged(error):
            fault: StorageFault = DatabaseDamaged(
                f"The database is damaged ({error}); nothing of this request was kept."
                " Stop the server and replace the database with a backup."
            )
        else:
            fault = StorageFault(
                f"The database could not be written ({error}); nothing of this request was kept."
                " Free some disk space or end the program that locks it, then try again."
            )
        fault.__cause__ = error  # raised elsewhere: the caller can tell a full disk from a locked database
        return fault


_FAULTS = (*UNREADABLE, sqlite3.Error)


@contextmanager
def _damage_named() -> Iterator[None]:
    """Raises: DatabaseDamaged in place of SQLite's own error, if the file's content is at fault, and of what a row breaks."""
    try:
        yield
    except UNREADABLE as error:
        log.debug("a stored row cannot be read", exc_info=True)
        raise damaged_row(error) from error
    except sqlite3.Error as error:
        if isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode"):
            raise damaged_row(
                error
            ) from error  # of Python's module itself: a text that is no UTF-8, which its message would quote
        if not is_damaged(error):
            raise
        raise DatabaseDamaged(
            f"The database is damaged ({error}). Stop the server and replace the database with a backup."
        ) from error


class SqliteConnection(sqlite3.Connection):
    dialect: ClassVar[Dialect] = SqliteDialect()

    def begin(self, *, exclusive: bool = True, later: bool = False) -> None:
        self.execute("BEGIN IMMEDIATE")

    def write_later(
        self, sql: str, parameters: Iterable[Sequence[Any]], /, *, missing: Exception | None = None, apart: bool = False
    ) -> None:
        if missing is None:
            self.executemany(sql, parameters)
        elif self.executemany(sql, rows := list(parameters)).rowcount != len(rows):
            raise missing

    def flush(self) -> None:
        """Nothing waits: a statement costs no round trip."""

    def restore(self, error: BaseException) -> bool:
        return False  # a file does not come back


class SqliteReader:
    """Reads on the event loop: a read takes well under a millisecond. What may be large is read on a thread of its own, on a connection
    that `connect` opens there."""

    def __init__(self, connection: SqliteConnection, connect: Callable[[], SqliteConnection]) -> None:
        self._connection = connection
        self._connect = connect
        self._thread = ThreadPoolExecutor(1, "store-reader")
        self._of_thread: SqliteConnection | None = None

    async def read(self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Raises: DatabaseDamaged."""
        try:
            return work(self._connection, *args, **kwargs)
        except _FAULTS:
            with _damage_named():  # entered after a fault only: this is the way of every read of a turn
                raise

    async def read_large(
        self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Raises: DatabaseDamaged."""
        loop = asyncio.get_running_loop()
        with _damage_named():
            return await loop.run_in_executor(self._thread, lambda: work(self._connection_of_thread(), *args, **kwargs))

    def read_now(self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Raises: DatabaseDamaged."""
        with _damage_named():
            return work(self._connection, *args, **kwargs)

    def close(self) -> None:
        self._thread.shutdown()
        for connection in (self._connection, self._of_thread):
            if connection is not None:
                connection.close()

    def _connection_of_thread(self) -> SqliteConnection:
        if self._of_thread is None:
            self._of_thread = self._connect()
        return self._of_thread
