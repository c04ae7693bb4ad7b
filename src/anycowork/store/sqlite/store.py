"""Reads stored data. A read takes well under a millisecond, so it runs on the event loop, on a separate connection."""

import asyncio
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from anycowork.domain.approvals import Approval, ApprovalState, PlanRow, QuestionRow
from anycowork.domain.audit import BrokenChain, ChainEnd, ChainHead, Link
from anycowork.domain.chats import Chat, ChatConfig, ChatState, Turn, TurnState
from anycowork.domain.events import Record
from anycowork.domain.jobs import Job, JobStatus, JobTask
from anycowork.domain.message_queue import QueuedMessage
from anycowork.domain.messages import Message, MessageType
from anycowork.domain.ports import MessagePage, PastCall, RecentMessages, UnfinishedText
from anycowork.domain.snapshots import RecordedChange, Snapshot
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.text_search import SearchResult
from anycowork.domain.tools import Call
from anycowork.domain.usage import ChatUsage, ModelUsage, TurnUsage
from anycowork.domain.workflows import Run
from anycowork.store.sqlite import (
    approvals,
    audit,
    calls,
    chats,
    jobs,
    message_queue,
    message_search,
    messages,
    questions_and_plans,
    records,
    runs,
    snapshots,
    turns,
    usage,
)
from anycowork.store.sqlite.audit_heads import AuditHeads
from anycowork.store.sqlite.chat_sequencer import ChatSequencer
from anycowork.store.sqlite.delta_buffer import DeltaBuffer
from anycowork.store.sqlite.messages import Cursor
from anycowork.store.sqlite.turns import Running

MOST_RECENT = 5_000  # messages of a long chat that a turn starts with
MOST_RECENT_BYTES = 16_000_000
_AT_A_TIME, _BYTES_AT_A_TIME = 100, 500_000


class SqliteStore:
    """Implements the `Store` port, and the pages that the API shows. Belongs to the journal's event loop."""

    def __init__(
        self, reader: sqlite3.Connection, lines: ChatSequencer, pieces: DeltaBuffer, running: Running, heads: AuditHeads
    ) -> None:
        self._reader = reader
        self._lines = lines
        self._chunks = pieces
        self._running = running
        self._heads = heads

    # --- chats

    async def chat(self, chat_id: str) -> Chat | None:
        last_seq = self._last_seq(chat_id)
        chat = chats.find(self._reader, chat_id)
        return None if chat is None else replace(chat, last_seq=last_seq)

    async def config_of(self, chat_id: str) -> ChatConfig | None:
        return self._running.config_of(chat_id, partial(chats.config_of, self._reader))

    async def chats_page(
        self,
        *,
        limit: int,
        cursor: str | None = None,
        q: str | None = None,
        states: Collection[ChatState] = (),
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> tuple[list[Chat], str | None]:
        """Newest updated first, and the cursor for the page beyond. Raises: Invalid for a cursor that is none."""
        found, further = chats.page(
            self._reader, limit=limit, cursor=cursor, q=q, states=states, pinned=pinned, archived=archived
        )
        return [replace(chat, last_seq=self._last_seq(chat.id)) for chat in found], further

    # --- messages

    async def history(self, chat_id: str) -> list[Message]:
        return await self._messages(chat_id, messages.lengths(self._reader, chat_id))

    async def recent_history(self, chat_id: str, *, since: str) -> RecentMessages:
        """Returns recent messages. Time and memory depend on the part that is shown, not on the length of the chat."""
        recent = _recent(messages.lengths(self._reader, chat_id, newest=MOST_RECENT))
        needed = messages.number_of(self._reader, chat_id, since)
        if recent and needed is not None and needed < recent[0][0]:
            recent = [row for row in messages.lengths(self._reader, chat_id) if row[0] >= needed]
        found = await self._messages(chat_id, recent)
        complete = not recent or recent[0][0] == messages.first_number(self._reader, chat_id)
        return RecentMessages(found if complete else _with_whole_calls(found), complete=complete)

    async def messages_since(self, chat_id: str, message_id: str) -> list[Message]:
        first = messages.number_of(self._reader, chat_id, message_id)
        if first is None:
            return []
        return await self._messages(chat_id, messages.lengths(self._reader, chat_id, since=first))

    async def first_messages(self, chat_id: str, limit: int) -> list[Message]:
        return messages.first(self._reader, chat_id, limit)

    async def _messages(self, chat_id: str, lengths: Sequence[tuple[int, int]]) -> list[Message]:
        """Reads in chunks, so that other requests are served in between."""
        found: list[Message] = []
        for first, last in _chunks(lengths):
            if found:
                await asyncio.sleep(0)
            found += messages.between(self._reader, chat_id, first, last)
        return found

    async def message(self, chat_id: str, message_id: str) -> Message | None:
        return messages.find(self._reader, chat_id, message_id)

    async def messages_page(
        self, chat_id: str, *, after: Cursor = None, before: Cursor = None, limit: int
    ) -> MessagePage:
        """Returns a page. A reader who then follows the events after its `last_seq` misses nothing. Raises: Invalid."""
        # In this order: a message that arrives between the two reads is on the page, and again in the stream.
        last_seq = self._last_seq(chat_id)
        return messages.page(self._reader, chat_id, after=after, before=before, limit=limit, last_seq=last_seq)

    async def search_messages(
        self, query: str, *, limit: int, before: str | None = None
    ) -> tuple[list[SearchResult], str | None]:
        """Newest first, and the cursor for the page beyond. Raises: Invalid for a cursor that is none."""
        return message_search.search(self._reader, query, limit=limit, before=before)

    # --- turns and what they wait for

    async def turn(self, turn_id: str) -> Turn | None:
        found = turns.find(self._reader, turn_id)
        return None if found is None else self._running.current_state(found)

    async def turns_in(self, *states: TurnState) -> list[Turn]:
        return [self._running.current_state(turn) for turn in turns.in_states(self._reader, states)]

    async def current_turn(self, chat_id: str) -> Turn | None:
        found = turns.current(self._reader, chat_id)
        return None if found is None else self._running.current_state(found)

    async def current_turns(self, chat_id: str) -> list[Turn]:
        return [self._running.current_state(turn) for turn in turns.all_current(self._reader, chat_id)]

    async def newest_turn(self, chat_id: str) -> Turn | None:
        found = turns.newest(self._reader, chat_id)
        return None if found is None else self._running.current_state(found)

    async def newest_turns(self, chat_ids: Sequence[str]) -> dict[str, Turn]:
        found = turns.newest_of(self._reader, chat_ids)
        return {chat_id: self._running.current_state(turn) for chat_id, turn in found.items()}

    async def calls(self, turn_id: str) -> list[Call]:
        return calls.of_turn(self._reader, turn_id)

    async def past_calls(
        self, *, chat_id: str | None = None, workspace: str | None = None, limit: int
    ) -> list[PastCall]:
        return calls.past(self._reader, chat_id=chat_id, workspace=workspace, limit=limit)

    async def approvals(self, chat_id: str, *, pending_only: bool = True) -> list[Approval]:
        return approvals.of_chat(self._reader, chat_id, pending_only=pending_only)

    async def approvals_of_call(self, call_id: str) -> list[Approval]:
        return approvals.of_call(self._reader, call_id)

    async def decided_in_waiting_batches(self, chat_id: str) -> dict[str, ApprovalState]:
        return approvals.decided_in_waiting_batches(self._reader, chat_id)

    async def question(self, message_id: str) -> QuestionRow | None:
        return questions_and_plans.question(self._reader, message_id)

    async def open_question(self, chat_id: str, *, turn_id: str | None = None) -> QuestionRow | None:
        return questions_and_plans.open_question(self._reader, chat_id, turn_id=turn_id)

    async def plan(self, message_id: str) -> PlanRow | None:
        return questions_and_plans.plan(self._reader, message_id)

    async def approved_plans(self, chat_id: str) -> list[PlanRow]:
        return questions_and_plans.approved_plans(self._reader, chat_id)

    async def run(self, turn_id: str) -> Run | None:
        return runs.find(self._reader, turn_id)

    async def job(self, job_id: str, *, with_plan: bool = True) -> Job | None:
        return jobs.find(self._reader, job_id, with_plan=with_plan)

    async def jobs_page(
        self, *, chat_id: str | None = None, limit: int, before: str | None = None
    ) -> tuple[list[Job], str | None]:
        return jobs.page(self._reader, chat_id=chat_id, limit=limit, before=before)

    async def jobs_in(self, *states: JobStatus, chat_id: str | None = None) -> list[Job]:
        return jobs.in_states(self._reader, states, chat_id=chat_id)

    async def tasks(self, job_id: str) -> list[JobTask]:
        return jobs.tasks(self._reader, job_id)

    async def task(self, job_id: str, task_id: str) -> JobTask | None:
        return jobs.task(self._reader, job_id, task_id)

    async def tasks_since(self, job_id: str, seq: int) -> tuple[list[JobTask], int]:
        return jobs.tasks_since(self._reader, job_id, seq)

    async def job_turns(self, job_id: str, task_id: str | None) -> list[Turn]:
        return [self._running.current_state(turn) for turn in turns.of_job(self._reader, job_id, task_id)]

    async def tasks_page(self, job_id: str, *, after: str | None = None, limit: int) -> list[JobTask]:
        return jobs.tasks_page(self._reader, job_id, after=after, limit=limit)

    async def task_counts(self, job_id: str) -> dict[TaskStatus, int]:
        return jobs.counts(self._reader, job_id)

    async def job_usage(self, job_id: str, *, task_ids: Collection[str] | None = None) -> list[TurnUsage]:
        return usage.of_job(self._reader, job_id, task_ids)

    async def whole_job_usage(self, job_id: str) -> TurnUsage:
        return usage.of_whole_job(self._reader, job_id)

    async def queued_messages(self, chat_id: str) -> list[QueuedMessage]:
        return message_queue.of_chat(self._reader, chat_id)

    async def chats_with_queue(self) -> list[str]:
        return message_queue.chats(self._reader)

    async def unfinished_text(self, chat_id: str, turn_id: str) -> list[UnfinishedText]:
        """Returns the shown text of messages that were not completed in this turn: after a crash, it is left to recover."""
        shown = {piece.last.seq: piece.record() for piece in self._chunks.of(chat_id)}
        shown |= {record.seq: record for record in records.deltas(self._reader, chat_id)}
        return records.unfinished([shown[seq] for seq in sorted(shown)], turn_id)

    async def chat_usage(self, chat_id: str) -> ChatUsage:
        return usage.of_chat(self._reader, chat_id)

    async def turn_usage(self, chat_id: str, turn_id: str) -> Sequence[ModelUsage]:
        return usage.of_turn(self._reader, chat_id, turn_id)

    async def numbers(self) -> dict[str, int]:
        """Returns counts for the metrics."""
        count = "SELECT (SELECT count(*) FROM chats), (SELECT count(*) FROM turns)"
        chat_count, turn_count = self._reader.execute(count).fetchone()
        return {"chats": chat_count, "turns": turn_count, "events": records.last_position(self._reader)}

    # --- snapshots

    async def snapshot(self, chat_id: str, snapshot_id: str) -> Snapshot | None:
        return snapshots.find(self._reader, chat_id, snapshot_id)

    async def snapshot_after_message(self, chat_id: str, message_id: str) -> str | None:
        """Returns the chat's first snapshot that was taken before a change later than this message."""
        seq = messages.number_of(self._reader, chat_id, message_id)
        return None if seq is None else snapshots.first_after(self._reader, chat_id, seq)

    async def snapshots_page(
        self, chat_id: str, *, before: int | None = None, limit: int
    ) -> tuple[list[Snapshot], int | None]:
        return snapshots.page(self._reader, chat_id, before=before, limit=limit)

    async def changes_since(self, snapshot: Snapshot) -> list[RecordedChange]:
        return snapshots.changes_since(self._reader, snapshot)

    async def changes_in(self, workspace: str) -> list[RecordedChange]:
        return snapshots.changes_in(self._reader, workspace)

    async def changes_of_turns(self, turn_ids: Sequence[str], workspace: str) -> list[RecordedChange]:
        return snapshots.changes_of_turns(self._reader, turn_ids, workspace)

    async def change_of(self, snapshot: Snapshot) -> RecordedChange | None:
        return snapshots.change(self._reader, snapshot.change_id)

    async def before_of_call(self, call_id: str) -> Snapshot | None:
        change = snapshots.change(self._reader, call_id)
        return None if change is None else change.before

    async def unfinished_restores(self) -> list[tuple[Snapshot, Snapshot]]:
        return snapshots.unfinished_restores(self._reader)

    # --- records

    async def records_after(self, chat_id: str, seq: int, limit: int) -> list[Record]:
        """Returns records that readers have seen after this number, including text not yet on disk.

        A result shorter than `limit` is complete.
        """
        found = {
            record.seq: record
            for record in records.after(self._reader, chat_id, seq, up_to=self._lines.horizon(chat_id), limit=limit)
        }
        for piece in self._chunks.of(chat_id):
            if piece.last.seq > seq and piece.last.seq not in found:
                found[piece.last.seq] = piece.record()
        return [found[number] for number in sorted(found)[:limit]]

    async def last_number(self, chat_id: str) -> int:
        """Returns the highest number under which an event of the chat was shown."""
        return self._lines.last_shown(chat_id)

    async def sidebar_after(self, position: int, limit: int) -> list[Record]:
        return records.sidebar_after(self._reader, position, limit=limit)

    async def last_position(self) -> int:
        return records.last_position(self._reader)

    async def chain_end(self, chat_id: str) -> ChainEnd | None:
        return audit.end_of(self._reader, chat_id)

    def newest_head(self) -> ChainHead | None:
        """Returns the last head written to the heads file, of any chat; None if there is none yet."""
        return self._heads.newest

    async def chained_after(self, chat_id: str, seq: int, *, up_to: int, limit: int) -> list[Link]:
        """Returns a page of the chat's chain, ascending."""
        return audit.links_after(self._reader, chat_id, seq, up_to=up_to, limit=limit)

    async def verify_chain(self, chat_id: str) -> BrokenChain | None:
        """Returns None if every record of the chat is present and unchanged."""
        return audit.verify_chat(self._reader, chat_id)

    def _last_seq(self, chat_id: str) -> int:
        """Returns where a reader of the history must continue: the last number shown, but before any text whose message is still missing."""
        last, first_unfinished = records.ends(self._reader, chat_id)
        limits = [last]
        if (horizon := self._lines.horizon(chat_id)) is not None:
            limits.append(horizon)
        if first_unfinished is not None:
            limits.append(first_unfinished - 1)
        limits += [piece.first.seq - 1 for piece in self._chunks.of(chat_id)]
        return min(limits)


def _recent(lengths: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Returns the last messages that stay within the byte limit; at least one."""
    total, start = 0, len(lengths)
    while start and (total := total + lengths[start - 1][1]) <= MOST_RECENT_BYTES:
        start -= 1
    return lengths[min(start, len(lengths) - 1) :] if lengths else ()


def _chunks(lengths: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields the first and last number of each chunk."""
    first, total = 0, 0
    for at, (_, length) in enumerate(lengths):
        if at > first and (at - first >= _AT_A_TIME or total + length > _BYTES_AT_A_TIME):
            yield lengths[first][0], lengths[at - 1][0]
            first, total = at, 0
        total += length
    if lengths:
        yield lengths[first][0], lengths[-1][0]


def _with_whole_calls(found: Sequence[Message]) -> list[Message]:
    """Drops results whose calls are too far back to be included."""
    made = {_named(message, "id") for message in found if message.message_type is MessageType.TOOL_CALL}
    return [
        message
        for message in found
        if message.message_type is not MessageType.TOOL_RESULT
        or _named(message, "tool_call_id") is None
        or _named(message, "tool_call_id") in made
    ]


def _named(message: Message, key: str) -> object:
    return (message.payload or {}).get(key)
