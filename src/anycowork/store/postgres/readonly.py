"""Opens a database to read it beside its servers, or without one."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import PostgresConnection, unreachable


@contextmanager
def open_readonly(url: str) -> Iterator[PostgresConnection]:
    """Yields a connection that sees the database as it is now, whatever is written meanwhile. Raises: StorageFault."""
    address = read_address(url)
    with closing(PostgresConnection(address)) as connection:
        connection.connect()
        try:
            connection.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection
        except connection.dialect.errors as error:
            raise unreachable(address, error) from None
