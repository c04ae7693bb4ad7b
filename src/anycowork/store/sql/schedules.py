"""The schedules and schedule_starts tables: what is started without a person at hand, and each of its starts, once."""

from collections.abc import Sequence
from functools import partial
from typing import Any  # a database's rows have no types

from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.plan import Budget
from anycowork.domain.schedules import (
    AlreadyStarted,
    ClaimStart,
    MissedRule,
    Schedule,
    ScheduledStart,
    StartReason,
    StartStatus,
)
from anycowork.domain.times import later
from anycowork.domain.triggers import TooManyStarts
from anycowork.domain.values import replace
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, query
from anycowork.store.sql.row_mapper import BOOLEAN, JSON_OBJECT, ColumnType, RowMapper, enum_of, nullable
from anycowork.store.sql.writer import Writer

MOST_SCHEDULES = 500
_KEPT_STARTS, _KEPT_SECONDS, _MINUTE = 100, 24 * 3600.0, 60.0
BUDGET = ColumnType(lambda budget: budget.model_dump_json(exclude_none=True), Budget.model_validate_json)
_SCHEDULES = RowMapper(
    Schedule,
    "id, name, cron, at, time_zone, template, workflow, parameters, chat_id, workspace, role, limits, missed, enabled, is_trigger,"
    " principal, created_by, created_at, changed_at, next_at, paused, payload",
    types={
        "parameters": JSON_OBJECT,
        "limits": BUDGET,
        "missed": enum_of(MissedRule),
        "enabled": BOOLEAN,
        "is_trigger": BOOLEAN,
        "payload": JSON_OBJECT,
    },
)
_STARTS = RowMapper(
    ScheduledStart,
    "schedule_id, key, due_at, reason, principal, waits, status, parameters, chat_id, turn_id, job_id, error, settled_at",
    types={
        "reason": enum_of(StartReason),
        "waits": BOOLEAN,
        "status": enum_of(StartStatus),
        "parameters": nullable(JSON_OBJECT),
    },
)
_PUT = f"UPDATE schedules SET {', '.join(f'{name} = ?' for name in _SCHEDULES.columns.split(', '))} WHERE id = ?"
_ADD_START = f"{_STARTS.insert('schedule_starts')} ON CONFLICT (schedule_id, key) DO NOTHING"
_STARTED = (
    f"SELECT {', '.join(f's.{name}' for name in _STARTS.columns.split(', '))},"
    " COALESCE(jobs.status, CASE turns.state WHEN 'ended' THEN turns.reason ELSE turns.state END), chats.id"
    " FROM schedule_starts s LEFT JOIN turns ON turns.id = s.turn_id LEFT JOIN jobs ON jobs.id = s.job_id"
    " LEFT JOIN chats ON chats.id = s.chat_id"
)
_GOES_ON = (
    "SELECT 1 FROM schedule_starts s LEFT JOIN turns ON turns.id = s.turn_id LEFT JOIN jobs ON jobs.id = s.job_id"
    " WHERE s.schedule_id = ? AND s.status = 'started'"
    " AND (turns.state <> 'ended' OR jobs.status NOT IN ('completed', 'failed', 'cancelled')) LIMIT 1"
)
_PRUNE = (
    "DELETE FROM schedule_starts WHERE schedule_id = ? AND status IN ('skipped', 'missed', 'failed') AND due_at < ? AND due_at <"
    " (SELECT due_at FROM schedule_starts WHERE schedule_id = ? ORDER BY due_at DESC LIMIT 1 OFFSET ?)"
)


class Schedules(Table):
    """Schedules and their starts. A schedule's secret has its own query; no other one reads it."""

    def __init__(self, reader: SqlReader, writer: Writer) -> None:
        super().__init__(reader)
        self._writer = writer

    @query
    def all(connection: SqlConnection) -> list[Schedule]:
        """Returns schedules and triggers, oldest first."""
        return [
            _SCHEDULES.value(row)
            for row in connection.execute(f"SELECT {_SCHEDULES.columns} FROM schedules ORDER BY id")
        ]

    @query
    def find(connection: SqlConnection, schedule_id: str) -> Schedule | None:
        row = connection.execute(f"SELECT {_SCHEDULES.columns} FROM schedules WHERE id = ?", (schedule_id,)).fetchone()
        return None if row is None else _SCHEDULES.value(row)

    @query
    def secret(connection: SqlConnection, schedule_id: str) -> str | None:
        row = connection.execute("SELECT secret FROM schedules WHERE id = ?", (schedule_id,)).fetchone()
        return None if row is None else row[0]

    @query
    def passed(connection: SqlConnection, now: str) -> list[Schedule]:
        """Returns the enabled schedules whose next time has come."""
        rows = connection.execute(
            f"SELECT {_SCHEDULES.columns} FROM schedules WHERE enabled = 1 AND next_at <= ? ORDER BY next_at", (now,)
        )
        return [_SCHEDULES.value(row) for row in rows]

    @query
    def earliest(connection: SqlConnection) -> str | None:
        """Returns the next time of all enabled schedules."""
        next_at: str | None = connection.execute("SELECT MIN(next_at) FROM schedules WHERE enabled = 1").fetchone()[0]
        return next_at

    @query
    def due(connection: SqlConnection) -> list[ScheduledStart]:
        """Returns what is to be started, by schedule, oldest first."""
        rows = connection.execute(
            f"SELECT {_STARTS.columns} FROM schedule_starts WHERE status = 'due' ORDER BY schedule_id, due_at LIMIT 1000"
        )
        return [_STARTS.value(row) for row in rows]

    @query
    def starts(connection: SqlConnection, schedule_id: str, limit: int) -> list[ScheduledStart]:
        """Returns the newest starts with their outcome, newest first. A deleted chat is not named."""
        rows = connection.execute(
            f"{_STARTED} WHERE s.schedule_id = ? ORDER BY s.due_at DESC LIMIT ?", (schedule_id, limit)
        )
        return [_with_outcome(row) for row in rows]

    @query
    def start(connection: SqlConnection, schedule_id: str, key: str) -> ScheduledStart | None:
        row = connection.execute(f"{_STARTED} WHERE s.schedule_id = ? AND s.key = ?", (schedule_id, key)).fetchone()
        return None if row is None else _with_outcome(row)

    @query
    def goes_on(connection: SqlConnection, schedule_id: str) -> bool:
        """Tells whether something that the schedule started has not ended."""
        return connection.execute(_GOES_ON, (schedule_id,)).fetchone() is not None

    async def add(self, schedule: Schedule, *, secret: str | None = None) -> None:
        """Raises: Conflict if there are too many."""
        await self._writer.run(partial(_add, schedule=schedule, secret=secret))

    async def put(self, schedule: Schedule) -> None:
        """Replaces a schedule. What a disabled one has not started is dropped. Raises: NotFound."""
        await self._writer.run(partial(_put, schedule=schedule))

    async def set_secret(self, schedule_id: str, secret: str) -> None:
        statement = "UPDATE schedules SET secret = ? WHERE id = ?"
        await self._writer.run(lambda connection: connection.execute(statement, (secret, schedule_id)).rowcount)

    async def remove(self, schedule_id: str) -> None:
        """Raises: NotFound."""
        await self._writer.run(partial(_remove, schedule_id=schedule_id))

    async def plan(self, schedule: Schedule, next_at: str | None, starts: list[ScheduledStart]) -> None:
        """Records what has come due, and the next time, in one transaction; nothing if another server or a person was first."""
        await self._writer.run(partial(_plan, schedule=schedule, next_at=next_at, starts=starts))

    async def add_start(self, start: ScheduledStart, *, most_due: int, most_a_minute: int | None = None) -> bool:
        """Returns False if there was a start with this key. Raises: TooManyStarts; NotFound without its schedule."""
        return await self._writer.run(partial(_add_start, start=start, most_due=most_due, most_a_minute=most_a_minute))

    async def settle(self, start: ScheduledStart) -> None:
        """Records how a due start ended; nothing if it was started."""
        row = (start.status.value, start.error, start.settled_at, start.schedule_id, start.key)
        statement = "UPDATE schedule_starts SET status = ?, error = ?, settled_at = ? WHERE schedule_id = ? AND key = ? AND status = 'due'"
        await self._writer.run(lambda connection: connection.execute(statement, row).rowcount)

    async def pause(self, schedule_id: str, reason: str) -> None:
        statement = "UPDATE schedules SET enabled = 0, paused = ? WHERE id = ?"
        await self._writer.run(lambda connection: connection.execute(statement, (reason, schedule_id)).rowcount)


def claim(connection: SqlConnection, write: ClaimStart) -> None:
    """Raises: AlreadyStarted."""
    key = (write.schedule_id, write.key)
    if write.turn_id is None and write.job_id is None:
        statement = "UPDATE schedule_starts SET chat_id = ? WHERE schedule_id = ? AND key = ? AND status = 'due' AND chat_id IS NULL"
        claimed = connection.execute(statement, (write.chat_id, *key)).rowcount
    else:
        statement = (
            "UPDATE schedule_starts SET status = 'started', chat_id = ?, turn_id = ?, job_id = ?, settled_at = ?"
            " WHERE schedule_id = ? AND key = ? AND status = 'due'"
        )
        values = (write.chat_id, write.turn_id, write.job_id, write.settled_at, *key)
        claimed = connection.execute(statement, values).rowcount
    if claimed != 1:
        raise AlreadyStarted("This was started already, or is not to be started any more.")


def pause_of_person(connection: SqlConnection, person_id: str, reason: str) -> None:
    """Pauses the schedules that run in the name of this person."""
    connection.execute(
        "UPDATE schedules SET enabled = 0, paused = ? WHERE enabled = 1 AND (principal LIKE ? OR principal LIKE ?)",
        (reason, f"person:{person_id}:%", f"%:{person_id}:%"),
    )


def _with_outcome(row: Sequence[Any]) -> ScheduledStart:
    *_, outcome, chat_id = row
    return replace(_STARTS.value(row, outcome=outcome), chat_id=chat_id)


def _add(connection: SqlConnection, schedule: Schedule, secret: str | None) -> None:
    [count] = connection.execute("SELECT COUNT(*) FROM schedules").fetchone()
    if count >= MOST_SCHEDULES:
        raise Conflict(f"There are {MOST_SCHEDULES} schedules and triggers already. Delete some.")
    connection.execute(_SCHEDULES.insert("schedules", "secret"), _SCHEDULES.row(schedule, secret))


def _put(connection: SqlConnection, schedule: Schedule) -> None:
    if connection.execute(_PUT, (*_SCHEDULES.row(schedule), schedule.id)).rowcount != 1:
        raise NotFound("schedule", schedule.id)
    if not schedule.enabled:
        connection.execute(
            "UPDATE schedule_starts SET status = 'skipped', error = ?, settled_at = ? WHERE schedule_id = ? AND status = 'due'",
            ("It was disabled before this start.", schedule.changed_at, schedule.id),
        )


def _remove(connection: SqlConnection, schedule_id: str) -> None:
    if connection.execute("DELETE FROM schedules WHERE id = ?", (schedule_id,)).rowcount != 1:
        raise NotFound("schedule", schedule_id)
    connection.execute("DELETE FROM schedule_starts WHERE schedule_id = ?", (schedule_id,))


def _plan(connection: SqlConnection, schedule: Schedule, next_at: str | None, starts: list[ScheduledStart]) -> None:
    moved = connection.execute(
        "UPDATE schedules SET next_at = ? WHERE id = ? AND next_at = ? AND changed_at = ? AND enabled = 1",
        (next_at, schedule.id, schedule.next_at, schedule.changed_at),
    ).rowcount
    for start in starts if moved == 1 else ():
        _insert(connection, start)


def _add_start(connection: SqlConnection, start: ScheduledStart, most_due: int, most_a_minute: int | None) -> bool:
    if connection.execute("SELECT 1 FROM schedules WHERE id = ?", (start.schedule_id,)).fetchone() is None:
        raise NotFound("schedule", start.schedule_id)
    counting = "SELECT COUNT(*) FROM schedule_starts WHERE schedule_id = ? AND"
    [due_starts] = connection.execute(f"{counting} status = 'due'", (start.schedule_id,)).fetchone()
    if due_starts >= most_due:
        raise TooManyStarts(f"{due_starts} starts of this wait already. Try again when they are over.", retry_after=60)
    since = later(start.due_at, -_MINUTE)
    [recent] = connection.execute(f"{counting} due_at > ?", (start.schedule_id, since)).fetchone()
    if most_a_minute is not None and recent >= most_a_minute:
        raise TooManyStarts(f"This was started {recent} times within a minute. Try again later.", retry_after=60)
    return _insert(connection, start)


def _insert(connection: SqlConnection, start: ScheduledStart) -> bool:
    is_new = connection.execute(_ADD_START, _STARTS.row(start)).rowcount == 1
    before = later(start.due_at, -_KEPT_SECONDS)
    connection.execute(_PRUNE, (start.schedule_id, before, start.schedule_id, _KEPT_STARTS))
    return is_new
