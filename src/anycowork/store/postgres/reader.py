"""Reads on threads, each with a connection of its own: the event loop never waits for the network."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from anycowork.store.postgres.address import DatabaseAddress
from anycowork.store.postgres.connection import OUTAGE_SECONDS, PostgresConnection
from anycowork.store.sql.connection import UNREADABLE, SqlConnection, damaged_row

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
THREADS = 4
ATTEMPTS = 3


class PostgresReader:
    def __init__(
        self, address: DatabaseAddress, *, threads: int = THREADS, outage_seconds: float = OUTAGE_SECONDS
    ) -> None:
        self._address = address
        self._outage_seconds = outage_seconds
        self._threads = ThreadPoolExecutor(threads, "store-reader")
        self._of_thread = threading.local()
        self._connections: list[PostgresConnection] = []

    async def read(self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Raises: StorageFault if the database stays away."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._read, _bound(work, *args, **kwargs))

    async def read_large(
        self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Raises: StorageFault if the database stays away."""
        return await self.read(work, *args, **kwargs)

    def read_now(self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._threads.submit(self._read, _bound(work, *args, **kwargs)).result()

    def abandon(self) -> None:
        """Ends what waits for a silent database."""
        for connection in self._connections:
            connection.abandon()

    def close(self) -> None:
        for connection in self._connections:
            connection.give_up()
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()

    def _read(self, work: Callable[[SqlConnection], T]) -> T:
        connection = self._connection()
        dialect = connection.dialect
        for attempts_left in reversed(range(ATTEMPTS)):
            try:
                return work(connection)
            except UNREADABLE as error:
                log.debug("a stored row cannot be read", exc_info=True)
                raise damaged_row(error) from error
            except dialect.errors as error:
                if isinstance(error, dialect.errors_of_work):
                    raise
                if not attempts_left or not connection.restore(error):
                    raise dialect.storage_fault(error) from error
        raise AssertionError("the last attempt returns or raises")

    def _connection(self) -> PostgresConnection:
        connection: PostgresConnection | None = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = PostgresConnection(
                self._address, outage_seconds=self._outage_seconds
            )
            self._connections.append(connection)
        return connection


def _bound(
    work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs
) -> Callable[[SqlConnection], T]:
    return lambda connection: work(connection, *args, **kwargs)
