"""Opens a SQLite database in the data folder, and brings its tables up to date."""

import glob
import logging
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from urllib.parse import quote

from anycowork.domain.errors import DatabaseDamaged, StorageFault
from anycowork.domain.events import Record
from anycowork.domain.ports import Clock
from anycowork.store.sql.audit import AuditHeads, heads_path
from anycowork.store.sql.database import Database, assemble, mark_open
from anycowork.store.sqlite.connection import (
    BUSY_SECONDS,
    SqliteConnection,
    SqliteReader,
    connect_to_read,
    connect_to_write,
    create_file,
    is_damaged,
)


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
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if not isinstance(error, sqlite3.Error) or is_damaged(error):
            raise DatabaseDamaged(
                f"The database '{path}' is damaged or not a database ({error}). Replace it with a backup, or move it away to start with an empty one."
            ) from error
        raise StorageFault(
            f"The database '{path}' cannot be opened ({error}). Check that it belongs to AnyCowork and that no other program locks it."
        ) from error
    heads = AuditHeads(heads_path(path), connection, clock)
    return assemble(connection, reader, clock, publish, chats_changed, heads, ended_cleanly=ended_cleanly)


WORTH_IT = 16 << 20  # bytes
_COPIES = 2  # the remaining data is written twice: beside the database, and into its log
_SPARE = 64 << 20

log = logging.getLogger(__name__)


def compact(connection: sqlite3.Connection, path: Path, *, worth_it: int = WORTH_IT) -> bool:
    """Compacts the database once the free space exceeds the data that is left, so that it never costs more than it frees.

    Blocking; call it outside a transaction. Returns whether it compacted; if the disk refuses, the database stays unchanged.
    """
    page, pages, free = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
    )
    used_bytes = (pages - free) * page
    if free * page < worth_it or free * 2 <= pages:
        return False
    if shutil.disk_usage(path.parent).free < _COPIES * used_bytes + _SPARE:
        return False
    try:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        log.warning("the space of deleted chats could not be freed: %s", error)
        return False
    return True


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


MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(path: Path, *, migrations: Path = MIGRATIONS) -> None:
    """Applies the missing migrations.

    Raises: StorageFault if the database was written by a newer release.
    """
    ours = {file.stem for file in migrations.glob("*.sql")}
    applied = _applied(path)
    if newer := sorted(applied - ours):
        raise StorageFault(
            f"The database '{path}' was written by a newer AnyCowork (it has '{newer[-1]}'). Start that release, or use another data folder."
        )
    if missing := ours - applied:
        _apply(path, missing, migrations)


def is_current(path: Path) -> bool:
    """Tells whether the database has the schema of this release. Changes nothing."""
    return _applied(path) == {file.stem for file in MIGRATIONS.glob("*.sql")}


def _applied(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    try:
        if not connection.execute("SELECT name FROM sqlite_master WHERE name = '_yoyo_migration'").fetchone():
            return set()
        return {name for (name,) in connection.execute("SELECT migration_id FROM _yoyo_migration")}
    finally:
        connection.close()


def _apply(path: Path, names: set[str], migrations: Path) -> None:
    import yoyo  # heavy, and an up-to-date database does not need it

    with yoyo.get_backend(f"sqlite:///{quote(str(path.absolute()))}") as backend:
        backend.ensure_internal_schema_updated()
        missing = [
            migration for migration in yoyo.read_migrations(glob.escape(str(migrations))) if migration.id in names
        ]
        # Not the library's `apply_migrations`: it records a migration in a separate transaction, so a process killed in between would
        # always fail with "table already exists"; and it logs the user and host name, which a container may not have.
        # Nor its reading of scripts: it parses the SQL, which took most of the time that a new database takes.
        with backend.transaction():
            for migration in sorted(missing, key=attrgetter("id")):
                for statement in statements_of(Path(migration.path).read_text("utf-8")):
                    backend.cursor().execute(statement)
                backend.mark_one(migration, log=False)


def statements_of(script: str) -> Iterator[str]:
    """Yields the statements of a script. SQLite tells where one ends: not at each semicolon of a trigger, a text or a comment."""
    begun = ""
    for part in script.split(";")[:-1]:
        begun += f"{part};"
        if sqlite3.complete_statement(begun):
            yield begun
            begun = ""
