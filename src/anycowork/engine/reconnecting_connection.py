"""One connection to PostgreSQL on which both sides notice within seconds that the other is gone. psycopg is imported with the first."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from anycowork.domain.errors import StorageFault

if TYPE_CHECKING:
    from psycopg import AsyncConnection

# Two seconds of silence, then two questions a second apart: the database lets go of a worker that was cut off after about four seconds.
_KEEPALIVE = {"idle": 2, "interval": 1, "count": 2}
_USER_TIMEOUT_MS = 4000
CONNECT_SECONDS = 5


def keepalive_options() -> dict[str, Any]:
    """Return libpq's connection options that make both sides probe a silent connection."""
    probes = {f"keepalives_{name}": number for name, number in _KEEPALIVE.items()}
    asked = " ".join(f"-c tcp_keepalives_{name}={number}" for name, number in _KEEPALIVE.items())
    return {
        **probes,
        "tcp_user_timeout": _USER_TIMEOUT_MS,
        "connect_timeout": CONNECT_SECONDS,
        "options": f"{asked} -c tcp_user_timeout={_USER_TIMEOUT_MS}",
    }


class ReconnectingConnection:
    """Statements run one after another, each in a transaction by itself. A fault closes the connection; the next statement opens another."""

    def __init__(self, url: str, *, timeout: float) -> None:
        self._url = url
        self._timeout = timeout
        self._connection: AsyncConnection[Any] | None = None
        self._lock = asyncio.Lock()

    async def fetch(self, statement: str, *values: object) -> Sequence[tuple[Any, ...]]:
        """Return the statement's rows, if it has any. Raises: StorageFault if the database does not answer in time."""
        async with self._lock:
            asked = asyncio.ensure_future(self._fetch(statement, values))
            try:
                done, _ = await asyncio.wait([asked], timeout=self._timeout)
            except asyncio.CancelledError:
                self._drop(asked)
                raise
            if not done:
                self._drop(asked)
                raise StorageFault(f"The database did not answer within {self._timeout:g} seconds.")
            return await asked

    async def _fetch(self, statement: str, values: tuple[object, ...]) -> Sequence[tuple[Any, ...]]:
        import psycopg

        try:
            if self._connection is None:
                self._connection = await psycopg.AsyncConnection.connect(
                    self._url, autocommit=True, **keepalive_options()
                )
            cursor = await self._connection.execute(statement, values or None)
            return await cursor.fetchall() if cursor.description else ()
        except psycopg.Error as error:
            if self._connection is not None and self._connection.closed:
                self._connection = None
            raise StorageFault(f"The database refused or failed: {str(error).strip()}") from None

    def _drop(self, asked: "asyncio.Future[Any]") -> None:
        """Closes the socket at once: asking a silent database to stop would wait for it again."""
        if self._connection is not None:
            self._connection.pgconn.finish()
            self._connection = None
        asked.cancel()
        asked.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def aclose(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()
