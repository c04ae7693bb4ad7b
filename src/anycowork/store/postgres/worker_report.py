"""Reads which workers live, for people who ask without a server."""

from contextlib import closing

from anycowork.domain.job_workers import JobWorker
from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import PostgresConnection, unreachable
from anycowork.store.postgres.peer_table import WORKERS, worker_of


def living_workers(url: str) -> list[JobWorker]:
    """Changes nothing. Raises: Invalid for a wrong address; StorageFault, also if the database has no such table yet."""
    address = read_address(url)
    with closing(PostgresConnection(address)) as connection:
        connection.connect()
        try:
            return [worker_of(row) for row in connection.execute(WORKERS)]
        except connection.dialect.errors as error:
            raise unreachable(address, error) from None
