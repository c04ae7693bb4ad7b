"""Reads stored data, on connections that write nothing. What grows with a chat or a change is read off the event loop."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import replace

from anycowork.domain.approvals import Approval, DecidedCall, PlanRow, QuestionRow
from anycowork.domain.audit import BrokenChain, ChainEnd, ChainHead, ChainLink
from anycowork.domain.chats import Chat, ChatConfig, ChatState, Turn, TurnState
from anycowork.domain.events import Record
from anycowork.domain.jobs import Job, JobStatus, JobTask
from anycowork.domain.messages import Json, Message, QueuedMessage
from anycowork.domain.metering import ChatUsage, GroupedUsage, ModelUsage, TurnUsage, UsageGroup
from anycowork.domain.ports import MessagePage, PastCall, RecentMessages, UnfinishedText
from anycowork.domain.snapshots import RecordedChange, Snapshot
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.text_search import SearchResult
from anycowork.domain.tools import Call, Intent
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
    receipts,
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
from anycowork.store.sql.origins import StoredOrigins
from anycowork.store.sql.store_numbers import StoreNumbers, read_numbers
from anycowork.store.sql.turns import RunningTurnCache


class Store:
    """Reads what is stored. Returns None for what does not exist; lists are ordered by sequence. Belongs to the journal's event loop."""

    def __init__(
        self, reader: SqlReader, seqs: ChatSequencer, pieces: DeltaBuffer, running: RunningTurnCache, heads: AuditHeads
    ) -> None:
        self._reader, self._sequencer, self._heads = reader, seqs, heads
        self._history, self.origins = MessageHistory(reader), StoredOrigins(reader)
        self._chunks, self._running = pieces, running

    # --- chats

    async def chat(self, chat_id: str) -> Chat | None:
        last_seq = await self._last_seq(chat_id)
        chat = await self._reader.read(chats.find, chat_id)
        return None if chat is None else replace(chat, last_seq=last_seq)

    async def config_of(self, chat_id: str) -> ChatConfig | None:
        """Return the chat's current config, with its role and autonomy."""
        config = self._running.config_of(chat_id)
        if config is None and (config := await self._reader.read(chats.config_of, chat_id)) is not None:
            self._running.remember_config(chat_id, config)
        return config

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
        page, further = await self._reader.read(
            chats.page, limit=limit, cursor=cursor, q=q, states=states, pinned=pinned, archived=archived
        )
        lasts = await self._last_seqs([chat.id for chat in page])
        return [replace(chat, last_seq=last) for chat, last in zip(page, lasts, strict=True)], further

    # --- messages

    async def history(self, chat_id: str) -> list[Message]:
        """Return every message of the chat, ascending."""
        return await self._history.all(chat_id)

    def message_pages(self, chat_id: str, *, up_to: int) -> AsyncIterator[list[Message]]:
        """Yields all messages up to this number, oldest first, in pages of bounded size."""
        return self._history.pages(chat_id, up_to=up_to)

    async def recent_history(
        self, chat_id: str, *, since: str, until: Callable[[Message], bool] | None = None
    ) -> RecentMessages:
        """Return the newest messages outside tasks, ascending: as many as a model could be shown, and at least those since the message
        with this id.

        `until` is asked about each message, newest first; the one for which it is true is the oldest that is read."""
        return await self._history.recent(chat_id, since=since, until=until)

    async def messages_since(self, chat_id: str, message_id: str) -> list[Message]:
        """Return this message and all newer ones, ascending."""
        return await self._history.since(chat_id, message_id)

    async def first_messages(self, chat_id: str, limit: int) -> list[Message]:
        """Return the oldest messages, ascending."""
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
        stored = await self._reader.read(turns.find, turn_id)
        return None if stored is None else self._running.current_state(stored)

    async def turns_in(self, *states: TurnState) -> list[Turn]:
        return [self._running.current_state(turn) for turn in await self._reader.read(turns.in_states, states)]

    async def current_turn(self, chat_id: str) -> Turn | None:
        """Return the chat's newest turn that has not ended."""
        stored = await self._reader.read(turns.current, chat_id)
        return None if stored is None else self._running.current_state(stored)

    async def current_turns(self, chat_id: str) -> list[Turn]:
        """Return every turn of the chat that has not ended, oldest first: several if tasks of a job run side by side."""
        return [self._running.current_state(turn) for turn in await self._reader.read(turns.all_current, chat_id)]

    async def newest_turn(self, chat_id: str) -> Turn | None:
        """The chat's last turn, ended or not."""
        stored = await self._reader.read(turns.newest, chat_id)
        return None if stored is None else self._running.current_state(stored)

    async def newest_turns(self, chat_ids: Sequence[str]) -> dict[str, Turn]:
        """The last turn of each of these chats that has one, by the chat's id."""
        stored = await self._reader.read(turns.newest_of, chat_ids)
        return {chat_id: self._running.current_state(turn) for chat_id, turn in stored.items()}

    async def turn_evidence(self, chat_id: str) -> list[tuple[str, Json]]:
        """Return each turn of the chat that has evidence, oldest first, with the evidence."""
        return await self._reader.read(turns.evidence_of, chat_id)

    async def receipt(self, receipt_id: str) -> Json | None:
        """Return the receipt of a passed check; None if there is none."""
        return await self._reader.read(receipts.find, receipt_id)

    async def calls(self, turn_id: str) -> list[Call]:
        """Return the turn's calls in the order in which they were issued."""
        return await self._reader.read(calls.of_turn, turn_id)

    async def finished_intents(self, chat_id: str) -> list[Intent]:
        """Return what the chat's calls did to files, oldest first. Calls that were denied, refused or not finished are left out."""
        return await self._reader.read_large(calls.finished_intents, chat_id)

    async def past_calls(
        self, *, chat_id: str | None = None, workspace: str | None = None, limit: int
    ) -> list[PastCall]:
        """Return calls of one chat, one workspace, or all; newest first."""
        return await self._reader.read(calls.past, chat_id=chat_id, workspace=workspace, limit=limit)

    async def approvals(self, chat_id: str, *, pending_only: bool = True) -> list[Approval]:
        return await self._reader.read(approvals.of_chat, chat_id, pending_only=pending_only)

    async def approvals_of_call(self, call_id: str) -> list[Approval]:
        """Newest last."""
        return await self._reader.read(approvals.of_call, call_id)

    async def decided_in_waiting_batches(self, chat_id: str) -> dict[str, DecidedCall]:
        """Return what a person decided of calls whose batch still waits for other decisions, by call."""
        return await self._reader.read(approvals.decided_in_waiting_batches, chat_id)

    async def seconds_waited(self, chat_id: str) -> dict[str, float]:
        """Return how long each call of the chat waited for a person's decision, by call."""
        return await self._reader.read(approvals.seconds_waited, chat_id)

    async def question(self, message_id: str) -> QuestionRow | None:
        return await self._reader.read(questions_and_plans.question, message_id)

    async def open_question(self, chat_id: str, *, turn_id: str | None = None) -> QuestionRow | None:
        """Return an open question of the chat, or of this turn."""
        return await self._reader.read(questions_and_plans.open_question, chat_id, turn_id=turn_id)

    async def plan(self, message_id: str) -> PlanRow | None:
        return await self._reader.read(questions_and_plans.plan, message_id)

    async def approved_plans(self, chat_id: str) -> list[PlanRow]:
        """Oldest first."""
        return await self._reader.read(questions_and_plans.approved_plans, chat_id)

    async def run(self, turn_id: str) -> Run | None:
        """Return the workflow run of this turn, if there is one."""
        return await self._reader.read(runs.find, turn_id)

    async def job(self, job_id: str, *, with_plan: bool = True) -> Job | None:
        """A job that was read without its plan, which may be large, is written without changing the stored plan."""
        return await self._reader.read(jobs.find, job_id, with_plan=with_plan)

    async def jobs_page(
        self, *, chat_id: str | None = None, limit: int, before: str | None = None
    ) -> tuple[list[Job], str | None]:
        """Newest first, without their plans, and the cursor for the page beyond."""
        return await self._reader.read(jobs.page, chat_id=chat_id, limit=limit, before=before)

    async def jobs_in(self, *states: JobStatus, chat_id: str | None = None) -> list[Job]:
        """Oldest first, without their plans."""
        return await self._reader.read(jobs.in_states, states, chat_id=chat_id)

    async def completed_requests(self, workspace: str, *, limit: int, longest: int) -> list[tuple[str, str]]:
        """Return ids and the first characters of the requests of completed jobs in this workspace, newest first; no forgotten ones."""
        return await self._reader.read(jobs.completed_requests, workspace, limit=limit, longest=longest)

    async def tasks(self, job_id: str) -> list[JobTask]:
        """In the order of the plan."""
        return await self._reader.read(jobs.tasks, job_id)

    async def task(self, job_id: str, task_id: str) -> JobTask | None:
        return await self._reader.read(jobs.task, job_id, task_id)

    async def tasks_since(self, job_id: str, seq: int) -> tuple[list[JobTask], int]:
        """Return the tasks that changed after the change with this number, and the number of the newest change."""
        return await self._reader.read(jobs.tasks_since, job_id, seq)

    async def job_turns(self, job_id: str, task_id: str | None) -> list[Turn]:
        """Those that worked on the task, or, without one, that planned or closed the job; oldest first."""
        return [self._running.current_state(turn) for turn in await self._reader.read(turns.of_job, job_id, task_id)]

    async def plan_turns(self, chat_id: str, plan_id: str) -> list[Turn]:
        """Return the chat's own turns that carried out this plan, oldest first."""
        stored = await self._reader.read(turns.of_plan, chat_id, plan_id)
        return [self._running.current_state(turn) for turn in stored]

    async def tasks_page(self, job_id: str, *, after: str | None = None, limit: int) -> list[JobTask]:
        """Return the tasks behind this one, in the order of the plan."""
        return await self._reader.read(jobs.tasks_page, job_id, after=after, limit=limit)

    async def task_counts(self, job_id: str) -> dict[TaskStatus, int]:
        """Return how many tasks of the job have each status."""
        return await self._reader.read(jobs.counts, job_id)

    async def job_usage(self, job_id: str, *, task_ids: Collection[str] | None = None) -> list[TurnUsage]:
        """Return what the turns on each task have used so far, of all tasks or of these; of turns without a task under None."""
        return await self._reader.read(usage.of_job, job_id, task_ids)

    async def whole_job_usage(self, job_id: str) -> TurnUsage:
        """Return what all turns of the job have used so far, together."""
        return await self._reader.read(usage.of_whole_job, job_id)

    async def queued_messages(self, chat_id: str) -> list[QueuedMessage]:
        """In the order in which they are sent."""
        return await self._running.queue_of(chat_id, lambda: self._reader.read(message_queue.of_chat, chat_id))

    async def chats_with_queue(self) -> list[str]:
        return await self._reader.read(message_queue.chats)

    async def unfinished_text(self, chat_id: str, turn_id: str) -> list[UnfinishedText]:
        """Returns the shown text of messages that were not completed in this turn: after a crash, it is left to recover."""
        deltas = {piece.last.seq: piece.record() for piece in self._chunks.of(chat_id)}
        deltas |= {record.seq: record for record in await self._reader.read(records.deltas, chat_id)}
        return records.unfinished([deltas[seq] for seq in sorted(deltas)], turn_id)

    async def grouped_usage(self, by: UsageGroup, since: str, until: str) -> Sequence[GroupedUsage]:
        """The use of all turns that began from one day to another, both included; without a job, none for jobs."""
        return await self._reader.read_large(usage.grouped, by, since, until)

    async def chat_usage(self, chat_id: str) -> ChatUsage:
        """Return the usage of the chat; empty if there is no such chat."""
        return await self._reader.read(usage.of_chat, chat_id)

    async def turn_usage(self, chat_id: str, turn_id: str) -> Sequence[ModelUsage]:
        """Return the usage of one turn, per model."""
        return await self._reader.read(usage.of_turn, chat_id, turn_id)

    async def numbers(self, now: str) -> StoreNumbers:
        """Returns counts for the metrics."""
        return await self._reader.read(read_numbers, now)

    # --- snapshots

    async def snapshot(self, chat_id: str, snapshot_id: str) -> Snapshot | None:
        """Return the snapshot with its images. Snapshots of the moment `meant` are internal and never returned."""
        return await self._reader.read_large(snapshots.find, chat_id, snapshot_id)

    async def snapshot_after_message(self, chat_id: str, message_id: str) -> str | None:
        """Returns the chat's first snapshot that was taken before a change later than this message."""
        seq = await self._reader.read(messages.number_of, chat_id, message_id)
        return None if seq is None else await self._reader.read_large(snapshots.first_after, chat_id, seq)

    async def snapshots_page(
        self, chat_id: str, *, before: int | None = None, limit: int
    ) -> tuple[list[Snapshot], int | None]:
        """Return the newest snapshots before this position, ascending, without images; and the position of the next older page."""
        return await self._reader.read(snapshots.page, chat_id, before=before, limit=limit)

    async def changes_since(self, snapshot: Snapshot) -> list[RecordedChange]:
        """Return every later change in the snapshot's workspace, of any chat, oldest first. A `before` snapshot includes its own change."""
        return await self._reader.read_large(snapshots.changes_since, snapshot)

    async def changes_in(self, workspace: str) -> list[RecordedChange]:
        """Return every recorded change in this workspace, oldest first."""
        return await self._reader.read_large(snapshots.changes_in, workspace)

    async def changes_of_turns(self, turn_ids: Sequence[str], workspace: str | None) -> list[RecordedChange]:
        """Return the changes that these turns made in the workspace, oldest first; None: in the copy that collected their job's."""
        return await self._reader.read_large(snapshots.changes_of_turns, turn_ids, workspace)

    async def change_of(self, snapshot: Snapshot) -> RecordedChange | None:
        return await self._reader.read_large(snapshots.change, snapshot.change_id)

    async def before_of_call(self, call_id: str) -> Snapshot | None:
        change = await self._reader.read_large(snapshots.change, call_id)
        return None if change is None else change.before

    async def unfinished_restores(self) -> list[tuple[Snapshot, Snapshot]]:
        """Return the `before` and `meant` snapshots of each restore that was started and never finished."""
        return await self._reader.read_large(snapshots.unfinished_restores)

    # --- records

    async def records_after(self, chat_id: str, seq: int, limit: int) -> list[Record]:
        """Returns records that readers have seen after this number, including text not yet on disk.

        A result shorter than `limit` is complete.
        """
        # What is only in memory is looked at before the read: meanwhile it may become durable, never the other way round.
        pieces, up_to = self._chunks.of(chat_id), self._sequencer.bound(chat_id)
        rows = await self._reader.read(records.after, chat_id, seq, up_to=up_to, limit=limit)
        by_seq = {record.seq: record for record in rows}
        for piece in pieces:
            if piece.last.seq > seq and piece.last.seq not in by_seq:
                by_seq[piece.last.seq] = piece.record()
        return [by_seq[number] for number in sorted(by_seq)[:limit]]

    async def last_number(self, chat_id: str) -> int:
        """Returns the highest number under which an event of the chat was shown."""
        bound = self._sequencer.bound(chat_id)
        return await self._reader.read(chats.next_seq, chat_id) - 1 if bound is None else bound

    async def sidebar_page(self, position: int, limit: int) -> tuple[list[Record], bool]:
        """The next of all chats, and whether newer ones wait for writers that have not ended."""
        return await self._reader.read(records.sidebar_after, position, limit=limit)

    async def last_position(self) -> int:
        return await self._reader.read(records.last_position)

    async def chain_end(self, chat_id: str) -> ChainEnd | None:
        """None if there is no such chat."""
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
        for chat_limits, (last, first_unfinished) in zip(limits, ends, strict=True):
            chat_limits += [last] if first_unfinished is None else [last, first_unfinished - 1]
        return list(map(min, limits))

    def _limits_in_memory(self, chat_id: str) -> list[int]:
        bound = self._sequencer.bound(chat_id)
        return [*(() if bound is None else (bound,)), *(piece.first.seq - 1 for piece in self._chunks.of(chat_id))]
