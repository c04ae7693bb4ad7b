"""Each thing that a Change may hold, as its statements."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from anycowork.domain.approvals import Approval, PlanRow, QuestionRow
from anycowork.domain.audit import START, HeadEvent
from anycowork.domain.chats import Turn, TurnState
from anycowork.domain.errors import NotFound
from anycowork.domain.events import SIDEBAR
from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.journal import (
    AddChat,
    ApprovePlan,
    Compact,
    DecideApproval,
    RemoveChat,
    RequireLease,
    RequireNoDenial,
    RequireState,
    Reserve,
    SetChat,
    SettleQuestion,
    Spend,
    Write,
)
from anycowork.domain.messages import Message
from anycowork.domain.rules import Rule
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tools import Call
from anycowork.domain.values import value
from anycowork.domain.workflows import Run
from anycowork.store.sqlite import (
    approvals,
    calls,
    chats,
    jobs,
    messages,
    questions_and_plans,
    records,
    rules,
    runs,
    snapshots,
    turns,
    usage,
    workspaces,
)
from anycowork.store.sqlite.records import RecordRow

Connection = sqlite3.Connection
REMEMBERED = 4096
_SECOND = len("2026-01-01T00:00:00")


@value
class Numbered:
    """Changes that are written together, with their numbers given out and their records encoded; `messages` says where each stands."""

    chat_id: str
    writes: tuple[Write, ...]
    entries: tuple[RecordRow, ...]
    messages: tuple[messages.Row, ...]
    first_seq: int
    next_seq: int
    at: str
    step: bool = False
    """They are a piece of an agent's work: `updated_at` follows such changes by the second, all others at once."""


class ChangeWriter:
    """Writes changes, many at a time and each table of theirs once. Works on the writer's thread.

    It remembers where each chat's chain and all records end, and which turns run, so that little is read and one that only goes
    on is not written again. The rows must agree with that, or nothing is written; and what is rolled back is forgotten.
    """

    def __init__(self, note_head: Callable[[str, HeadEvent], None] = lambda chat_id, event: None) -> None:
        """`note_head` is told which chats' chains go on in a way that a second place shall remember, and which are removed."""
        self._note_head = note_head
        self._position: int | None = None
        self._chains: dict[str, str] = {}
        self._seconds: dict[str, str] = {}
        self._turns: dict[str, Turn] = {}

    def write(self, connection: Connection, changes: Sequence[Numbered]) -> list[int]:
        """The position of each change's first record.

        Raises: the error of an unmet requirement; NotFound if there is no such chat. Then nothing of them may be kept.
        """
        if len(self._chains) > REMEMBERED:
            self.forget()
        sheet = _RowBatch(self._next_position(connection))
        positions = [self._write(connection, numbered, sheet) for numbered in changes]
        sheet.lay_down(connection)
        self._position = sheet.position
        return positions

    def write_pieces(self, connection: Connection, entries: Sequence[RecordRow], next_seqs: Mapping[str, int]) -> None:
        """Pieces of deltas, and how far the numbers of their chats have been given out."""
        # A chat may have been removed since its text was shown.
        there = {chat for chat, next_seq in next_seqs.items() if chats.advance_numbers(connection, chat, next_seq)}
        kept = [entry for entry in entries if entry.chat_id in there]
        position = self._next_position(connection)
        records.insert_pieces(connection, records.pieces(kept, position=position))
        self._position = position + len(kept)

    def forget(self) -> None:
        """What was written last was rolled back."""
        self._position = None
        self._chains.clear()
        self._seconds.clear()
        self._turns.clear()

    def _write(self, connection: Connection, numbered: Numbered, sheet: "_RowBatch") -> int:
        chat_id, first, removed = numbered.chat_id, numbered.first_seq, False
        sheet.messages += numbered.messages
        for ordinal, write in enumerate(numbered.writes):
            match write:  # what every step brings comes first
                case Message():
                    pass  # the record is its only copy
                case Call():
                    sheet.calls.append((write, first))
                case Spend() | Reserve():
                    sheet.usage.append((chat_id, write))
                case Turn():
                    self._put(connection, write, first)
                case RemoveChat():
                    sheet.lay_down(connection)  # what came before goes with it
                    chats.remove(connection, chat_id)
                    self._chains.pop(chat_id, None)
                    removed = True
                    self._note_head(chat_id, HeadEvent.REMOVED)
                case _:
                    _apply(connection, numbered, write, ordinal)
        position = sheet.position
        if not removed:
            before, at = self._chain_of(connection, chat_id), self._updated_at(numbered)
            self._chains[chat_id] = sheet.append(numbered, before, at)
            if before == START or any(entry.type in SIDEBAR for entry in numbered.entries):
                self._note_head(chat_id, HeadEvent.ADVANCED)
        return position

    def _put(self, connection: Connection, turn: Turn, seq: int) -> None:
        before = self._turns.get(turn.id)
        if before is not None and turns.goes_on(before, turn):
            return
        turns.put(connection, turn, seq=seq)
        if turn.state is TurnState.RUNNING:
            self._turns[turn.id] = turn
        else:
            self._turns.pop(turn.id, None)

    def _updated_at(self, numbered: Numbered) -> str | None:
        """None while an agent works on within the second: the index of `updated_at` would be a ninth of what a step writes."""
        chat_id, second = numbered.chat_id, numbered.at[:_SECOND]
        if numbered.step and self._seconds.get(chat_id) == second:
            return None
        self._seconds[chat_id] = second
        return numbered.at

    def _next_position(self, connection: Connection) -> int:
        return records.next_position(connection) if self._position is None else self._position

    def _chain_of(self, connection: Connection, chat_id: str) -> str:
        chain = self._chains.get(chat_id)
        if chain is None:
            chain = chats.chain(connection, chat_id)
        if chain is None:
            raise NotFound("chat", chat_id)
        return chain


class _RowBatch:
    """The rows of a group of changes that are written together at its end."""

    __slots__ = ("_ends", "calls", "messages", "position", "records", "usage")

    def __init__(self, position: int) -> None:
        self.position = position
        self._clear()

    def _clear(self) -> None:
        self.records: list[records.Row] = []
        self.messages: list[messages.Row] = []
        self.calls: list[calls.Put] = []
        self.usage: list[usage.Put] = []
        self._ends: dict[str, chats.End] = {}

    def append(self, numbered: Numbered, chain: str, at: str | None) -> str:
        """The chain's new end."""
        chat_id = numbered.chat_id
        rows, end = records.chained(numbered.entries, position=self.position, chain=chain)
        self.records += rows
        self.position += len(rows)
        earlier = self._ends.get(chat_id)
        if earlier is not None:
            chain, at = earlier.before, at or earlier.at
        self._ends[chat_id] = chats.End(numbered.next_seq, end, at, chat_id, chain)
        return end

    def lay_down(self, connection: Connection) -> None:
        if self.messages:
            messages.insert(connection, self.messages)
        if self.calls:
            calls.put(connection, self.calls)
        if self.usage:
            usage.put(connection, self.usage)
        records.insert(connection, self.records)
        chats.advance(connection, self._ends.values())
        self._clear()


def _apply(connection: Connection, numbered: Numbered, write: Write, ordinal: int) -> None:  # noqa: C901 — one line per kind
    chat_id, seq = numbered.chat_id, numbered.first_seq
    match write:
        case Compact():
            records.compact(connection, chat_id, write.message_id)
        case RequireLease():
            workspaces.require_lease(connection, write)
        case RequireNoDenial():
            approvals.require_no_denial(connection, write)
        case Snapshot():
            snapshots.add(connection, write)
        case RequireState():
            chats.require_state(connection, chat_id, write)
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
        case Run():
            runs.put(connection, write)
        case Job():
            jobs.put_job(connection, write)
        case JobTask():
            jobs.put_task(connection, write)
        case Message() | Call() | Spend() | Reserve() | Turn() | RemoveChat():
            raise AssertionError("these are the scribe's own")
        case _:
            assert_never(write)
