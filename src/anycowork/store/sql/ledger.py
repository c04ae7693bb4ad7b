"""The key_usage table: what each client key used per day. Whole days are queued and written in groups shortly afterwards."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import fields, replace

from anycowork.domain.errors import AnyCoworkError, StorageFault
from anycowork.domain.metering import Account, DailyUsage, KeyLimits
from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.row_mapper import RowMapper, from_json_text_or_none, to_json_text
from anycowork.store.sql.writer import WriteDone, WriteFailed, Writer

FLUSH_SECONDS = 0.1
RETRY_SECONDS = 1.0

_COLUMNS = tuple(field.name for field in fields(DailyUsage))
_ROWS = RowMapper(DailyUsage, ", ".join(_COLUMNS), types={})
_PUT = (
    f"INSERT INTO key_usage ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' for _ in _COLUMNS)})"
    f" ON CONFLICT (key_id, date) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[2:])}"
)
_COUNTED = _COLUMNS[2:-1]
_ADD = (
    f"INSERT INTO key_usage ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' for _ in _COLUMNS)})"
    f" ON CONFLICT (key_id, date) DO UPDATE SET {', '.join(f'{name} = key_usage.{name} + excluded.{name}' for name in _COUNTED)},"
    " last_used_at = excluded.last_used_at"
)
_ROW = f"SELECT {', '.join(_COLUMNS)} FROM key_usage WHERE key_id = ? AND date = ?"
_ADDED_UP = ("requests", "prompt", "completion", "cached", "reasoning", "estimated", "spend", "unpriced")
_TOTAL = f"SELECT key_id, {', '.join(f'SUM({name})' for name in _ADDED_UP)}, MAX(last_used_at) FROM key_usage GROUP BY key_id"

log = logging.getLogger(__name__)


class KeyLedger:
    """Tracks usage per key. Belongs to one event loop. Alone, the days in memory are authoritative and written whole; `shared` with
    other servers, what this one counted is added to the table."""

    def __init__(self, reader: SqlReader, writer: Writer, *, shared: bool) -> None:
        self._shared = shared
        self._stored: dict[tuple[str, str], DailyUsage] = {}  # the rows as this server last knew them
        self._writes = 0
        self._reader = reader
        self._writer = writer
        self._dirty: dict[tuple[str, str], DailyUsage] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._under_way = 0  # groups that the writer has not settled yet
        self._closed = False

    async def account(self, key_id: str, date: str) -> Account:
        """Reads the key's limits and its usage of that day from the table."""
        account = await self._reader.read(_account, key_id, date)
        self._stored[key_id, date] = replace(account.today)
        return account

    async def refresh(self, day: DailyUsage) -> None:
        """Adds to the day in memory what other servers have counted of it since."""
        if not self._shared:
            return
        writes = self._writes
        row = await self._reader.read(_row, day.key_id, day.date)
        if row is None or self._under_way or writes != self._writes:
            return  # the row is changing: the next request sees it
        stored = self._stored.setdefault((day.key_id, day.date), DailyUsage(day.key_id, day.date))
        for name in _COUNTED:
            setattr(day, name, getattr(day, name) + getattr(row, name) - getattr(stored, name))
        self._stored[day.key_id, day.date] = row

    def changed(self, day: DailyUsage) -> None:
        """Queues the day to be written soon. Nobody waits for it."""
        self._dirty[day.key_id, day.date] = day
        if self._timer is None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    async def write_within(self, require: Callable[[SqlConnection], None]) -> None:
        """Writes every queued day in one transaction, which `require` may refuse. Raises: what it raises; then the days stay queued."""
        days, rows = self._drain()

        def written(connection: SqlConnection) -> None:
            _put(connection, rows, added=self._shared)
            require(connection)

        self._under_way += 1
        try:
            await self._writer.run(written)
        except AnyCoworkError:
            self._queue_again(days, rows)
            raise
        finally:
            self._under_way -= 1

    async def write_all(self) -> None:
        """Returns when every queued day is in the table."""
        await self._write_all()

    async def totals(self) -> dict[str, DailyUsage]:
        """Returns the sum of all days of every key, including days not written yet; `date` is empty."""
        await self._write_all()
        return await self._reader.read(_totals)

    async def day(self, key_id: str, date: str) -> DailyUsage:
        """Returns one key's day as written."""
        return (await self._reader.read(_account, key_id, date)).today

    async def aclose(self) -> None:
        """Returns when every day is durable. Raises: StorageFault if one is not."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        await self._write_all()

    async def _write_all(self) -> None:
        """Returns when every queued day is written: the writer finishes pending groups first."""
        days, rows = self._drain()
        if not rows and not self._under_way:
            return
        self._under_way += 1
        try:
            await self._writer.run(lambda connection: _put(connection, rows, added=self._shared), exclusive=False)
        except StorageFault as error:
            self._try_again(days, rows, error)
            raise
        finally:
            self._under_way -= 1

    def _flush(self) -> None:
        self._timer = None
        if not self._dirty:
            return
        days, rows = self._drain()

        def settle(outcome: WriteDone[None] | WriteFailed) -> None:
            self._under_way -= 1
            if isinstance(outcome, WriteFailed):
                self._try_again(days, rows, outcome.error)

        self._under_way += 1
        self._writer.submit(lambda connection: _put(connection, rows, added=self._shared), settle, exclusive=False)

    def _drain(self) -> tuple[list[DailyUsage], list[tuple[object, ...]]]:
        days = list(self._dirty.values())
        self._dirty.clear()
        self._writes += 1
        return days, [self._what_is_new(day) if self._shared else _values(day) for day in days]

    def _what_is_new(self, day: DailyUsage) -> tuple[object, ...]:
        """Returns what this server counted since it last wrote the day, and takes it as written."""
        stored = self._stored.get((day.key_id, day.date), DailyUsage(day.key_id, day.date))
        self._stored[day.key_id, day.date] = replace(day)
        new = [getattr(day, name) - getattr(stored, name) for name in _COUNTED]
        return (day.key_id, day.date, *new, day.last_used_at)

    def _try_again(self, days: Sequence[DailyUsage], rows: Sequence[tuple[object, ...]], error: BaseException) -> None:
        log.error("the usage of client keys could not be written; trying again: %s", error)
        self._queue_again(days, rows)

    def _queue_again(self, days: Sequence[DailyUsage], rows: Sequence[tuple[object, ...]]) -> None:
        if self._shared:
            for row in rows:
                counts = dict(zip(_COLUMNS, row, strict=True))
                stored = self._stored[str(counts["key_id"]), str(counts["date"])]
                for name in _COUNTED:
                    setattr(stored, name, getattr(stored, name) - counts[name])
        for day in days:
            self._dirty.setdefault((day.key_id, day.date), day)
        if self._timer is None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(RETRY_SECONDS, self._flush)


def settle_reservations(connection: SqlConnection) -> None:
    """Counts reservations as used. No request outlives the server."""
    connection.execute(
        "UPDATE key_usage SET prompt = prompt + reserved_prompt, completion = completion + reserved_completion,"
        " estimated = estimated + reserved_prompt + reserved_completion, spend = spend + reserved_spend,"
        " reserved_prompt = 0, reserved_completion = 0, reserved_spend = 0"
        " WHERE reserved_prompt + reserved_completion > 0"
    )


def write_limits(limits: KeyLimits) -> str | None:
    values = {field.name: getattr(limits, field.name) for field in fields(KeyLimits)}
    return to_json_text(values) if limits != KeyLimits() else None


def read_limits(text: str | None) -> KeyLimits:
    stored = from_json_text_or_none(text) or {}
    values = {field.name: stored.get(field.name) for field in fields(KeyLimits)}
    return KeyLimits(**{name: value for name, value in values.items() if isinstance(value, int)})


def _account(connection: SqlConnection, key_id: str, date: str) -> Account:
    key_row = connection.execute("SELECT limits, payer FROM principals WHERE id = ?", (key_id,)).fetchone()
    row = connection.execute(_ROW, (key_id, date)).fetchone()
    limits, payer = key_row or (None, key_id)  # a person's own token has no row
    return Account(read_limits(limits), _ROWS.value(row) if row else DailyUsage(key_id, date), payer)


def _totals(connection: SqlConnection) -> dict[str, DailyUsage]:
    return {
        row[0]: DailyUsage(row[0], "", **dict(zip(_ADDED_UP, row[1:-1], strict=True)), last_used_at=row[-1])
        for row in connection.execute(_TOTAL)
    }


def _row(connection: SqlConnection, key_id: str, date: str) -> DailyUsage | None:
    row = connection.execute(_ROW, (key_id, date)).fetchone()
    return None if row is None else _ROWS.value(row)


def _values(day: DailyUsage) -> tuple[object, ...]:
    return tuple(getattr(day, name) for name in _COLUMNS)


def _put(connection: SqlConnection, rows: Sequence[tuple[object, ...]], *, added: bool) -> None:
    connection.executemany(_ADD if added else _PUT, sorted(rows, key=lambda row: str(row[:2])))
