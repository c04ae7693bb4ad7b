"""Reads stored data, on connections that write nothing. What grows with a chat or a change is read off the event loop."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import replace

from anycowork.domain.approvals import Approval, DecidedCall, PlanRow, QuestionRow
from anycowork.domain.audit import BrokenChain, ChainEnd, ChainHead, ChainLink
from anycowork.domain.chats import Chat, ChatConfig, ChatState, Turn, TurnState
from anycowork.domain.events import Record
from anycowork.domain.jobs import Job, JobStatus, JobTask
from anycowork.domain.message_queue import QueuedMessage
from anycowork.domain.messages import Message
from anycowork.domain.ports import MessagePage, PastCall, RecentMessages, UnfinishedText
from anycowork.domain.snapshots import RecordedChange, Snapshot
from anycowork.domain.store_ports import StoreNumbers
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.text_search import SearchResult
from anycowork.domain.tools import Call
from anycowork.domain.usage import ChatUsage, GroupedUsage, ModelUsage, TurnUsage, UsageGroup
from anycowork.domain.workflows import Run
from anycowork.store.sql import (
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
from anycowork.store.sql.audit_heads import AuditHeads
from anycowork.store.sql.chat_sequencer import ChatSequencer
from anycowork.store.sql.connection import SqlReader
from anycowork.store.sql.delta_buffer import DeltaBuffer
from anycowork.store.sql.message_history import MessageHistory
from anycowork.store.sql.messages import Cursor
from anycowork.store.sql.store_numbers import read_numbers
from anycowork.store.sql.turns import RunningTurnCache


class SqlStore:
    """Implements the `Store` port, and the pages that the API shows. Belongs to the journal's event loop."""

    def __init__(
        self, reader: SqlReader, lines: ChatSequencer, pieces: DeltaBuffer, running: RunningTurnCache, heads: AuditHeads
    ) -> None:
        self._reader = reader
        self._history = MessageHistory(reader)
        self._lines = lines
        self._chunks = pieces
        self._running = running
        self._heads = heads

    # --- chats

    async def chat(self, chat_id: str) -> Chat | None:
        last_seq = await self._last_seq(chat_id)
        chat = await self._reader.read(chats.find, chat_id)
        return None if chat is None else replace(chat, last_seq=last_seq)

    async def config_of(self, chat_id: str) -> ChatConfig | None:
        known = self._running.config_of(chat_id)
        if known is None and (known := await self._reader.read(chats.config_of, chat_id)) is not None:
            self._running.remember_config(chat_id, known)
        return known

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
        found, further = await self._reader.read(
            chats.page, limit=limit, cursor=cursor, q=q, states=states, pinned=pinned, archived=archived
        )
        lasts = await self._last_seqs([chat.id for chat in found])
        return [replace(chat, last_seq=last) for chat, last in zip(found, lasts, strict=True)], further

    # --- messages

    async def history(self, chat_id: str) -> list[Message]:
        return await self._history.all(chat_id)

    def message_pages(self, chat_id: str, *, up_to: int) -> AsyncIterator[list[Message]]:
        """Yields all messages up to this number, oldest first, in pages of bounded size."""
        return self._history.pages(chat_id, up_to=up_to)

    async def recent_history(
        self, chat_id: str, *, since: str, until: Callable[[Message], bool] | None = None
    ) -> RecentMessages:
        return await self._history.recent(chat_id, since=since, until=until)

    async def messages_since(self, chat_id: str, message_id: str) -> list[Message]:
        return await self._history.since(chat_id, message_id)

    async def first_messages(self, chat_id: str, limit: int) -> list[Message]:
        return await self._reader.read(messages.first, chat_id, limit)

    async def message(self, chat_id: str, message_id: str) -> Message | None:
        return await self._reader.read(messages.find, chat_id, message_id)

    async def messages_page(
        self, chat_id: str, *, after: Cursor = None, before: Cursor = None, limit: int
    ) -> MessagePage:
        """Returns a page. A reader who then follows the events after its `last_seq` misses nothing. Raises: Invalid."""
        # In this order: a message that arrives between the two reads is on the page, and again in the stream.
        last_seq = await self._last_seq(chat_id)
        return await self._reader.read(
            messages.page, chat_id, after=after, before=before, limit=limit, last_seq=last_seq
        )

    async def search_messages(
        self, query: str, *, limit: int, before: str | None = None
    ) -> tuple[list[SearchResult], str | None]:
        """Newest first, and the cursor for the page beyond. Raises: Invalid for a cursor that is none."""
        return await self._reader.read_large(message_search.search, query, limit=limit, before=before)

    # --- turns and what they wait for

    async def turn(self, turn_id: str) -> Turn | None:
        found = await self._reader.read(turns.find, turn_id)
        return None if found is None else self._running.current_state(found)

    async def turns_in(self, *states: TurnState) -> list[Turn]:
        return [self._running.current_state(turn) for turn in await self._reader.read(turns.in_states, states)]

    async def current_turn(self, chat_id: str) -> Turn | None:
        found = await self._reader.read(turns.current, chat_id)
        return None if found is None else self._running.current_state(found)

    async def current_turns(self, chat_id: str) -> list[Turn]:
        return [self._running.current_state(turn) for turn in await self._reader.read(turns.all_current, chat_id)]

    async def newest_turn(self, chat_id: str) -> Turn | None:
        found = await self._reader.read(turns.newest, chat_id)
        return None if found is None else self._running.current_state(found)

    async def newest_turns(self, chat_ids: Sequence[str]) -> dict[str, Turn]:
        found = await self._reader.read(turns.newest_of, chat_ids)
        return {chat_id: self._running.current_state(turn) for chat_id, turn in found.items()}

    async def calls(self, turn_id: str) -> list[Call]:
        return await self._reader.read(calls.of_turn, turn_id)

    async def past_calls(
        self, *, chat_id: str | None = None, workspace: str | None = None, limit: int
    ) -> list[PastCall]:
        return await self._reader.read(calls.past, chat_id=chat_id, workspace=workspace, limit=limit)

    async def approvals(self, chat_id: str, *, pending_only: bool = True) -> list[Approval]:
        return await self._reader.read(approvals.of_chat, chat_id, pending_only=pending_only)

    async def approvals_of_call(self, call_id: str) -> list[Approval]:
        return await self._reader.read(approvals.of_call, call_id)

    async def decided_in_waiting_batches(self, chat_id: str) -> dict[str, DecidedCall]:
        return await self._reader.read(approvals.decided_in_waiting_batches, chat_id)

    async def seconds_waited(self, chat_id: str) -> dict[str, float]:
        return await self._reader.read(approvals.seconds_waited, chat_id)

    async def question(self, message_id: str) -> QuestionRow | None:
        return await self._reader.read(questions_and_plans.question, message_id)

    async def open_question(self, chat_id: str, *, turn_id: str | None = None) -> QuestionRow | None:
        return await self._reader.read(questions_and_plans.open_question, chat_id, turn_id=turn_id)

    async def plan(self, message_id: str) -> PlanRow | None:
        return await self._reader.read(questions_and_plans.plan, message_id)

    async def approved_plans(self, chat_id: str) -> list[PlanRow]:
        return await self._reader.read(questions_and_plans.approved_plans, chat_id)

    async def run(self, turn_id: str) -> Run | None:
        return await self._reader.read(runs.find, turn_id)

    async def job(self, job_id: str, *, with_plan: bool = True) -> Job | None:
        return await self._reader.read(jobs.find, job_id, with_plan=with_plan)

    async def jobs_page(
        self, *, chat_id: str | None = None, limit: int, before: str | None = None
    ) -> tuple[list[Job], str | None]:
        return await self._reader.read(jobs.page, chat_id=chat_id, limit=limit, before=before)

    async def jobs_in(self, *states: JobStatus, chat_id: str | None = None) -> list[Job]:
        return await self._reader.read(jobs.in_states, states, chat_id=chat_id)

    async def completed_requests(self, workspace: str, *, limit: int, longest: int) -> list[tuple[str, str]]:
        return await self._reader.read(jobs.completed_requests, workspace, limit=limit, longest=longest)

    async def tasks(self, job_id: str) -> list[JobTask]:
        return await self._reader.read(jobs.tasks, job_id)

    async def task(self, job_id: str, task_id: str) -> JobTask | None:
        return await self._reader.read(jobs.task, job_id, task_id)

    async def tasks_since(self, job_id: str, seq: int) -> tuple[list[JobTask], int]:
        return await self._reader.read(jobs.tasks_since, job_id, seq)

    async def job_turns(self, job_id: str, task_id: str | None) -> list[Turn]:
        return [self._running.current_state(turn) for turn in await self._reader.read(turns.of_job, job_id, task_id)]

    async def tasks_page(self, job_id: str, *, after: str | None = None, limit: int) -> list[JobTask]:
        return await self._reader.read(jobs.tasks_page, job_id, after=after, limit=limit)

    async def task_counts(self, job_id: str) -> dict[TaskStatus, int]:
        return await self._reader.read(jobs.counts, job_id)

    async def job_usage(self, job_id: str, *, task_ids: Collection[str] | None = None) -> list[TurnUsage]:
        return await self._reader.read(usage.of_job, job_id, task_ids)

    async def whole_job_usage(self, job_id: str) -> TurnUsage:
        return await self._reader.read(usage.of_whole_job, job_id)

    async def queued_messages(self, chat_id: str) -> list[QueuedMessage]:
        return await self._reader.read(message_queue.of_chat, chat_id)

    async def chats_with_queue(self) -> list[str]:
        return await self._reader.read(message_queue.chats)

    async def unfinished_text(self, chat_id: str, turn_id: str) -> list[UnfinishedText]:
        """Returns the shown text of messages that were not completed in this turn: after a crash, it is left to recover."""
        shown = {piece.last.seq: piece.record() for piece in self._chunks.of(chat_id)}
        shown |= {record.seq: record for record in await self._reader.read(records.deltas, chat_id)}
        return records.unfinished([shown[seq] for seq in sorted(shown)], turn_id)

    async def grouped_usage(self, by: UsageGroup, since: str, until: str) -> Sequence[GroupedUsage]:
        return await self._reader.read_large(usage.grouped, by, since, until)

    async def chat_usage(self, chat_id: str) -> ChatUsage:
        return await self._reader.read(usage.of_chat, chat_id)

    async def turn_usage(self, chat_id: str, turn_id: str) -> Sequence[ModelUsage]:
        return await self._reader.read(usage.of_turn, chat_id, turn_id)

    async def numbers(self) -> StoreNumbers:
        """Returns counts for the metrics."""
        return await self._reader.read(read_numbers)

    # --- snapshots

    async def snapshot(self, chat_id: str, snapshot_id: str) -> Snapshot | None:
        return await self._reader.read_large(snapshots.find, chat_id, snapshot_id)

    async def snapshot_after_message(self, chat_id: str, message_id: str) -> str | None:
        """Returns the chat's first snapshot that was taken before a change later than this message."""
        seq = await self._reader.read(messages.number_of, chat_id, message_id)
        return None if seq is None else await self._reader.read_large(snapshots.first_after, chat_id, seq)

    async def snapshots_page(
        self, chat_id: str, *, before: int | None = None, limit: int
    ) -> tuple[list[Snapshot], int | None]:
        return await self._reader.read(snapshots.page, chat_id, before=before, limit=limit)

    async def changes_since(self, snapshot: Snapshot) -> list[RecordedChange]:
        return await self._reader.read_large(snapshots.changes_since, snapshot)

    async def changes_in(self, workspace: str) -> list[RecordedChange]:
        return await self._reader.read_large(snapshots.changes_in, workspace)

    async def changes_of_turns(self, turn_ids: Sequence[str], workspace: str) -> list[RecordedChange]:
        return await self._reader.read_large(snapshots.changes_of_turns, turn_ids, workspace)

    async def change_of(self, snapshot: Snapshot) -> RecordedChange | None:
        return await self._reader.read_large(snapshots.change, snapshot.change_id)

    async def before_of_call(self, call_id: str) -> Snapshot | None:
        change = await self._reader.read_large(snapshots.change, call_id)
        return None if change is None else change.before

    async def unfinished_restores(self) -> list[tuple[Snapshot, Snapshot]]:
        return await self._reader.read_large(snapshots.unfinished_restores)

    # --- records

    async def records_after(self, chat_id: str, seq: int, limit: int) -> list[Record]:
        """Returns records that readers have seen after this number, including text not yet on disk.

        A result shorter than `limit` is complete.
        """
        # What is only in memory is looked at before the read: meanwhile it may become durable, never the other way round.
        pieces, up_to = self._chunks.of(chat_id), self._lines.bound(chat_id)
        rows = await self._reader.read(records.after, chat_id, seq, up_to=up_to, limit=limit)
        found = {record.seq: record for record in rows}
        for piece in pieces:
            if piece.last.seq > seq and piece.last.seq not in found:
                found[piece.last.seq] = piece.record()
        return [found[number] for number in sorted(found)[:limit]]

    async def last_number(self, chat_id: str) -> int:
        """Returns the highest number under which an event of the chat was shown."""
        bound = self._lines.bound(chat_id)
        return await self._reader.read(chats.next_seq, chat_id) - 1 if bound is None else bound

    async def sidebar_after(self, position: int, limit: int) -> list[Record]:
        return await self._reader.read(records.sidebar_after, position, limit=limit)

    async def last_position(self) -> int:
        return await self._reader.read(records.last_position)

    async def chain_end(self, chat_id: str) -> ChainEnd | None:
        return await self._reader.read(audit.end_of, chat_id)

    def newest_head(self) -> ChainHead | None:
        """Returns the last head written to the heads file, of any chat; None if there is none yet."""
        return self._heads.newest

    async def chained_after(self, chat_id: str, seq: int, *, up_to: int, limit: int) -> list[ChainLink]:
        """Returns a page of the chat's chain, ascending."""
        return await self._reader.read(audit.links_after, chat_id, seq, up_to=up_to, limit=limit)

    async def verify_chain(self, chat_id: str) -> BrokenChain | None:
        """Returns None if every record of the chat is present and unchanged."""
        return await self._reader.read_large(audit.verify_chat, chat_id)

    async def _last_seq(self, chat_id: str) -> int:
        """Returns where a reader of the history must continue: the last number shown, but before any text whose message is still missing."""
        return (await self._last_seqs([chat_id]))[0]

    async def _last_seqs(self, chat_ids: Sequence[str]) -> list[int]:
        limits = [self._limits_in_memory(chat_id) for chat_id in chat_ids]  # before the read, as above
        ends = await self._reader.read(records.ends, chat_ids)
        for known, (last, first_unfinished) in zip(limits, ends, strict=True):
            known += [last] if first_unfinished is None else [last, first_unfinished - 1]
        return list(map(min, limits))

    def _limits_in_memory(self, chat_id: str) -> list[int]:
        bound = self._lines.bound(chat_id)
        return [*(() if bound is None else (bound,)), *(piece.first.seq - 1 for piece in self._chunks.of(chat_id))]
