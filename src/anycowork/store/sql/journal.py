"""The journal: numbers a change, makes it durable, then shows its events. Deltas are shown first and made durable in pieces."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from anycowork.domain.chats import Turn
from anycowork.domain.errors import StorageFault
from anycowork.domain.events import EventType, NewEvent, Record
from anycowork.domain.journal import (
    AddChat,
    Change,
    Compact,
    RemoveChat,
    RequireLease,
    RequireNoDenial,
    Reserve,
    SetChat,
    Spend,
    Write,
)
from anycowork.domain.messages import Json, Message, QueuedMessage, Speaker
from anycowork.domain.ports import Clock
from anycowork.domain.rules import Rule
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tools import Call
from anycowork.store.sql import chats, messages, records, turns
from anycowork.store.sql.change_writer import ChangeWriter, NumberedPieces
from anycowork.store.sql.chat_sequencer import ChatSequence, ChatSequencer
from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.delta_buffer import DeltaBuffer, DeltaPiece, DroppedDeltas, StreamDelta
from anycowork.store.sql.envelopes import RecordRow, encoded, encoded_message
from anycowork.store.sql.held_rows import HeldRows
from anycowork.store.sql.row_batch import NumberedChanges
from anycowork.store.sql.turns import JobTurns, RunningTurnCache
from anycowork.store.sql.unstored_events import PrintedOutputs, TurnWaits
from anycowork.store.sql.writer import UncancellableFuture, WriteDone, WriteFailed, Writer

FLUSH_SECONDS = 0.1
RETRY_SECONDS = 1.0
# More deltas than can have been shown but not made durable just before a crash.
SKIPPED_NUMBERS = 100_000

# Aliases for the parameter types of nested functions: written there, they would be built again at every write.
Placed = WriteDone[Sequence[int]] | WriteFailed
Kept = WriteDone[None] | WriteFailed

log = logging.getLogger(__name__)
_OF_A_STEP = frozenset({Message, Turn, Call, Reserve, Spend, Compact, RequireLease, RequireNoDenial, Snapshot})
_REMEMBERED = frozenset({Turn, AddChat, SetChat, QueuedMessage, Rule, RemoveChat})
_DROPPING = frozenset({Compact, RemoveChat})
_MESSAGE = EventType.MESSAGE  # Python 3.11 takes long to look up a member of an enum


class Journal:
    """Writes changes and publishes their events. Belongs to one event loop, on which it calls `publish`, per chat in ascending order,
    and `chats_changed` when a chat was added, removed, or got another title or configuration."""

    def __init__(
        self,
        reader: SqlReader,
        writer: Writer,
        change_writer: ChangeWriter,
        sequencer: ChatSequencer,
        pieces: DeltaBuffer,
        running: RunningTurnCache,
        held_rows: HeldRows,
        clock: Clock,
        publish: Callable[[Record], None],
        rules_changed: Callable[[], None],
        chats_changed: Callable[[], None],
        job_turns: JobTurns | None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._change_writer = change_writer
        self._sequencer = sequencer
        self._pieces = pieces
        self._running = running
        self._held_rows = held_rows
        self._clock = clock
        self._publish = publish
        self._rules_changed = rules_changed
        self._chats_changed = chats_changed
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._job_turns = job_turns or JobTurns()
        self._printed = PrintedOutputs()
        self._turn_waits = TurnWaits()
        self.committed: Callable[[Sequence[Write], str], None] = lambda writes, recorded_at: None
        """Called with what became durable, and when. It must not raise."""

    async def write(self, *changes: Change) -> None:
        """Writes the changes, all of one chat, in one transaction; returns when they are durable. Then their events are published in order.

        Raises: the error of an unmet requirement in a change; StorageFault if they could not be made durable.
        """
        chat_id = changes[0].chat_id
        if not self._sequencer.knows(chat_id):
            self._sequencer.start_at(chat_id, await self._reader.read(records.next_seq, chat_id))
        await self.submit_change(*changes)

    def submit_change(self, *changes: Change) -> UncancellableFuture[None]:
        """Starts to `write` without waiting. The caller must await the result at some time, because it raises the errors."""
        sequence = self._sequencer.of(changes[0].chat_id)
        numbered = self._number(changes, sequence)
        slot = sequence.hold(numbered.first_seq)
        drops = self._drop_pieces(numbered)
        self._printed.drop_written(numbered.chat_id, numbered.writes)
        self._turn_waits.drop_written(numbered.chat_id, numbered.writes)
        future: UncancellableFuture[None] = UncancellableFuture()

        def settle(outcome: Placed) -> None:
            if isinstance(outcome, WriteDone):
                future.set_result(None)  # waiting tasks continue in the loop's next round, when everything is shown
                self._update_memory(numbered, drops)
                self.committed(numbered.writes, numbered.recorded_at)
                sequence.settle(slot, partial(self._show_all, numbered.entries, outcome.value))
                return
            future.settle(outcome)
            self._held_rows.forget(numbered.chat_id)
            self._restore_drops(drops)
            sequence.settle(slot, _show_nothing)

        self._writer.submit_part(self._change_writer.write, numbered, settle, step=numbered.step)
        return future

    def publish_delta(
        self, chat_id: str, turn_id: str, message_id: str, kind: EventType, offset: int, text: str
    ) -> None:
        """Publishes a delta at once; it becomes durable in batches (every 100 ms or 1 KB)."""
        sequence = self._sequencer.of(chat_id)
        delta = StreamDelta(
            chat_id,
            turn_id,
            message_id,
            kind,
            offset,
            text,
            sequence.take(1),
            self._clock.new_id(),
            self._clock.now(),
            *self._job_turns.names_of(turn_id),
        )
        sequence.show(delta.seq, partial(self._show_delta, delta, delta.record()))

    def show(self, chat_id: str, turn_id: str | None, call_id: str, message_id: str, offset: int, text: str) -> None:
        """Publishes a delta of a call's output, or of a person's own command, which has no turn; it is not stored.

        The message that follows contains the whole output, unless the call is stopped. Readers that join before it get what was
        published so far.
        """
        self._printed.add(chat_id, turn_id, call_id, message_id, offset, text)
        self._show_output(chat_id, turn_id, call_id, message_id, offset, text, self._publish)

    def printed_by(self, chat_id: str, call_id: str) -> str:
        """Returns the published output of a call that still runs; empty where there is none, and after a restart."""
        return "".join(output.text for output in self._printed.of(chat_id) if output.call_id == call_id)

    def drop_output(self, chat_id: str, message_id: str) -> None:
        """Forgets published output whose message will not follow."""
        self._printed.drop(chat_id, message_id)

    def show_unstored(self, chat_id: str, deliver: Callable[[Record], None]) -> None:
        """Delivers to a reader that joins what running calls and commands have printed so far, each as one delta from the start,
        and the waits for a model's server or for MCP servers."""
        for output in self._printed.of(chat_id):
            text = output.text
            self._show_output(chat_id, output.turn_id, output.call_id, output.message_id, 0, text, deliver)
        for event in self._turn_waits.of(chat_id, self._clock.now()):
            self._show_event(chat_id, event, deliver)

    def _show_output(
        self,
        chat_id: str,
        turn_id: str | None,
        call_id: str,
        message_id: str,
        offset: int,
        text: str,
        deliver: Callable[[Record], None],
    ) -> None:
        sequence = self._sequencer.of(chat_id)
        seq = sequence.take(1)
        body: Json = {"message_id": message_id, "offset": offset, "text": text}
        job_id, task_id = self._job_turns.names_of(turn_id) if turn_id else (None, None)
        draft = NewEvent(EventType.TEXT_DELTA, body, turn_id, job_id, task_id, call_id=call_id)
        now, record_id = self._clock.now(), self._clock.new_id()
        body_bytes = encoded(draft, seq=seq, record_id=record_id, chat_id=chat_id, recorded_at=now)
        sequence.show(
            seq, partial(deliver, RecordRow(chat_id, seq, EventType.TEXT_DELTA, body_bytes, message_id).at(0))
        )

    def show_event(self, chat_id: str, event: NewEvent) -> None:
        """Publishes an event that is not stored."""
        event = self._job_turns.with_names(event)
        self._turn_waits.add(chat_id, event)
        self._show_event(chat_id, event, self._publish)

    def _show_event(self, chat_id: str, event: NewEvent, deliver: Callable[[Record], None]) -> None:
        sequence = self._sequencer.of(chat_id)
        seq = sequence.take(1)
        body = encoded(event, seq=seq, record_id=self._clock.new_id(), chat_id=chat_id, recorded_at=self._clock.now())
        sequence.show(seq, partial(deliver, RecordRow(chat_id, seq, event.type, body).at(0)))

    async def refresh(self, chat_id: str) -> None:
        """Reads again what this server remembers of a chat that it takes over: another one may have written to it."""
        await self._writer.run(partial(chats.skip_numbers_of, chat_id=chat_id, count=SKIPPED_NUMBERS), exclusive=False)
        next_seq = await self._reader.read(records.next_seq, chat_id)
        open_turns = await self._reader.read(turns.task_states, chat_id)
        self.forget(chat_id)
        self._sequencer.start_at(chat_id, next_seq)
        self._job_turns.remember(open_turns)

    def forget(self, chat_id: str | None = None) -> None:
        """Forgets what this server remembers of a chat, or of all: another one has written to it."""
        self._held_rows.forget(chat_id)
        for forgotten_id in self._sequencer.idle() if chat_id is None else (chat_id,):
            self._sequencer.forget(forgotten_id)
            self._running.forget(forgotten_id)
            self._job_turns.forget(forgotten_id)

    async def flush(self) -> None:
        """Returns when all text that was shown is durable. Raises: StorageFault."""
        if self._pieces:
            await self._flush()

    async def aclose(self) -> None:
        """Returns when everything written or shown is durable. Raises: StorageFault if some of it is not."""
        try:
            await self._writer.run(_nothing, exclusive=False)  # by then, text that waited for an earlier write is shown
            await self._flush()
        finally:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()

    # --- numbering

    def _number(self, changes: Sequence[Change], sequence: ChatSequence) -> NumberedChanges:
        chat_id, now, first, new_id = changes[0].chat_id, self._clock.now(), sequence.next_seq, self._clock.new_id
        seq = first
        entries: list[RecordRow] = []
        message_rows: list[messages.Row] = []
        changed: list[Change] = []
        step = True
        for change in changes:
            principal, cause = change.principal, change.cause
            step = step and _OF_A_STEP.issuperset(map(type, change.writes))
            change = self._job_turns.bound(change)
            changed.append(change)
            for write in change.writes:
                if type(write) is Message:
                    step = step and write.role is not Speaker.USER
                    message_rows.append((write.id, chat_id, seq))
                    body = encoded_message(
                        write, seq=seq, record_id=new_id(), recorded_at=now, principal=principal, cause=cause
                    )
                    entries.append(RecordRow(chat_id, seq, _MESSAGE, body))
                    seq += 1
            for draft in change.events:
                body = encoded(
                    draft,
                    seq=seq,
                    record_id=new_id(),
                    chat_id=chat_id,
                    recorded_at=now,
                    principal=principal,
                    cause=cause,
                )
                entries.append(RecordRow(chat_id, seq, draft.type, body))
                seq += 1
        sequence.take(max(len(entries), 1))  # rows are ordered by the number of their change, so each change needs one
        writes = (
            changed[0].writes
            if len(changed) == 1
            else tuple([write for bound_change in changed for write in bound_change.writes])
        )
        return NumberedChanges(
            chat_id, writes, tuple(entries), tuple(message_rows), first, sequence.next_seq, now, step
        )

    # --- showing

    def _show_all(self, entries: tuple[RecordRow, ...], positions: Sequence[int]) -> None:
        for record_position, entry in zip(positions, entries, strict=True):
            self._publish(entry.at(record_position))

    def _show_delta(self, delta: StreamDelta, record: Record) -> None:
        self._publish(record)
        if self._pieces.add(delta):
            self._make_durable(self._pieces.start_writing(open_too=False))
        elif self._timer is None:
            self._flush_in(FLUSH_SECONDS)

    # --- pieces of deltas

    async def _flush(self) -> None:
        future: UncancellableFuture[None] = UncancellableFuture()
        self._make_durable(self._pieces.start_writing(open_too=True), future.settle)
        await future

    def _flush_in(self, seconds: float) -> None:
        if not self._closed:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._flush_now)

    def _flush_now(self) -> None:
        self._timer = None
        if pieces := self._pieces.start_writing(open_too=True):  # none: their message was written meanwhile
            self._make_durable(pieces)

    def _make_durable(self, pieces: list[DeltaPiece], then: Callable[[Kept], None] | None = None) -> None:
        next_seqs = {
            chat_id: self._sequencer.of(chat_id).next_seq for chat_id in {piece.first.chat_id for piece in pieces}
        }

        def settle(outcome: Kept) -> None:
            self._finish_writing(pieces, outcome)
            if then is not None:
                then(outcome)

        numbered = NumberedPieces(tuple(piece.entry() for piece in pieces), next_seqs)
        self._writer.submit_part(self._change_writer.write_pieces, numbered, settle)

    def _finish_writing(self, pieces: list[DeltaPiece], outcome: Kept) -> None:
        match outcome:
            case WriteDone():
                self._pieces.finish_writing(pieces, durable=True)
            case WriteFailed(StorageFault()):
                self._pieces.finish_writing(pieces, durable=False)
                if self._timer is None:
                    self._flush_in(RETRY_SECONDS)
            case WriteFailed(error):
                # A second attempt would fail too. Readers have seen the text, and the whole message still follows.
                self._pieces.finish_writing(pieces, durable=True)
                log.error("%d pieces of text could not be kept: %s", len(pieces), error)

    def _drop_pieces(self, numbered: NumberedChanges) -> list[DroppedDeltas]:
        drops: list[DroppedDeltas] = []
        if _DROPPING.isdisjoint(map(type, numbered.writes)):  # the usual case
            return drops
        for write in numbered.writes:
            if isinstance(write, Compact):
                drops.append(self._pieces.drop(numbered.chat_id, write.message_id))
            elif isinstance(write, RemoveChat):
                drops.append(self._pieces.drop(numbered.chat_id))
        return drops

    def _update_memory(self, numbered: NumberedChanges, drops: list[DroppedDeltas]) -> None:
        """Updates the in-memory state to match the disk."""
        for drop in drops:
            self._pieces.finish(drop)
        self._held_rows.update(
            numbered.chat_id,
            numbered.writes,
            seq=numbered.first_seq,
            recorded_at=numbered.recorded_at,
            step=numbered.step,
        )
        for write in numbered.writes:
            if type(write) in _REMEMBERED:
                self._remember(numbered.chat_id, write)

    def _remember(self, chat_id: str, write: Write) -> None:
        if isinstance(write, Turn):
            self._running.update(write)
        elif isinstance(write, SetChat):
            self._running.forget_config(chat_id)
            if write.title is not None or write.config is not None or write.visibility is not None:
                self._chats_changed()
        elif isinstance(write, QueuedMessage):
            self._running.forget_queue(chat_id)
        elif isinstance(write, AddChat):
            self._chats_changed()
        elif isinstance(write, Rule):
            self._rules_changed()
        elif isinstance(write, RemoveChat):
            self._sequencer.forget(chat_id)
            self._running.forget(chat_id)
            self._job_turns.forget(chat_id)
            self._rules_changed()
            self._chats_changed()

    def _restore_drops(self, drops: list[DroppedDeltas]) -> None:
        for drop in drops:
            self._pieces.restore(drop)
        if drops and self._timer is None:
            self._flush_in(FLUSH_SECONDS)


def _show_nothing() -> None:
    """Shows nothing: a change that was not written leaves a gap in the numbers."""


def _nothing(connection: SqlConnection) -> None:
    """Does nothing. It is durable when everything before it is."""
