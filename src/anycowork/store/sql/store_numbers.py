"""Counts for the metrics, read at each scrape: over small indexes, never over all turns, calls or events."""

from anycowork.domain.store_ports import StoreNumbers
from anycowork.store.sql import records
from anycowork.store.sql.connection import SqlConnection

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


def read_numbers(connection: SqlConnection) -> StoreNumbers:
    [chats] = connection.execute("SELECT COUNT(*) FROM chats").fetchone()
    pending, oldest = connection.execute(_APPROVALS).fetchone()
    return StoreNumbers(
        chats=chats,
        events=records.last_position(connection),
        turns=_by_status(connection, _TURNS),
        jobs=_by_status(connection, _JOBS),
        tasks=_by_status(connection, _TASKS),
        approvals_pending=pending,
        oldest_approval=oldest,
    )


def _by_status(connection: SqlConnection, sql: str) -> dict[str, int]:
    return {str(row[0]): int(row[1]) for row in connection.execute(sql)}
