"""Turns each write of a Change into its SQL statements."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from anycowork.domain.approvals import Approval, PlanRow, QuestionRow
from anycowork.domain.audit import START, ChainEnd, HeadEvent
from anycowork.domain.chats import Turn, TurnState
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
    RequireRoom,
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
    chats,
    jobs,
    messages,
    origins,
    people,
    receipts,
    records,
    rules,
    runs,
    schedules,
    snapshots,
    turns,
    workspaces,
)
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.envelopes import RecordRow
from anycowork.store.sql.limits import SpendingLimits
from anycowork.store.sql.row_batch import ChainState, NumberedChanges, RowBatch

REMEMBERED = 4096
_SECOND = len("2026-01-01T00:00:00")
_IN_THE_LIST = frozenset({AddChat, SetChat, RemoveChat})


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
        limits: SpendingLimits,
    ) -> None:
        """Calls `note_head` for each chat whose chain gets a new head or is removed, with its new end where it is known.

        `shared` with other servers, nothing is cached from one group to the next.
        """
        self._note_head = note_head
        self._shared = shared
        self._limits = limits
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
            batch = RowBatch(self._next_positions(connection, count))
        else:
            self._forget_rows()
            states, positions = self._shared.lock(connection, chat_ids, count)
            self._chains.update({chat_id: chain for chat_id, (chain, _) in states.items()})
            batch = RowBatch(positions, locked=True)
        written = [self._write(connection, numbered, batch) for numbered in changes]
        ends = batch.ends
        batch.flush(connection)
        if batch.reserved:
            self._limits.require_reserved(connection, batch.reserved)
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

    def _write(self, connection: SqlConnection, numbered: NumberedChanges, batch: RowBatch) -> Sequence[int]:
        chat_id, first, removed = numbered.chat_id, numbered.first_seq, False
        batch.messages += numbered.messages
        for ordinal, write in enumerate(numbered.writes):
            # Comparing types costs a tenth of a `match`. The writes of every step come first.
            if type(write) is Message:
                pass  # the record is its only copy
            elif type(write) is Call:
                batch.calls.append((write, first))
            elif type(write) is Spend or type(write) is Reserve:
                batch.add_usage(chat_id, write)
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
                self._limits.require_allowed(connection, write)
                _apply(connection, numbered, write, ordinal)
        positions = batch.take_positions(len(numbered.entries))
        if not removed:
            before, updated_at = self._chain_of(connection, chat_id), self._updated_at(numbered)
            self._chains[chat_id] = batch.append(numbered, positions, before, updated_at)
            if before == START or not SIDEBAR.isdisjoint([entry.type for entry in numbered.entries]):
                self._note_head(chat_id, HeadEvent.ADVANCED, self._end_of(numbered))
        return positions

    def _remove(self, connection: SqlConnection, chat_id: str, write: RemoveChat, batch: RowBatch) -> None:
        if write.chain is not None and self._chain_of(connection, chat_id) != write.chain:
            raise Conflict("Something was written to this chat in this very moment. Look at it, then delete it again.")
        batch.flush(connection)  # the rows written so far are deleted with the chat
        chats.remove(connection, chat_id)
        self._chains.pop(chat_id, None)
        self._note_head(chat_id, HeadEvent.REMOVED, None)

    def _end_of(self, numbered: NumberedChanges) -> ChainEnd | None:
        return ChainEnd(self._chains[numbered.chat_id], numbered.entries[-1].seq) if numbered.entries else None

    def _put(self, batch: RowBatch, turn: Turn, seq: int) -> None:
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


def _apply(connection: SqlConnection, numbered: NumberedChanges, write: Write, ordinal: int) -> None:  # noqa: C901 — one line per kind
    chat_id, seq = numbered.chat_id, numbered.first_seq
    match write:
        case Compact():
            records.compact(connection, chat_id, write.message_id)
        case RequireAccess():
            people.require_access(connection, write, chat_id)
        case RequireRoom():
            pass  # the limits were asked
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
            approvals.add_question(connection, write)
        case SettleQuestion():
            approvals.settle_question(connection, chat_id, write)
        case PlanRow():
            approvals.add_plan(connection, write)
        case ApprovePlan():
            approvals.approve_plan(connection, chat_id, write)
        case Receipt():
            receipts.put(connection, write, chat_id=chat_id)
        case Run():
            runs.put(connection, write)
        case Job():
            jobs.put_job(connection, write)
        case QueuedMessage():
            messages.put_queued(connection, write)
        case RemoveQueued():
            messages.remove_queued(connection, chat_id, write.queued_id)
        case ClaimStart():
            schedules.claim(connection, write)
        case Message() | Call() | Spend() | Reserve() | Turn() | JobTask() | RemoveChat() | RequireState():
            raise AssertionError("handled by ChangeWriter._write")
        case _:
            assert_never(write)
