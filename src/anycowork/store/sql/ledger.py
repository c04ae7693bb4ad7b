"""The key_usage table: what each client key used per day. Whole days are queued and written in groups shortly afterwards."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import fields

from anycowork.domain.errors import StorageFault
from anycowork.domain.metering import Account, Day, KeyLimits
from anycowork.store.sql.columns import from_json_text_or_none, to_json_text
from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.writer import WriteDone, WriteFailed, Writer

FLUSH_SECONDS = 0.1
RETRY_SECONDS = 1.0

_COLUMNS = tuple(field.name for field in fields(Day))
_PUT = (
    f"INSERT INTO key_usage ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' for _ in _COLUMNS)})"
    f" ON CONFLICT (key_id, date) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[2:])}"
)
_ROW = f"SELECT {', '.join(_COLUMNS)} FROM key_usage WHERE key_id = ? AND date = ?"
_ADDED_UP = ("requests", "prompt", "completion", "cached", "reasoning", "estimated", "spend", "unpriced")
_TOTAL = f"SELECT key_id, {', '.join(f'SUM({name})' for name in _ADDED_UP)}, MAX(last_used_at) FROM key_usage GROUP BY key_id"

log = logging.getLogger(__name__)


class SqlKeyLedger:
    """Tracks usage per key. Belongs to one event loop in one process: the days in memory are authoritative, the table restores them."""

    def __init__(self, reader: SqlReader, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer
        self._dirty: dict[tuple[str, str], Day] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._under_way = 0  # groups that the writer has not settled yet
        self._closed = False

    async def account(self, key_id: str, date: str) -> Account:
        """Reads the key's limits and its usage of that day from the table."""
        return await self._reader.read(_account, key_id, date)

    def changed(self, day: Day) -> None:
        """Queues the day to be written soon. Nobody waits for it."""
        self._dirty[day.key_id, day.date] = day
        if self._timer is None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    async def totals(self) -> dict[str, Day]:
        """Returns the sum of all days of every key, including days not written yet; `date` is empty."""
        await self._write_all()
        return await self._reader.read(_totals)

    async def day(self, key_id: str, date: str) -> Day:
        """Returns one key's day as written."""
        return (await self.account(key_id, date)).today

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
        try:
            await self._writer.run(lambda connection: _put(connection, rows))
        except StorageFault as error:
            self._try_again(days, error)
            raise

    def _flush(self) -> None:
        self._timer = None
        days, rows = self._drain()

        def settle(outcome: WriteDone[None] | WriteFailed) -> None:
            self._under_way -= 1
            if isinstance(outcome, WriteFailed):
                self._try_again(days, outcome.error)

        self._under_way += 1
        self._writer.submit(lambda connection: _put(connection, rows), settle)

    def _drain(self) -> tuple[list[Day], list[tuple[object, ...]]]:
        days = list(self._dirty.values())
        self._dirty.clear()
        return days, [tuple(getattr(day, name) for name in _COLUMNS) for day in days]

    def _try_again(self, days: Sequence[Day], error: BaseException) -> None:
        log.error("the usage of client keys could not be written; trying again: %s", error)
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
    given = {field.name: getattr(limits, field.name) for field in fields(KeyLimits)}
    return to_json_text(given) if limits != KeyLimits() else None


def read_limits(text: str | None) -> KeyLimits:
    found = from_json_text_or_none(text) or {}
    known = {field.name: found.get(field.name) for field in fields(KeyLimits)}
    return KeyLimits(**{name: value for name, value in known.items() if isinstance(value, int)})


def _account(connection: SqlConnection, key_id: str, date: str) -> Account:
    found = connection.execute("SELECT limits FROM principals WHERE id = ?", (key_id,)).fetchone()
    row = connection.execute(_ROW, (key_id, date)).fetchone()
    return Account(read_limits(found[0] if found else None), Day(*row) if row else Day(key_id, date))


def _totals(connection: SqlConnection) -> dict[str, Day]:
    return {
        row[0]: Day(row[0], "", **dict(zip(_ADDED_UP, row[1:-1], strict=True)), last_used_at=row[-1])
        for row in connection.execute(_TOTAL)
    }


def _put(connection: SqlConnection, rows: Sequence[tuple[object, ...]]) -> None:
    connection.executemany(_PUT, rows)
