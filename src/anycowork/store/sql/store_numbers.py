"""Counts for the metrics, read at each scrape: over small indexes, never over all turns, calls or events."""

from dataclasses import field

from anycowork.domain.times import seconds_between
from anycowork.domain.values import value
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.records import RecordTable

_TURNS = "SELECT state, COUNT(*) FROM turns WHERE state IN ('running', 'parked', 'due') GROUP BY state"
_APPROVALS = (
    "SELECT COUNT(*), MIN(approvals.created_at) FROM turns JOIN approvals ON approvals.chat_id = turns.chat_id"
    " AND approvals.turn_id = turns.id AND approvals.state = 'pending' WHERE turns.state = 'parked'"
)
_GOING_ON = "status IN ('planning', 'running', 'paused')"  # as the index `jobs_unfinished` has it
_JOBS = f"SELECT status, COUNT(*) FROM jobs WHERE {_GOING_ON} GROUP BY status"
_TASKS = (
    "SELECT tasks.status, COUNT(*) FROM jobs JOIN tasks ON tasks.job_id = jobs.id"
    f" WHERE jobs.{_GOING_ON} GROUP BY tasks.status"
)
_WAITING = (
    "SELECT COUNT(*) FROM jobs JOIN tasks ON tasks.job_id = jobs.id"
    f" WHERE jobs.{_GOING_ON} AND tasks.status = 'pending' AND tasks.waiting_for IS NOT NULL"
)


@value
class StoreNumbers:
    """Counts for operators. `turns`, `jobs` and `tasks` are by state, without those that are over. `tasks_waiting` for a worker."""

    chats: int
    events: int
    turns: dict[str, int] = field(hash=False)
    jobs: dict[str, int] = field(hash=False)
    tasks: dict[str, int] = field(hash=False)
    tasks_waiting: int = 0
    approvals_pending: int = 0
    oldest_approval_seconds: float = 0.0


def read_numbers(connection: SqlConnection, now: str) -> StoreNumbers:
    [chats] = connection.execute("SELECT COUNT(*) FROM chats").fetchone()
    pending, oldest = connection.execute(_APPROVALS).fetchone()
    return StoreNumbers(
        chats=chats,
        events=RecordTable.last_position(connection),
        turns=_by_status(connection, _TURNS),
        jobs=_by_status(connection, _JOBS),
        tasks=_by_status(connection, _TASKS),
        tasks_waiting=connection.execute(_WAITING).fetchone()[0],
        approvals_pending=pending,
        oldest_approval_seconds=seconds_between(oldest, now) if oldest else 0.0,
    )


def _by_status(connection: SqlConnection, sql: str) -> dict[str, int]:
    return {str(row[0]): int(row[1]) for row in connection.execute(sql)}
