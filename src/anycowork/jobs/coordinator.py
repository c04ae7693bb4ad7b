"""The coordinator: takes a job from its request to its final response, one turn after another.

It keeps nothing in memory: each step reads the job from the store, writes what becomes true and starts a turn. The end of a turn, a
person's request and the server's start lead to the same function, so a job goes on after a crash as it does every day.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from anycowork.domain import event_factory
from anycowork.domain.chats import Chat, ChatState, EndReason, Turn, TurnState
from anycowork.domain.errors import NotFound, StorageFault
from anycowork.domain.events import NewEvent
from anycowork.domain.jobs import Job, JobStatus, JobTask, OnFailure, plan_of, progress_of_tasks
from anycowork.domain.journal import Change, SetChat, Write
from anycowork.domain.messages import Json
from anycowork.domain.plan import Plan
from anycowork.domain.ports import Clock, Journal, Store
from anycowork.domain.task_progress import TaskProgress, TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.failures import MOST_INTERRUPTIONS, after_turn
from anycowork.jobs.job_records import JobRecords
from anycowork.jobs.task_briefs import job_results, plain_response, task_assignment

log = logging.getLogger(__name__)
LIVE = (JobStatus.PLANNING, JobStatus.RUNNING, JobStatus.PAUSED)


class ChatTurns(Protocol):
    """How the coordinator reaches a chat: alone with it, and by starting its turns."""

    def exclusive(self, chat_id: str) -> AbstractAsyncContextManager[Chat]:
        """Raises: NotFound."""

    def start(self, turn: Turn) -> None: ...


class JobCoordinator:
    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        turns: ChatTurns,
        agents: AgentRegistry,
        clock: Clock,
        tasks: asyncio.TaskGroup,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._journal = journal
        self._store = store
        self._turns = turns
        self._agents = agents
        self._clock = clock
        self._records = JobRecords(clock)
        self._tasks = tasks
        self._sleep = sleep
        self._closed = False

    def close(self) -> None:
        """The server ends: no turn is started any more."""
        self._closed = True

    async def resume_all(self) -> None:
        """At the server's start, when the turns of the last one are settled: every job goes on where it was."""
        for chat_id in {job.chat_id for job in await self._store.jobs_in(*LIVE)}:
            self.wake(chat_id)

    def wake(self, chat_id: str) -> None:
        """Something happened in the chat: its jobs go on as far as they can, in the background."""
        if not self._closed:
            self._tasks.create_task(self._go_on(chat_id))

    async def _go_on(self, chat_id: str) -> None:
        wait = 0.5
        while not self._closed:
            try:
                await self._advance_all(chat_id)
                return
            except NotFound:
                return  # the chat is gone
            except StorageFault as fault:
                log.error("jobs of chat %s cannot go on yet: %s", chat_id, fault.message)
                await self._sleep(wait)
                wait = min(30.0, wait * 2)
            except Exception:
                log.exception("jobs of chat %s could not go on", chat_id)
                return

    async def _advance_all(self, chat_id: str) -> None:
        """Raises: StorageFault, NotFound. Any other fault ends the job that it is about."""
        for job in await self._store.jobs_in(*LIVE, chat_id=chat_id):
            try:
                await self.advance(job.id)
            except (StorageFault, NotFound):
                raise
            except Exception:  # whatever fails in here, the job ends and says so
                log.exception("job %s could not go on", job.id)
                await self._end_faulty(job)

    async def _end_faulty(self, job: Job) -> None:
        error: Json = {
            "code": "internal_error",
            "message": "An internal error occurred; see the log. The job cannot go on.",
            "retryable": False,
        }
        async with self._turns.exclusive(job.chat_id):
            at = self._clock.now()
            tasks = [task for task in await self._store.tasks(job.id) if not task.status.over]
            failed = [replace(task, status=TaskStatus.FAILED, error=error, completed_at=at) for task in tasks]
            ended = replace(job, status=JobStatus.FAILED, error=error, completed_at=at)
            events = (*map(event_factory.task_ended, failed), event_factory.job_completed(ended))
            await self._write(job, *failed, ended, SetChat(ChatState.IDLE), events=events)

    async def advance(self, job_id: str) -> None:
        """Takes the job one step on, unless a turn of its chat is under way: that turn's end comes here again."""
        job = await self._store.job(job_id)
        if job is None or self._closed:
            return
        async with self._turns.exclusive(job.chat_id) as chat:
            job = await self._store.job(job_id)
            if job is None or await self._store.current_turn(chat.id) is not None:
                return
            if job.status is JobStatus.PLANNING:
                await self.planning_phase(job, chat)
            elif job.status is JobStatus.RUNNING:
                await self.execution_phase(job, chat)
            else:
                await self._release(job, chat)

    # --- planning

    async def planning_phase(self, job: Job, chat: Chat) -> None:
        """Asks the planning agent for a plan; what it proposes waits for a person."""
        before = await self._store.job_turns(job.id, None)
        last = before[-1] if before else None
        if last is None or (last.reason is EndReason.INTERRUPTED and len(before) <= MOST_INTERRUPTIONS):
            turn = self._records.turn(job, role=self._agents.planner().role, message_id=job.message_id)
            await self._begin(job, turn)
            return
        await self._end(job, _why(last), stopped=last.reason is EndReason.STOPPED)

    # --- execution

    async def execution_phase(self, job: Job, chat: Chat) -> None:
        """Settles what ended, then dispatches the next ready task, asks about a failed one, or closes the job."""
        tasks = await self._store.tasks(job.id)
        plan = plan_of(tasks, job.plan or {})
        if plan is None:
            await self._end(job, {"code": "no_plan", "message": "The job's plan cannot be read.", "retryable": False})
            return
        settled, stopped = await self._settled(job, tasks)
        tasks, changed = self.update_plan(tasks, settled)
        if changed:
            await self._write(job, *changed, events=self._told(job, tasks, changed))
        if stopped:
            await self._pause(job)
            return
        if failed := self._undecided(job, tasks):
            await self._ask(job, failed)
            return
        progress = progress_of_tasks(tasks)
        if ready := self.ready_tasks(tasks, progress):
            await self.execute_task(job, plan, ready[0], tasks)
        else:
            await self._close(job, chat, tasks)

    def can_execute(self, task: JobTask, progress: TaskProgress) -> bool:
        """Whether the task has not started and all that it depends on is completed."""
        return progress.can_execute(task.id)

    def ready_tasks(self, tasks: Sequence[JobTask], progress: TaskProgress) -> list[JobTask]:
        """Those that may start now, the longest chain of dependants first."""
        known = {task.id: task for task in tasks}
        return [known[task_id] for task_id in progress.ready()]

    def update_plan(
        self, tasks: Sequence[JobTask], changed: Sequence[JobTask]
    ) -> tuple[list[JobTask], tuple[JobTask, ...]]:
        """The tasks with these changes and the dependants that can never start, which are skipped; and all that changed."""
        known = {task.id: task for task in tasks} | {task.id: task for task in changed}
        progress = progress_of_tasks(list(known.values()))
        at = self._clock.now()
        skipped = [
            replace(task, status=TaskStatus.SKIPPED, completed_at=at)
            for task in known.values()
            if task.status is TaskStatus.PENDING and progress.statuses[task.id] is TaskStatus.SKIPPED
        ]
        known |= {task.id: task for task in skipped}
        return [known[task.id] for task in tasks], (*changed, *skipped)

    async def execute_task(self, job: Job, plan: Plan, task: JobTask, tasks: Sequence[JobTask]) -> None:
        """Gives the task to a worker: its assignment, its turn and its status become durable together, then the turn starts."""
        step = plan.step(task.id)
        assert step is not None, "a task is a step of its plan"
        before = await self._store.job_turns(job.id, task.id)
        earlier = [call for one in before for call in await self._store.calls(one.id)]
        turn_id, at = self._clock.new_id(), self._clock.now()
        begun = replace(
            task,
            status=TaskStatus.RUNNING,
            attempt=task.attempt + 1,
            turn_id=turn_id,
            started_at=at,
            completed_at=None,
        )
        needed = set(task.dependencies)
        done = [one for one in tasks if one.id in needed]
        message = self._records.assignment(job, begun, task_assignment(step, begun, done, earlier))
        role = self._agents.worker(step).role
        turn = self._records.turn(job, role=role, message_id=message.id, task=begun)
        shown = [begun if one.id == task.id else one for one in tasks]
        events = (event_factory.task_started(begun), event_factory.job_plan_update(job, shown))
        await self._begin(job, turn, message, begun, events=events)

    async def _settled(self, job: Job, tasks: Sequence[JobTask]) -> tuple[list[JobTask], bool]:
        """The tasks whose turn ended without a report, as they stand now; and whether a person stopped one."""
        settled, stopped = [], False
        for task in tasks:
            if task.status is TaskStatus.RUNNING:
                turn = await self._store.turn(task.turn_id or "")
                settled.append(after_turn(job, task, turn, at=self._clock.now()))
                stopped = stopped or (turn is not None and turn.reason is EndReason.STOPPED)
        return settled, stopped

    def _undecided(self, job: Job, tasks: Sequence[JobTask]) -> JobTask | None:
        """A failed task that a person must be asked about first."""
        if job.on_failure is not OnFailure.ASK:
            return None
        failed = (task for task in tasks if task.status is TaskStatus.FAILED)
        return next((task for task in failed if "decision" not in (task.error or {})), None)

    async def _ask(self, job: Job, task: JobTask) -> None:
        """A turn that only asks: the answer takes it up, and the job with it."""
        message, row, turn = self._records.failure_question(job, task)
        events = (event_factory.turn_started(turn), event_factory.question(message))
        parked = replace(turn, state=TurnState.PARKED)
        await self._write(job, message, row, parked, SetChat(ChatState.AWAITING_ANSWER), events=events)

    async def _close(self, job: Job, chat: Chat, tasks: Sequence[JobTask]) -> None:
        """Nothing is left to start: the primary agent answers, or the job has failed."""
        failed = [task.id for task in tasks if task.status is not TaskStatus.COMPLETED]
        if failed:
            named = ", ".join(one[:80] for one in failed[:20])
            said = f"These tasks did not complete: {named}. Retry one of them to go on."
            await self._end(job, {"code": "tasks_failed", "message": said, "retryable": True})
            return
        last = [turn for turn in await self._store.job_turns(job.id, None) if turn.plan_id is not None]
        if not last or (last[-1].reason is EndReason.INTERRUPTED and len(last) <= MOST_INTERRUPTIONS):
            turn = self._records.turn(job, role=chat.role, message_id=job.message_id, plan_id=job.plan_id)
            await self._begin(job, turn, self._records.results(job, turn, job_results(job, tasks)))
        elif last[-1].reason is EndReason.STOPPED:
            await self._pause(job)
        else:  # the work is done, and only the words are missing
            done = replace(
                job,
                status=JobStatus.COMPLETED,
                final_response=plain_response(tasks),
                error=_why(last[-1]),
                completed_at=self._clock.now(),
            )
            await self._write(job, done, SetChat(ChatState.IDLE), events=(event_factory.job_completed(done),))

    # --- what becomes true

    def _told(self, job: Job, tasks: Sequence[JobTask], changed: Sequence[JobTask]) -> tuple[NewEvent, ...]:
        return (*(event_factory.task_ended(task) for task in changed), event_factory.job_plan_update(job, tasks))

    async def _begin(self, job: Job, turn: Turn, *writes: Write, events: tuple[NewEvent, ...] = ()) -> None:
        told = (*events, event_factory.turn_started(turn))
        await self._write(job, *writes, turn, SetChat(ChatState.RUNNING), events=told)
        self._turns.start(turn)

    async def _pause(self, job: Job) -> None:
        paused = replace(job, status=JobStatus.PAUSED)
        await self._write(
            job, paused, SetChat(ChatState.IDLE), events=(event_factory.job_updated(paused, ChatState.IDLE),)
        )

    async def _end(self, job: Job, error: Json, *, stopped: bool = False) -> None:
        status = JobStatus.CANCELLED if stopped else JobStatus.FAILED
        ended = replace(job, status=status, error=error, completed_at=self._clock.now())
        await self._write(job, ended, SetChat(ChatState.IDLE), events=(event_factory.job_completed(ended),))

    async def _release(self, job: Job, chat: Chat) -> None:
        """A paused job holds its chat no longer than its running task."""
        tasks = await self._store.tasks(job.id)
        settled, _ = await self._settled(job, tasks)
        tasks, changed = self.update_plan(tasks, settled)
        if changed or chat.state is ChatState.RUNNING:
            told = self._told(job, tasks, changed) if changed else ()
            events = (*told, event_factory.job_updated(job, ChatState.IDLE))
            await self._write(job, *changed, SetChat(ChatState.IDLE), events=events)

    async def _write(self, job: Job, *writes: Write, events: tuple[NewEvent, ...] = ()) -> None:
        await self._journal.write(Change(job.chat_id, writes, events, principal=job.principal, cause=job.message_id))


def _why(turn: Turn) -> Json:
    reason = turn.reason.value if turn.reason else "unknown"
    return turn.error or {"code": reason, "message": f"The turn ended: {reason}.", "retryable": True}
