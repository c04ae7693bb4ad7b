"""asyncpg behind the interface of the shared statements. Each connection runs on an event loop of its own, in the thread that uses it."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import count
from typing import Any, ClassVar, TypeVar  # Any: rows have no types, and asyncpg has no type hints

import asyncpg

from anycowork.domain.errors import DatabaseUnreachable, StorageFault
from anycowork.store.postgres.address import MOST_STATEMENTS, DatabaseAddress, open_session
from anycowork.store.postgres.dialect import PostgresDialect, is_away, is_lost
from anycowork.store.postgres.pending_writes import (
    CHANGES_NOTHING,
    MOST_TOGETHER,
    MergedWrites,
    PendingWrites,
    WriteGuard,
    numbered,
    with_positions,
)
from anycowork.store.sql.connection import Dialect

OUTAGE_SECONDS = (
    120.0  # how long a write or a read of what runs waits for a database that is away; new requests are refused at once
)
RETRY_SECONDS = 0.25
LONGEST_KEPT = 4_000  # characters; a longer statement merges many writes, seldom comes again, and its plan takes a quarter of a megabyte

T = TypeVar("T")
log = logging.getLogger(__name__)


class PostgresResult:
    """What one statement brought."""

    def __init__(self, rows: list[Any], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount

    def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> list[Any]:
        return self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


class PostgresConnection:
    """One session of the server. One thread uses it at a time, and none that runs an event loop."""

    dialect: ClassVar[Dialect] = PostgresDialect()

    def __init__(
        self, address: DatabaseAddress, *, outage_seconds: float = OUTAGE_SECONDS, connects_again: bool = True
    ) -> None:
        """Connects at the first use. Without `connects_again` it is of no use once its session is lost (`is_broken`): others may have
        taken over what it was used for."""
        self._address = address
        self._outage_seconds = outage_seconds
        self._connects_again = connects_again
        self.is_broken = False
        self._loop = asyncio.new_event_loop()
        self._session: asyncpg.Connection | None = None
        self._statements: dict[str, Any] = {}
        self._numbers = count(1)
        self._pending = PendingWrites()
        self._positions: Sequence[int] = ()  # those that the transaction's guard was given
        self._pid = 0
        self._closing = threading.Event()
        self.in_transaction = self._is_begun = False
        self.transaction_id = ""
        """Of the transaction that writes; empty until a statement has asked for it."""

    def connect(self) -> None:
        """Raises: StorageFault if the database cannot be reached."""
        try:
            self._connect()
        except self.dialect.errors as error:
            raise unreachable(self._address, error) from None

    # --- statements

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> PostgresResult:
        if sql.startswith("ROLLBACK"):
            self._pending.clear()
        elif self._pending.touches(sql):
            self.flush()
        self._begin_now()
        return self._run(self._execute(sql, parameters))

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> PostgresResult:
        rows = [_storable(row) for row in parameters]
        if not rows:
            return PostgresResult([], 0)
        if self._pending.touches(sql):
            self.flush()
        self._begin_now()
        return self._run(self._execute_many(sql, rows))

    def write_later(
        self, sql: str, parameters: Iterable[Sequence[Any]], /, *, missing: Exception | None = None, apart: bool = False
    ) -> None:
        rows = [_storable(row) for row in parameters]
        if not rows:
            return
        if not self._pending.fits(sql, len(rows), apart=apart):
            self.flush()
        if self._pending.guard is None:
            rows = [with_positions(row, self._positions) for row in rows]
        if len(rows) > MOST_TOGETHER:
            self._write_many(sql, rows, missing)
        else:
            self._pending.add(sql, rows, missing, apart=apart)

    def _write_many(self, sql: str, rows: list[Sequence[Any]], missing: Exception | None) -> None:
        self._begin_now()
        if missing is None:
            self._run(self._pipeline(sql, rows))
        elif self._run(self._execute_many(sql, rows)).rowcount != len(rows):
            raise missing

    def guard(self, guard: WriteGuard) -> bool:
        """Has the statement of the next writes fail unless the guard passes; its transaction may then be that one statement.

        Returns False in a transaction that has begun: there the caller locks what it writes first.
        """
        if self._is_begun or not self.in_transaction or self._pending:
            return False
        self._pending.guard = guard
        return True

    def flush(self) -> None:
        if self._pending:
            self._begin_now()
            self._send(self._pending.take())

    def _send(self, merged: MergedWrites) -> None:
        try:
            row = self._run(self._execute(merged.sql, merged.values)).fetchone()
        except asyncpg.InvalidTextRepresentationError as error:
            if merged.missing is not None and CHANGES_NOTHING in str(error):
                raise merged.missing from None
            raise
        if merged.guard is not None:
            self.transaction_id = row[0]
            self._settle(merged.guard, row[1])

    def _settle(self, guard: WriteGuard, positions: Sequence[int]) -> None:
        guard.positions += positions
        self._positions = guard.positions

    def copy(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Inserts many rows at once."""
        records = [_storable(row) for row in rows]
        self._run(self._connected().copy_records_to_table(table, records=records, columns=columns))

    def script(self, sql: str) -> None:
        """Runs several statements without parameters."""
        self._run(self._connected().execute(sql))

    async def _execute(self, sql: str, parameters: Sequence[Any]) -> PostgresResult:
        statement = await self._prepared(sql)
        rows = await statement.fetch(*_storable(parameters))
        return PostgresResult(rows, _rowcount(statement.get_statusmsg()))

    async def _execute_many(self, sql: str, rows: list[Sequence[Any]]) -> PostgresResult:
        statement = await self._prepared(sql)
        if sql.startswith("INSERT"):  # these travel together; the others are counted one by one
            await statement.executemany(rows)
            return PostgresResult([], len(rows))
        changed = 0
        for row in rows:
            await statement.fetch(*row)
            changed += _rowcount(statement.get_statusmsg())
        return PostgresResult([], changed)

    async def _pipeline(self, sql: str, rows: list[Sequence[Any]]) -> PostgresResult:
        """Sends all rows before the first answer comes. Nobody counts what they changed."""
        await (await self._prepared(sql)).executemany(rows)
        return PostgresResult([], -1)

    async def _prepared(self, sql: str) -> Any:
        statement = self._statements.get(sql)
        if statement is None:
            if len(self._statements) >= MOST_STATEMENTS:
                self._statements.clear()
            # What has no name is parsed and planned again at each use, in the same round trip.
            name = f"statement {next(self._numbers)}" if len(sql) <= LONGEST_KEPT else None
            statement = self._statements[sql] = await self._connected().prepare(_numbered(sql), name=name)
        return statement

    # --- transactions

    def begin(self, *, exclusive: bool = True, later: bool = False) -> None:
        """Begins a transaction that writes.

        `exclusive` transactions run one after another, so that each may decide by what it reads; writes to chats lock the rows of their
        chats instead (`SharedChats`). `later`: the transaction begins with its first statement; if that is its only one, and guarded, the
        statement alone is the transaction."""
        self._pending.clear()
        self._positions = ()
        self.in_transaction, self._is_begun = True, False
        self.transaction_id = ""
        if not later:
            self._begin_now()
        if exclusive:
            row = self.execute(
                "SELECT CAST(pg_current_xact_id() AS TEXT),"
                " pg_advisory_xact_lock(hashtextextended('anycowork writer ' || current_schema(), 0))"
            ).fetchone()
            self.transaction_id = row[0]

    def commit(self) -> None:
        """Returns when the transaction is durable. If the connection is lost meanwhile, the database is asked how it ended."""
        if self._is_begun or self._pending.guard is None:
            self._commit()
        else:
            self._commit_at_once(self._pending.guard)
        self.in_transaction = self._is_begun = False

    def _commit(self) -> None:
        self.flush()
        if not self._is_begun:
            return
        if not self.transaction_id:
            self.transaction_id = self.execute("SELECT CAST(pg_current_xact_id() AS TEXT)").fetchone()[0]
        try:
            self.execute("COMMIT")
        except self.dialect.errors as error:
            if not self._is_lost(error) or not self._was_committed():
                raise
            log.warning("the connection was lost during a commit that is durable")

    def _commit_at_once(self, guard: WriteGuard) -> None:
        try:
            self._send(self._pending.take())
        except self.dialect.errors as error:
            if not self._is_lost(error) or not self._has_written(guard):
                raise
            log.warning("the connection was lost during a write that is durable")

    def rollback(self) -> None:
        is_begun = self._is_begun
        self.in_transaction = self._is_begun = False
        self._pending.clear()
        if is_begun and self._session is not None and not self._session.is_closed():
            self.execute("ROLLBACK")

    def _begin_now(self) -> None:
        if self.in_transaction and not self._is_begun:
            self._is_begun = True
            self._run(self._execute("BEGIN", ()))

    def restore(self, error: BaseException) -> bool:
        """Connects again after the database was away, and waits for it a while. Returns False if that was not the matter, or in vain."""
        if isinstance(error, asyncpg.DeadlockDetectedError):
            return True  # two transactions waited for each other's rows, and this one was undone
        if not self._is_lost(error):
            return False
        self.in_transaction = self._is_begun = False
        return self._connect_again()

    def close(self) -> None:
        self._closing.set()
        if not self._loop.is_closed():
            closing = threading.Thread(target=self._close)  # the caller's thread may run an event loop
            closing.start()
            closing.join()

    def _close(self) -> None:
        if self._session is not None:
            self._session.terminate()
            self._loop.run_until_complete(asyncio.sleep(0))  # until the socket is closed
        self._loop.close()

    def give_up(self) -> None:
        """Ends a wait for the database in another thread: the server is stopping."""
        self._closing.set()

    def abandon(self) -> None:
        """Ends a statement that waits for a silent database in another thread. The connection cannot be used any more."""
        self._closing.set()
        with suppress(RuntimeError):  # closed already
            self._loop.call_soon_threadsafe(self._terminate)

    def _terminate(self) -> None:
        if self._session is not None:
            self._session.terminate()

    def _was_committed(self) -> bool:
        if not self._connect_again():
            return False
        until = time.monotonic() + self._outage_seconds
        while time.monotonic() < until:
            ask = "SELECT pg_xact_status(CAST(CAST(? AS TEXT) AS XID8))"
            try:
                status = self.execute(ask, (self.transaction_id,)).fetchone()[0]
            except asyncpg.InvalidParameterValueError:
                return False  # "in the future": the database crashed before it had noted that the transaction began
            if status != "in progress":
                return bool(status == "committed")
            self._closing.wait(RETRY_SECONDS)
        return False

    def _has_written(self, guard: WriteGuard) -> bool:
        """Asks in a new session whether the statement was carried out. First the old session is ended: it may be about to."""
        self.in_transaction, pid = False, self._pid
        until = time.monotonic() + self._outage_seconds
        while self._connect_again() and time.monotonic() < until:
            with suppress(*self.dialect.errors):
                [was_ended] = self.execute(_END_SESSION, (pid, self._address.session_name)).fetchone()
                if was_ended is not False:  # None: there is no such session
                    is_written, positions = self.execute(guard.was_written, guard.evidence).fetchone()
                    if is_written:
                        self._settle(guard, positions)
                    return bool(is_written)
        return False

    # --- the session

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        self._connected()
        return self._loop.run_until_complete(work)

    def _connected(self) -> asyncpg.Connection:
        if self._session is None:
            self._connect()
        assert self._session is not None
        return self._session

    def _connect(self) -> None:
        if self._session is not None:
            self._session.terminate()
            self._session = None
        self._statements.clear()
        self._session = self._loop.run_until_complete(open_session(self._address))
        self._pid = self._session.get_server_pid()

    def _connect_again(self) -> bool:
        if not self._connects_again:
            self.is_broken = True
            return False
        until = time.monotonic() + self._outage_seconds
        while not self._closing.is_set():
            try:
                self._connect()
                return True
            except self.dialect.errors as error:
                if time.monotonic() >= until:
                    return False
                log.warning("the database is away: %s", self._address.without_secrets(str(error)))
                self._closing.wait(RETRY_SECONDS)
        return False

    def _is_lost(self, error: BaseException) -> bool:
        closed = self._session is None or self._session.is_closed()
        return closed or is_lost(error)


_END_SESSION = """
SELECT bool_and(pg_terminate_backend(pid, 2000)) FROM pg_stat_activity
WHERE pid = ? AND application_name = ? AND pid <> pg_backend_pid()
"""


def unreachable(address: DatabaseAddress, error: BaseException) -> StorageFault:
    text = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
    reason = address.without_secrets(text) or type(error).__name__
    fault = DatabaseUnreachable if is_away(error) else StorageFault
    return fault(
        f"The database {address.public_url} cannot be opened ({reason}). Check that PostgreSQL runs there, and the user, the password and"
        " the name of the database in ANYCOWORK_DATABASE_URL."
    )


@lru_cache(maxsize=1024)
def _numbered(sql: str) -> str:
    return numbered(sql)


def _storable(row: Sequence[Any]) -> Sequence[Any]:
    """PostgreSQL's text holds every character but one: U+0000 is stored as its visible sign. Messages are bytes and keep it."""
    if any(isinstance(item, str) and "\0" in item for item in row):
        return [item.replace("\0", "\N{SYMBOL FOR NULL}") if isinstance(item, str) else item for item in row]
    return row


def _rowcount(status: str | None) -> int:
    """Reads how many rows a statement changed or found: "UPDATE 3", "INSERT 0 1"."""
    last = (status or "").rpartition(" ")[2]
    return int(last) if last.isdigit() else -1
