"""Turns each write of a Change into its SQL statements."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from anycowork.domain.approvals import Approval, PlanRow, QuestionRow
from anycowork.domain.audit import START, ChainEnd, HeadEvent
from anycowork.domain.chats import ChatState, Turn, TurnState
from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.events import SIDEBAR
from anycowork.domain.evidence import Receipt
from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.journal import (
    AddChat,
    AddFileOrigins,
    ApprovePlan,
    Compact,
    CopyFileOrigins,
    DecideApproval,
    RemoveChat,
    RemoveQueued,
    RequireAccess,
    RequireLease,
    RequireNoDenial,
    RequireState,
    Reserve,
    SetChat,
    SettleQuestion,
    Spend,
    VouchForFile,
    Write,
)
from anycowork.domain.messages import Message, QueuedMessage
from anycowork.domain.rules import Rule
from anycowork.domain.schedules import ClaimStart
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tools import Call
from anycowork.domain.values import value
from anycowork.domain.workflows import Run
from anycowork.store.sql import (
    approvals,
    calls,
    chats,
    jobs,
    message_queue,
    messages,
    origins,
    people,
    questions_and_plans,
    receipts,
    records,
    rules,
    runs,
    schedules,
    snapshots,
    turns,
    usage,
    workspaces,
)
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.envelopes import RecordRow

REMEMBERED = 4096
_SECOND = len("2026-01-01T00:00:00")
_IN_THE_LIST = frozenset({AddChat, SetChat, RemoveChat})
ChainState = tuple[str, int]
"""The end of a chat's chain, and its next free number."""


@value
class SharedChats:
    """How chats are written where other servers write too."""

    lock: Callable[[SqlConnection, Sequence[str], int], tuple[Mapping[str, ChainState], Sequence[int]]]
    """Locks the rows of these chats until the transaction ends. Returns their states, and so many positions, which need not be known before
    it is durable. Raises: TakenOver."""
    wrote: Callable[[Mapping[str, ChainState]], None]
    """Takes over how the transaction leaves the chats that were locked last."""
    forget: Callable[[], None]
    """Forgets that, because it was rolled back."""
    announce: Callable[[Iterable[str], bool], None]
    """Has the others told, once it is durable, which chats were written to, and whether the list of chats may have changed."""


@value
class NumberedChanges:
    """Changes that are written together. They are numbered and their records encoded; `messages` gives the position of each message."""

    chat_id: str
    writes: tuple[Write, ...]
    entries: tuple[RecordRow, ...]
    messages: tuple[messages.Row, ...]
    first_seq: int
    next_seq: int
    recorded_at: str
    step: bool = False
    """True for steps of an agent's turn: these update `updated_at` once a second, all other changes at once."""


@value
class NumberedPieces:
    """Pieces of deltas that are written together, and the next free number of each of their chats."""

    entries: tuple[RecordRow, ...]
    next_seqs: Mapping[str, int]


class ChangeWriter:
    """Writes many changes at a time, each table once. Works on the writer's thread.

    It caches the end of each chat's chain, the last position of all records, and the running turns, so that it reads little and does not
    rewrite a turn that only continues. If the rows disagree with the cache, nothing is written; after a rollback the cache is cleared.
    """

    def __init__(
        self,
        note_head: Callable[[str, HeadEvent, ChainEnd | None], None],
        shared: SharedChats | None,
    ) -> None:
        """Calls `note_head` for each chat whose chain gets a new head or is removed, with its new end where it is known.

        `shared` with other servers, nothing is cached from one group to the next.
        """
        self._note_head = note_head
        self._shared = shared
        self._position: int | None = None
        self._chains: dict[str, str] = {}
        self._seconds: dict[str, str] = {}
        self._turns: dict[str, Turn] = {}

    def write(self, connection: SqlConnection, changes: Sequence[NumberedChanges]) -> list[Sequence[int]]:
        """Returns the positions of each change's records.

        Raises: the error of an unmet requirement; NotFound if the chat does not exist. Then the caller must roll back all of them.
        """
        if len(self._chains) > REMEMBERED:
            self.forget()
        chat_ids = list(dict.fromkeys(numbered.chat_id for numbered in changes))
        count = sum([len(numbered.entries) for numbered in changes])
        if self._shared is None:
            batch = _RowBatch(self._next_positions(connection, count))
        else:
            self._forget_rows()
            states, positions = self._shared.lock(connection, chat_ids, count)
            self._chains.update({chat_id: chain for chat_id, (chain, _) in states.items()})
            batch = _RowBatch(positions, locked=True)
        written = [self._write(connection, numbered, batch) for numbered in changes]
        ends = batch.ends
        batch.flush(connection)
        if self._shared is not None:
            self._shared.wrote(ends)
            listed = any(type(write) in _IN_THE_LIST for numbered in changes for write in numbered.writes)
            self._shared.announce(chat_ids, listed)
        return written

    def write_pieces(self, connection: SqlConnection, parts: Sequence[NumberedPieces]) -> list[None]:
        """Writes pieces of deltas, and the next free number of each chat. A chat may have been deleted after its text was shown."""
        entries = [entry for part in parts for entry in part.entries]
        next_seqs = {chat_id: next_seq for part in parts for chat_id, next_seq in part.next_seqs.items()}
        if self._shared is None:
            existing = {chat for chat, seq in next_seqs.items() if chats.advance_numbers(connection, chat, seq)}
            positions = self._next_positions(connection, len(entries))
        else:
            states, positions = self._shared.lock(connection, list(next_seqs), len(entries))
            existing = set(states)
            advanced = {chat: (chain, max(next_seqs[chat], before)) for chat, (chain, before) in states.items()}
            chats.advance_locked_numbers(connection, [(chat, seq) for chat, (_, seq) in advanced.items()])
            self._shared.wrote(advanced)
        rows = records.pieces(entries, positions=positions)
        records.insert_pieces(connection, [row for row in rows if row[1] in existing])
        if self._shared is not None:
            self._shared.announce(existing, False)
        return [None] * len(parts)

    def forget(self) -> None:
        """Clears the cache, because the last writes were rolled back."""
        self._forget_rows()
        self._seconds.clear()
        if self._shared is not None:
            self._shared.forget()

    def _forget_rows(self) -> None:
        self._position = None
        self._chains.clear()
        self._turns.clear()

    def _write(self, connection: SqlConnection, numbered: NumberedChanges, batch: "_RowBatch") -> Sequence[int]:
        chat_id, first, removed = numbered.chat_id, numbered.first_seq, False
        batch.messages += numbered.messages
        for ordinal, write in enumerate(numbered.writes):
            # Comparing types costs a tenth of a `match`. The writes of every step come first.
            if type(write) is Message:
                pass  # the record is its only copy
            elif type(write) is Call:
                batch.calls.append((write, first))
            elif type(write) is Spend or type(write) is Reserve:
                batch.usage.append((chat_id, write))
            elif type(write) is JobTask:
                batch.tasks.append((write, first))
            elif type(write) is Turn:
                self._put(batch, write, first)
            elif type(write) is SetChat and batch.takes(chat_id, write):
                pass
            elif type(write) is RequireState:
                chats.require_state(connection, chat_id, write, new_state=batch.states.get(chat_id))
            elif type(write) is RemoveChat:
                self._remove(connection, chat_id, write, batch)
                removed = True
            else:
                _apply(connection, numbered, write, ordinal)
        positions = batch.take_positions(len(numbered.entries))
        if not removed:
            before, updated_at = self._chain_of(connection, chat_id), self._updated_at(numbered)
            self._chains[chat_id] = batch.append(numbered, positions, before, updated_at)
            if before == START or not SIDEBAR.isdisjoint([entry.type for entry in numbered.entries]):
                self._note_head(chat_id, HeadEvent.ADVANCED, self._end_of(numbered))
        return positions

    def _remove(self, connection: SqlConnection, chat_id: str, write: RemoveChat, batch: "_RowBatch") -> None:
        if write.chain is not None and self._chain_of(connection, chat_id) != write.chain:
            raise Conflict("Something was written to this chat in this very moment. Look at it, then delete it again.")
        batch.flush(connection)  # the rows written so far are deleted with the chat
        chats.remove(connection, chat_id)
        self._chains.pop(chat_id, None)
        self._note_head(chat_id, HeadEvent.REMOVED, None)

    def _end_of(self, numbered: NumberedChanges) -> ChainEnd | None:
        return ChainEnd(self._chains[numbered.chat_id], numbered.entries[-1].seq) if numbered.entries else None

    def _put(self, batch: "_RowBatch", turn: Turn, seq: int) -> None:
        before = self._turns.get(turn.id)
        if before is not None and turns.goes_on(before, turn):
            return
        _, first = batch.turns.get(turn.id, (turn, seq))
        batch.turns[turn.id] = turn, first
        if turn.state is TurnState.RUNNING:
            self._turns[turn.id] = turn
        else:
            self._turns.pop(turn.id, None)

    def _updated_at(self, numbered: NumberedChanges) -> str | None:
        """Returns None while an agent works within the same second: updating the index would be a ninth of the cost of a step."""
        chat_id, second = numbered.chat_id, numbered.recorded_at[:_SECOND]
        if numbered.step and self._seconds.get(chat_id) == second:
            return None
        self._seconds[chat_id] = second
        return numbered.recorded_at

    def _next_positions(self, connection: SqlConnection, count: int) -> Sequence[int]:
        if self._position is None:
            [self._position] = connection.dialect.take_positions(connection, 1)
        positions = range(self._position, self._position + count)
        self._position = positions.stop
        return positions

    def _chain_of(self, connection: SqlConnection, chat_id: str) -> str:
        chain = self._chains.get(chat_id)
        if chain is None:
            chain = chats.chain(connection, chat_id)
        if chain is None:
            raise NotFound("chat", chat_id)
        return chain


class _RowBatch:
    """Collects the rows of a group of changes and writes them together at its end."""

    __slots__ = (
        "_ends",
        "_locked",
        "_positions",
        "_taken",
        "calls",
        "messages",
        "records",
        "states",
        "tasks",
        "turns",
        "usage",
    )

    def __init__(self, positions: Sequence[int], *, locked: bool = False) -> None:
        """`locked`: the transaction holds the rows of its chats, so that nobody else has changed them."""
        self._positions = positions
        self._taken = 0
        self._locked = locked
        self._clear()

    @property
    def ends(self) -> dict[str, ChainState]:
        """How the chats are left by what was appended."""
        return {chat_id: (end.chain, end.next_seq) for chat_id, end in self._ends.items()}

    def take_positions(self, count: int) -> Sequence[int]:
        self._taken += count
        return self._positions[self._taken - count : self._taken]

    def _clear(self) -> None:
        self.turns: dict[str, turns.Put] = {}
        self.records: list[records.Row] = []
        self.messages: list[messages.Row] = []
        self.calls: list[calls.Put] = []
        self.usage: list[usage.Put] = []
        self.tasks: list[jobs.TaskPut] = []
        self.states: dict[str, ChatState] = {}
        self._ends: dict[str, chats.ChatEnd] = {}

    def takes(self, chat_id: str, write: SetChat) -> bool:
        """Tells whether the write only gives a locked chat another state. It is then written with the end of its chain."""
        if not self._locked or write.state is None:
            return False
        if write != SetChat(state=write.state):
            self.states.pop(chat_id, None)
            return False
        self.states[chat_id] = write.state
        return True

    def append(self, numbered: NumberedChanges, positions: Sequence[int], chain: str, updated_at: str | None) -> str:
        """Adds the records and returns the new end of the chain."""
        chat_id = numbered.chat_id
        rows, end = records.chained(numbered.entries, positions=positions, chain=chain)
        self.records += rows
        earlier = self._ends.get(chat_id)
        if earlier is not None:
            chain, updated_at = earlier.before, updated_at or earlier.updated_at
        self._ends[chat_id] = chats.ChatEnd(numbered.next_seq, end, updated_at, chat_id, chain)
        return end

    def flush(self, connection: SqlConnection) -> None:
        if self.turns:
            turns.put(connection, self.turns.values())
        if self.messages:
            messages.insert(connection, self.messages)
        if self.calls:
            calls.put(connection, self.calls)
        if self.usage:
            usage.put(connection, self.usage)
        if self.tasks:
            jobs.put_tasks(connection, self.tasks)
        records.insert(connection, self.records)
        if self._locked:
            chats.advance_locked(connection, self._ends.values(), self.states)
        else:
            chats.advance(connection, self._ends.values())
        self._clear()


def _apply(connection: SqlConnection, numbered: NumberedChanges, write: Write, ordinal: int) -> None:  # noqa: C901 — one line per kind
    chat_id, seq = numbered.chat_id, numbered.first_seq
    match write:
        case Compact():
            records.compact(connection, chat_id, write.message_id)
        case RequireAccess():
            people.require_access(connection, write)
        case RequireLease():
            workspaces.require_lease(connection, write)
        case RequireNoDenial():
            approvals.require_no_denial(connection, write)
        case Snapshot():
            snapshots.add(connection, write)
        case AddFileOrigins():
            origins.add(connection, write)
        case VouchForFile():
            origins.vouch(connection, write.workspace, write.path)
        case CopyFileOrigins():
            origins.copy(connection, write.source, write.target)
        case AddChat():
            chats.add(connection, write)
        case SetChat():
            chats.set_fields(connection, chat_id, write)
        case Approval():
            approvals.add(connection, write, seq=seq, ordinal=ordinal)
        case DecideApproval():
            approvals.decide(connection, chat_id, write)
        case Rule():
            rules.add(connection, write)
        case QuestionRow():
            questions_and_plans.add_question(connection, write)
        case SettleQuestion():
            questions_and_plans.settle_question(connection, chat_id, write)
        case PlanRow():
            questions_and_plans.add_plan(connection, write)
        case ApprovePlan():
            questions_and_plans.approve_plan(connection, chat_id, write)
        case Receipt():
            receipts.put(connection, write, chat_id=chat_id)
        case Run():
            runs.put(connection, write)
        case Job():
            jobs.put_job(connection, write)
        case QueuedMessage():
            message_queue.put(connection, write)
        case RemoveQueued():
            message_queue.remove(connection, chat_id, write.queued_id)
        case ClaimStart():
            schedules.claim(connection, write)
        case Message() | Call() | Spend() | Reserve() | Turn() | JobTask() | RemoveChat() | RequireState():
            raise AssertionError("handled by ChangeWriter._write")
        case _:
            assert_never(write)
