"""Migrates a database to the schema of this release. Imports the migration library only when there is something to migrate."""

import glob
import sqlite3
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from urllib.parse import quote

from anycowork.domain.errors import StorageFault

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
