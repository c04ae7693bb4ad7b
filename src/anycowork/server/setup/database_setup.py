"""Opens the database that the settings name: PostgreSQL by its URL, else SQLite in the data folder."""

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from anycowork.config.settings import Settings
from anycowork.domain.errors import DatabaseDamaged
from anycowork.domain.events import Record
from anycowork.domain.ports import Clock
from anycowork.store.sql.audit import heads_path
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.database import Database
from anycowork.store.sqlite.database import expects_heads_file, open_readonly, open_store

log = logging.getLogger(__name__)


async def open_database(
    settings: Settings,
    clock: Clock,
    publish: Callable[[Record], None] = lambda record: None,
    chats_changed: Callable[[], None] = lambda: None,
    *,
    is_worker: bool = False,
) -> Database:
    """Raises: StorageFault if it cannot be opened, or belongs to a newer release; Invalid if its address is none."""
    if settings.database_url is None:
        return open_store(settings.database_path, clock, publish, chats_changed)
    from anycowork.store.postgres.database import open_postgres  # only who uses it pays for its driver

    heads = heads_path(settings.database_path)
    url = settings.database_url.get_secret_value()
    return await open_postgres(url, heads, clock, publish, chats_changed, is_worker=is_worker)


@contextmanager
def stored_rows_required(settings: Settings) -> Iterator[None]:
    """Runs a part of the start that depends on what is stored. Raises: DatabaseDamaged if that cannot be read, whatever it breaks."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, sqlite3.Error) as error:
        log.debug("stored rows cannot be read", exc_info=True)
        url = settings.database_url
        name = shown_address(url.get_secret_value()) if url else f"'{settings.database_path}'"
        raise DatabaseDamaged(
            f"The server cannot start: what the database {name} holds cannot be read ({type(error).__name__}: {str(error)[:200]}). "
            "Replace it with a backup, or move it away to start with an empty one. "
            "If the database is sound, this is a fault of AnyCowork: ANYCOWORK_LOG_LEVEL=debug shows where."
        ) from error


@contextmanager
def open_to_read(settings: Settings) -> Iterator[tuple[SqlConnection, bool]]:
    """Yields a connection that only reads, also beside a server, and whether a file of audit heads must exist. Raises: StorageFault."""
    if settings.database_url is None:
        with open_readonly(settings.database_path) as connection:
            yield connection, expects_heads_file(connection)
        return
    from anycowork.store.postgres.database import open_postgres_readonly

    with open_postgres_readonly(settings.database_url.get_secret_value()) as session:
        yield session, False


def shown_address(url: str) -> str:
    """Returns the database's address without its password. Raises: Invalid."""
    from anycowork.store.postgres.address import read_address

    return read_address(url).public_url
