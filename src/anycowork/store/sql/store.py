"""Reads stored data, on connections that write nothing. What grows with a chat or a change is read off the event loop."""

from collections.abc import Callable
from dataclasses import field

from anycowork.domain.times import seconds_between
from anycowork.domain.values import value
from anycowork.store.sql.approvals import ApprovalTable, PlanTable, QuestionTable
from anycowork.store.sql.audit import AuditChains, AuditHeads
from anycowork.store.sql.calls import CallTable
from anycowork.store.sql.chat_sequencer import ChatSequencer
from anycowork.store.sql.chats import ChatTable
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, query
from anycowork.store.sql.delta_buffer import DeltaBuffer
from anycowork.store.sql.held_rows import HeldRows
from anycowork.store.sql.jobs import JobTable, TaskTable
from anycowork.store.sql.message_history import MessageTable
from anycowork.store.sql.messages import QueuedMessageTable
from anycowork.store.sql.origins import StoredOrigins
from anycowork.store.sql.receipts import ReceiptTable
from anycowork.store.sql.records import RecordTable
from anycowork.store.sql.runs import WorkflowRunTable
from anycowork.store.sql.snapshots import SnapshotTable
from anycowork.store.sql.turns import RunningTurnCache, TurnTable
from anycowork.store.sql.usage import UsageTable
from anycowork.store.sql.visibility import VisibilityTable
from anycowork.store.sql.workspaces import FolderTable

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


class Store(Table):
    """The tables that a change writes. They return None for what does not exist. Belongs to the journal's event loop."""

    numbers = query(read_numbers)

    def __init__(
        self,
        reader: SqlReader,
        seqs: ChatSequencer,
        pieces: DeltaBuffer,
        running: RunningTurnCache,
        held_rows: HeldRows,
        heads: AuditHeads,
        changes: Callable[[], int | None],
    ) -> None:
        """`changes` as in `StoredOrigins`."""
        super().__init__(reader)
        self.records = RecordTable(reader, seqs, pieces)
        self.chats, self.messages = (
            ChatTable(reader, self.records, running, held_rows),
            MessageTable(reader, self.records, held_rows),
        )
        self.turns, self.queue = TurnTable(reader, running, held_rows), QueuedMessageTable(reader, running)
        self.calls, self.approvals = CallTable(reader, held_rows), ApprovalTable(reader)
        self.questions, self.plans = QuestionTable(reader), PlanTable(reader)
        self.runs, self.receipts = WorkflowRunTable(reader), ReceiptTable(reader)
        self.jobs, self.tasks = JobTable(reader, held_rows), TaskTable(reader, held_rows)
        self.folders, self.visibility = FolderTable(reader), VisibilityTable(reader)
        self.usage, self.snapshots = UsageTable(reader), SnapshotTable(reader)
        self.origins = StoredOrigins(reader, changes)
        self.audit, self.audit_heads = AuditChains(reader), heads
