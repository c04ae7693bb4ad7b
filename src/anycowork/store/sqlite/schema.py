"""Migrates a database to the schema of this release. Imports the migration library only when there is something to migrate."""

import glob
import sqlite3
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
    if ours - applied:
        _apply(path, migrations)


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


def _apply(path: Path, migrations: Path) -> None:
    import yoyo  # heavy, and an up-to-date database does not need it

    with yoyo.get_backend(f"sqlite:///{quote(str(path.absolute()))}") as backend:
        backend.ensure_internal_schema_updated()
        lacking = backend.to_apply(yoyo.read_migrations(glob.escape(str(migrations))))
        # Not the library's `apply_migrations`: it records a migration in a separate transaction, so a process killed in between would
        # always fail with "table already exists"; and it logs the user and host name, which a container may not have.
        with backend.transaction():
            for migration in lacking:
                migration.process_steps(backend, "apply")
                backend.mark_one(migration, log=False)
