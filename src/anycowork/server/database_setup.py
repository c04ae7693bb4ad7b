"""Opens the database that the settings name: PostgreSQL by its URL, else SQLite in the data folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from anycowork.config.settings import Settings
from anycowork.domain.events import Record
from anycowork.domain.ports import Clock
from anycowork.store.sql.audit_heads import heads_path
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.database import Database
from anycowork.store.sqlite import readonly as sqlite
from anycowork.store.sqlite.database import open_store


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
def open_to_read(settings: Settings) -> Iterator[tuple[SqlConnection, bool]]:
    """Yields a connection that only reads, also beside a server, and whether a file of audit heads must exist. Raises: StorageFault."""
    if settings.database_url is None:
        with sqlite.open_readonly(settings.database_path) as connection:
            yield connection, sqlite.expects_heads_file(connection)
        return
    from anycowork.store.postgres.readonly import open_readonly

    with open_readonly(settings.database_url.get_secret_value()) as session:
        yield session, False


def shown_address(url: str) -> str:
    """Returns the database's address without its password. Raises: Invalid."""
    from anycowork.store.postgres.address import read_address

    return read_address(url).shown
