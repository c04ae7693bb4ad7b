"""Reads stored data, on connections that write nothing. What grows with a chat or a change is read off the event loop."""

from anycowork.store.sql.approvals import ApprovalTable
from anycowork.store.sql.audit import AuditChains
from anycowork.store.sql.audit_heads import AuditHeads
from anycowork.store.sql.calls import CallTable
from anycowork.store.sql.chat_sequencer import ChatSequencer
from anycowork.store.sql.chats import ChatTable
from anycowork.store.sql.connection import SqlReader, Table, query
from anycowork.store.sql.delta_buffer import DeltaBuffer
from anycowork.store.sql.jobs import JobTable, TaskTable
from anycowork.store.sql.message_history import MessageTable
from anycowork.store.sql.message_queue import QueuedMessageTable
from anycowork.store.sql.origins import StoredOrigins
from anycowork.store.sql.questions_and_plans import PlanTable, QuestionTable
from anycowork.store.sql.receipts import ReceiptTable
from anycowork.store.sql.records import RecordTable
from anycowork.store.sql.runs import WorkflowRunTable
from anycowork.store.sql.snapshots import SnapshotTable
from anycowork.store.sql.store_numbers import read_numbers
from anycowork.store.sql.turns import RunningTurnCache, TurnTable
from anycowork.store.sql.usage import UsageTable


class Store(Table):
    """The tables that a change writes. They return None for what does not exist. Belongs to the journal's event loop."""

    numbers = query(read_numbers)

    def __init__(
        self, reader: SqlReader, seqs: ChatSequencer, pieces: DeltaBuffer, running: RunningTurnCache, heads: AuditHeads
    ) -> None:
        super().__init__(reader)
        self.records = RecordTable(reader, seqs, pieces)
        self.chats, self.messages = ChatTable(reader, self.records, running), MessageTable(reader, self.records)
        self.turns, self.queue = TurnTable(reader, running), QueuedMessageTable(reader, running)
        self.calls, self.approvals = CallTable(reader), ApprovalTable(reader)
        self.questions, self.plans = QuestionTable(reader), PlanTable(reader)
        self.runs, self.receipts = WorkflowRunTable(reader), ReceiptTable(reader)
        self.jobs, self.tasks = JobTable(reader), TaskTable(reader)
        self.usage, self.snapshots, self.origins = UsageTable(reader), SnapshotTable(reader), StoredOrigins(reader)
        self.audit, self.audit_heads = AuditChains(reader), heads
