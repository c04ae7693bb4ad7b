"""The coordinator: takes a job from its request to its final response, one turn after another, or several tasks side by side.

The store is the truth: each step reads what changed, writes what becomes true and starts turns. The end of a turn, a person's request
and the server's start lead to the same function, so a job goes on after a crash as it does every day.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from anycowork.domain import event_factory
from anycowork.domain.chats import Chat, ChatState, EndReason, Turn, TurnState
from anycowork.domain.errors import AnyCoworkError, ChatHeld, ContentElsewhere, NotFound, StorageFault, TooManyFaults
from anycowork.domain.jobs import Job, JobStatus, JobTask, OnFailure
from anycowork.domain.journal import SetChat, Write
from anycowork.domain.messages import Json, Message
from anycowork.domain.ports import Clock
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.isolated_tasks import IsolatedTasks, is_reported
from anycowork.jobs.job_records import JobCanceller, JobRecords, JobWriter
from anycowork.jobs.job_state import JobState, JobStates
from anycowork.jobs.policies import (
    MOST_INTERRUPTIONS,
    MOST_REPLANS,
    NO_PLAN,
    after_failure,
    after_turn,
    end_of_turn,
    is_accepted,
    named_gap,
    spent_limit,
    tasks_failed,
)
from anycowork.jobs.task_briefs import job_results, plain_response, replan_request, summaries
from anycowork.jobs.task_commits import TaskMerge
from anycowork.jobs.task_dispatcher import TaskDispatcher
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.turn_scheduler import JobPlacement, LocalPlacement

log = logging.getLogger(__name__)
_INTERNAL_ERROR: Json = {
    "code": "internal_error",
    "message": "An internal error occurred; see the log. The job cannot go on.",
    "retryable": False,
}
LIVE = (JobStatus.PLANNING, JobStatus.RUNNING, JobStatus.PAUSED)


class JobCoordinator:
    """`parallel_tasks` is how many tasks of a job may run at the same time; `on_done` are called with a chat whose jobs have gone on as far
    as they can for now; `placement` says which jobs are left to other processes."""

    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        turns: ChatCoordinator,
        agents: AgentRegistry,
        isolated: IsolatedTasks,
        clock: Clock,
        tasks: asyncio.TaskGroup,
        parallel_tasks: Callable[[], int],
        placement: JobPlacement | None = None,
        remote: RemoteRuns | None = None,
    ) -> None:
        self._store = store
        self._turns = turns
        self._agents = agents
        self._isolated = isolated
        self._clock = clock
        self._records = JobRecords(clock)
        self._states = JobStates(store)
        self._writer = JobWriter(journal=journal, turns=turns, clock=clock)
        self._dispatcher = TaskDispatcher(
            store=store,
            agents=agents,
            isolated=isolated,
            writer=self._writer,
            clock=clock,
            parallel_tasks=parallel_tasks,
            remote=remote,
            wake=self.wake,
        )
        self.canceller = JobCanceller(store=store, turns=turns, isolated=isolated, writer=self._writer, clock=clock)
        self._placement = placement or LocalPlacement()
        self.on_done: list[Callable[[str], None]] = []
        self._tasks = tasks
        self._closed = False
        self._going_on: dict[str, bool] = {}
        """The chats whose jobs go on now; whether something happened in them since their jobs were read."""

    def close(self) -> None:
        """The server ends: no turn is started any more."""
        self._closed = True

    async def resume_all(self, *, wakes: bool = True) -> None:
        """At the server's start, when the turns of the last one are settled: every job goes on where it was. Not in a worker (`wakes`):
        the engine gives it jobs."""
        jobs = await self._store.jobs.in_states(*LIVE, JobStatus.AWAITING_COMMIT)
        needed = [job.workspace for job in jobs]
        for job in jobs:
            needed += [task.workspace for task in await self._store.tasks.of_job(job.id)]
        await self._isolated.keep_only(needed)
        for chat_id in {job.chat_id for job in jobs if wakes and job.status in LIVE}:
            self.wake(chat_id)

    def wake(self, chat_id: str) -> None:
        """Something happened in the chat: its jobs go on as far as they can, in the background.

        What happens while they do costs one more step at the end: many tasks that end together cost one.
        """
        if chat_id in self._going_on:
            self._going_on[chat_id] = True
        elif not self._closed:
            self._going_on[chat_id] = True
            self._tasks.create_task(self._go_on(chat_id))

    async def offer(self, chat_id: str) -> None:
        """Has the jobs of the chat go on in the processes that they are left to. Raises: StorageFault."""
        for job in await self._store.jobs.in_states(*LIVE, chat_id=chat_id):
            if not await self._placement.runs_here(job):
                await self._placement.leave(job)

    async def require_reachable(self, job: Job) -> None:
        """Raises: ContentElsewhere if a server has the job's changes that does not run."""
        if (away := await self.find_away(job)) is not None:
            raise away

    async def find_away(self, job: Job) -> ContentElsewhere | None:
        return await self._placement.find_away(job)

    def is_woken(self, chat_id: str) -> bool:
        return chat_id in self._going_on

    async def _go_on(self, chat_id: str) -> None:
        try:
            while self._going_on[chat_id] and not self._closed:
                await self._go_on_when_stored(chat_id)
        finally:
            del self._going_on[chat_id]
            for notify in self.on_done:
                notify(chat_id)

    async def _go_on_when_stored(self, chat_id: str) -> None:
        wait = 0.5
        while not self._closed:
            self._going_on[chat_id] = False  # what happens from here on may be missing in what is read
            try:
                await self._advance_all(chat_id)
                return
            except (NotFound, ChatHeld):
                return  # the chat is gone, or another process works in it and takes its jobs on
            except StorageFault as fault:
                log.error("jobs of chat %s cannot go on yet: %s", chat_id, fault.message)
                await asyncio.sleep(wait)
                wait = min(30.0, wait * 2)
            except Exception:
                log.exception("jobs of chat %s could not go on", chat_id)
                return

    async def _advance_all(self, chat_id: str) -> None:
        """Raises: StorageFault, NotFound. Any other fault ends the job that it is about."""
        for job in await self._store.jobs.in_states(*LIVE, chat_id=chat_id):
            try:
                await self.advance(job)
            except (StorageFault, NotFound, ChatHeld):
                raise
            except Exception:  # whatever fails in here, the job ends and says so
                log.exception("job %s could not go on", job.id)
                await self._end_faulty(job)

    async def _end_faulty(self, job: Job) -> None:
        async with self._turns.exclusive(job.chat_id):
            await self._writer.fail(job, await self._store.tasks.of_job(job.id), _INTERNAL_ERROR)

    async def advance(self, job: Job) -> None:
        """Takes the job one step on, unless another turn of its chat is under way: that turn's end comes here again."""
        if self._closed:
            return
        if job.asked_by is None and not await self._placement.runs_here(job):
            await self._placement.leave(job)
            return
        async with self._turns.exclusive(job.chat_id) as chat:
            current = await self._store.jobs.find_in(chat.id, job.id)
            turns = await self._store.turns.all_current(chat.id)
            if current is None or await self.canceller.cancel_unasked(current, turns):
                return
            job = current
            live = [turn for turn in turns if turn.id != job.asked_by]
            if any(turn.job_id != job.id or turn.task_id is None for turn in live):
                return
            try:
                await self._step(job, chat, live)
            except BaseException:
                self._states.forget(job.id)  # it may be ahead of what is stored
                raise

    async def _step(self, job: Job, chat: Chat, live: Sequence[Turn]) -> None:
        if job.status is JobStatus.RUNNING:
            await self.execution_phase(job, chat, live)
            return
        if job.status is JobStatus.PLANNING and not live:
            await self.planning_phase(job, chat)
        elif job.status is JobStatus.PAUSED:
            await self._release(job, chat, live)
        self._states.forget(job.id)

    # --- planning

    async def planning_phase(self, job: Job, chat: Chat) -> None:
        """Asks the planning agent for a plan; what it proposes waits for a person."""
        request_id = job.replan_id or job.message_id
        before = [turn for turn in await self._store.turns.of_job(job.id, None) if turn.message_id == request_id]
        last = before[-1] if before else None
        if last is None or (last.reason is EndReason.INTERRUPTED and len(before) <= MOST_INTERRUPTIONS):
            turn = self._records.turn(job, role=self._agents.planner().role, message_id=request_id)
            await self._writer.begin(job, [turn])
            return
        status = JobStatus.CANCELLED if last.reason is EndReason.STOPPED else JobStatus.FAILED
        error = end_of_turn(last)
        if error["code"] == TooManyFaults.code:
            error = {**NO_PLAN, "message": f"{NO_PLAN['message']} {error['message']}"}
        await self._writer.end(job, status, error)

    async def replan(self, job: Job, tasks: Sequence[JobTask], *writes: Write) -> None:
        """Asks the planning agent how to go on from here. Only inside the chat's lock, and while no turn runs."""
        origins = await self._store.origins.of_job(job.id)
        request = self._records.replan(job, replan_request(job, tasks), summaries(tasks), origins)
        planning = replace(job, status=JobStatus.PLANNING, replan_id=request.id, error=None, completed_at=None)
        events = (event_factory.job_updated(planning, ChatState.RUNNING),)
        await self._writer.write(job, *writes, request, planning, SetChat(ChatState.RUNNING), events=events)
        self.wake(job.chat_id)

    # --- execution

    async def execution_phase(self, job: Job, chat: Chat, live: Sequence[Turn]) -> None:
        """Settles what ended, merges what is done, asks about a failed task, then dispatches what is ready, or closes the job."""
        state = await self._states.find(job)
        if state is None:
            error: Json = {"code": "no_plan", "message": "The job's plan cannot be read.", "retryable": False}
            await self._writer.end(job, JobStatus.FAILED, error)
            return
        if (job := await self._with_workspace(job, chat)).status is not JobStatus.RUNNING:
            return
        if await self._settle(job, chat, state, live):
            await self._writer.rest(job, JobStatus.PAUSED)
            return
        questioned = {turn.task_id for turn in live}
        failed = state.named(state.failed)
        if (spent := spent_limit(failed)) is not None:
            if not live and not state.at_work:
                await self._stop_at_limit(job, state, spent)
            return
        if failed and job.on_failure is OnFailure.REPLAN and await self._may_replan(job):
            if not state.at_work and not live:
                await self.replan(job, list(state.tasks.values()))
            return
        for task in failed if job.on_failure is OnFailure.ASK else ():
            if "decision" not in (task.error or {}) and task.id not in questioned:
                await self._ask(job, *self._records.failure_question(job, task, state.tasks.values()))
                questioned.add(task.id)
        started = await self._dispatcher.dispatch(job, chat, state)
        if started and not state.at_work:
            self.wake(job.chat_id)  # nothing could be started: what failed is settled next
        elif not (questioned or live or state.at_work or self._dispatcher.waits_for_labels(state)):
            await self._close(job, chat, state)
            self._states.forget(job.id)

    async def _stop_at_limit(self, job: Job, state: JobState, spent: Json) -> None:
        """The job has used what it may: what has not started waits until a person raises the limit."""
        some = any(task.status is TaskStatus.COMPLETED for task in state.tasks.values())
        if job.collects and some:
            await self._writer.rest(job, JobStatus.AWAITING_COMMIT, spent)
        else:
            await self._writer.end(job, JobStatus.FAILED, spent)
        self._states.forget(job.id)

    async def _may_replan(self, job: Job) -> bool:
        """Whether the planning agent is asked once more; a job that fails again and again ends instead of going in circles."""
        plans = {turn.message_id for turn in await self._store.turns.of_job(job.id, None) if turn.plan_id is None}
        return len(plans - {job.message_id}) < MOST_REPLANS

    async def _with_workspace(self, job: Job, chat: Chat) -> Job:
        """The job with the copy that collects its changes, if it needs one; failed if there can be none."""
        try:
            updated_job = await self._isolated.collecting(job, chat)
        except StorageFault:
            raise
        except AnyCoworkError as error:
            await self._writer.end(job, JobStatus.FAILED, event_factory.error_json(error))
            return replace(job, status=JobStatus.FAILED)
        if updated_job is not job:
            await self._writer.write(updated_job, updated_job)
        return updated_job

    async def _settle(self, job: Job, chat: Chat, state: JobState, live: Sequence[Turn]) -> bool:
        """Settles the tasks whose turns have ended. Returns whether a person stopped one."""
        at_work, changed, stopped = {turn.id for turn in live}, [], False
        questioned = {turn.task_id for turn in live}
        for task in state.running:
            if task.turn_id in at_work or task.id in questioned:
                continue
            if is_reported(task):
                if (merged := await self._merge(job, chat, task)) is not None:
                    changed.append(merged)
                continue
            turn = await self._store.turns.find(task.turn_id or "")
            changed.append(after_turn(job, task, turn, now=self._clock.now()))
            stopped = stopped or (turn is not None and turn.reason is EndReason.STOPPED)
        updated = self.update_plan(state, changed)
        cleared = {task.id: task for task in await self._isolated.without_leftovers(job, state.named(state.leftovers))}
        state.put(*cleared.values())
        if updated or cleared:
            written = {task.id: task for task in updated} | cleared
            events = (*map(event_factory.task_ended, updated), state.plan_update(job, updated)) if updated else ()
            await self._writer.write(job, *written.values(), events=events)
        return stopped

    async def _merge(self, job: Job, chat: Chat, task: JobTask) -> JobTask | None:
        """The task with its changes committed, or failed; None if a person is asked about a conflict first."""
        outcome = await self._isolated.merge(job, chat, task)
        now = self._clock.now()
        if not isinstance(outcome, TaskMerge):
            return after_failure(job, replace(task, result=None), outcome, now=now)
        if outcome.conflicts:
            tasks = await self._store.tasks.of_job_in(job.chat_id, job.id)
            await self._ask(job, *self._records.conflict_question(job, task, tasks, outcome.conflicts[0]))
            return None
        await self._isolated.remove([task.workspace])
        done = replace(task, status=TaskStatus.COMPLETED, error=None, completed_at=now)
        return replace(done, workspace=None, conflicts=None)

    def update_plan(self, state: JobState, changed: Sequence[JobTask]) -> tuple[JobTask, ...]:
        """Puts the changes into the state, and skips the dependants that can never start. Returns all that changed."""
        state.put(*changed)
        if spent_limit(state.named(state.failed)) is not None:
            return tuple(changed)  # a raised limit lets them start
        now = self._clock.now()
        skipped = [
            replace(task, status=TaskStatus.SKIPPED, completed_at=now) for task in state.named(list(state.to_skip))
        ]
        state.put(*skipped)
        return (*changed, *skipped)

    async def _ask(self, job: Job, message: Message, row: Write, turn: Turn) -> None:
        """A turn that only asks: the answer takes it up, and the job with it."""
        events = (event_factory.turn_started(turn), event_factory.question(message))
        parked = replace(turn, state=TurnState.PARKED)
        await self._writer.write(job, message, row, parked, SetChat(ChatState.AWAITING_ANSWER), events=events)

    async def _close(self, job: Job, chat: Chat, state: JobState) -> None:
        """Nothing is left to start: the primary agent answers, a person reviews the changes, or the job has failed."""
        tasks = list(state.tasks.values())
        failed = [task.id for task in tasks if task.status is not TaskStatus.COMPLETED]
        some = len(failed) < len(tasks)
        error = tasks_failed(failed) if failed else None
        if some and failed and is_accepted(tasks):
            job, failed = replace(job, error=named_gap(failed)), []  # a person said that the job goes on without them
        if job.collects and some and (failed or job.race):
            await self._writer.rest(job, JobStatus.AWAITING_COMMIT, error)
            return
        if failed:
            await self._isolated.remove_all(job, tasks)
            await self._writer.end(replace(job, workspace=None, data_folder=None), JobStatus.FAILED, error)
            return
        if job.asked_by is not None:  # its result is the answer of the call that asked
            done = replace(job, data_folder=None)
            await self._writer.end(done, JobStatus.COMPLETED, job.error, final_response=tasks[0].result)
            return
        last = [turn for turn in await self._store.turns.of_job(job.id, None) if turn.plan_id is not None]
        if not last or (last[-1].reason is EndReason.INTERRUPTED and len(last) <= MOST_INTERRUPTIONS):
            turn = self._records.turn(job, role=chat.role, message_id=job.message_id, plan_id=job.plan_id)
            origins = await self._store.origins.of_job(job.id)
            results = self._records.results(job, turn, job_results(job, tasks), summaries(tasks), origins)
            # The last task's event covers a small plan.
            last_events = () if state.small else (state.plan_update(job, ()),)
            gap = (job,) if job.error is not None else ()
            await self._writer.begin(job, [turn], *gap, results, events=last_events)
        elif last[-1].reason is EndReason.STOPPED:
            await self._writer.rest(job, JobStatus.PAUSED)
        elif job.collects:
            await self._writer.rest(replace(job, final_response=plain_response(tasks)), JobStatus.AWAITING_COMMIT)
        else:  # the work is done, and only the words are missing
            ended_job, reason = replace(job, data_folder=None), job.error or end_of_turn(last[-1])
            await self._writer.end(ended_job, JobStatus.COMPLETED, reason, final_response=plain_response(tasks))

    async def _release(self, job: Job, chat: Chat, live: Sequence[Turn]) -> None:
        """A paused job holds its chat no longer than its running tasks."""
        state = await self._states.find(job)
        if state is not None:
            await self._settle(job, chat, state, live)
        if not live and chat.state is ChatState.RUNNING:
            await self._writer.rest(job, JobStatus.PAUSED, job.error)
