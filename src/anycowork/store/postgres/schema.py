"""Migrates a PostgreSQL database to the schema of this release, in one transaction."""

from contextlib import closing
from pathlib import Path

from anycowork.domain.errors import StorageFault
from anycowork.store.postgres.address import DatabaseAddress, read_address
from anycowork.store.postgres.connection import PostgresConnection

MIGRATIONS = Path(__file__).parent / "migrations"
OLDEST_SERVER = 14
_RECORDED = "CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL DEFAULT now())"


def migrate(connection: PostgresConnection, address: DatabaseAddress, *, migrations: Path = MIGRATIONS) -> None:
    """Applies the missing migrations. Several servers may start at once: one migrates, the others wait.

    Raises: StorageFault if PostgreSQL is too old, or the database was written by a newer release.
    """
    _require_server(connection, address)
    ours = {file.stem for file in migrations.glob("*.sql")}
    connection.begin()
    try:
        connection.execute(_RECORDED)
        applied = {row[0] for row in connection.execute("SELECT name FROM schema_migrations")}
        if newer := sorted(applied - ours):
            raise StorageFault(
                f"The database {address.public_url} was written by a newer AnyCowork (it has '{newer[-1]}'). Start that release, or use"
                " another database."
            )
        for name in sorted(ours - applied):
            connection.script((migrations / f"{name}.sql").read_text())
            connection.execute("INSERT INTO schema_migrations (name) VALUES (?)", (name,))
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def describe(url: str) -> str:
    """Returns the server's version and the database, for people. Changes nothing. Raises: StorageFault."""
    address = read_address(url)
    with closing(PostgresConnection(address)) as connection:
        connection.connect()
        _require_server(connection, address)
        version = connection.execute("SHOW server_version").fetchone()[0]
        has_tables = connection.execute("SELECT to_regclass('schema_migrations') IS NOT NULL").fetchone()[0]
        return f"{version} at {address.public_url}" + (
            "" if has_tables else " (its tables are created at the first start)"
        )


def _require_server(connection: PostgresConnection, address: DatabaseAddress) -> None:
    version = connection.execute("SHOW server_version_num").fetchone()[0]
    if int(version) < OLDEST_SERVER * 10_000:
        raise StorageFault(
            f"The database {address.public_url} runs PostgreSQL {int(version) // 10_000}; AnyCowork needs {OLDEST_SERVER} or newer."
            " Upgrade it, or use another database."
        )
