"""Gives ready tasks to workers: which may start now, where they work, and what they read."""

import asyncio
from collections.abc import Callable, Collection, Hashable, Sequence
from pathlib import Path

from anycowork.domain import event_factory
from anycowork.domain.chats import Chat, EndReason, Turn
from anycowork.domain.errors import AnyCoworkError, StorageFault
from anycowork.domain.events import NewEvent
from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.messages import Json, Message
from anycowork.domain.origins import NO_ORIGINS, Origins, join
from anycowork.domain.plan import PlanStep
from anycowork.domain.ports import Clock
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace, value
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.isolated_tasks import IsolatedTasks, is_interrupted
from anycowork.jobs.job_records import JobRecords, JobWriter
from anycowork.jobs.job_state import JobState
from anycowork.jobs.task_briefs import quoted_in_assignment, task_assignment
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import MOST_PLANS


@value
class DispatchedTask:
    """A task with its assignment and its turn. It has neither if no workspace could be made for it: then it has failed."""

    task: JobTask
    message: Message | None = None
    turn: Turn | None = None


class TaskDispatcher:
    """`parallel_tasks` is how many tasks of a job may run at the same time."""

    def __init__(
        self,
        *,
        store: Store,
        agents: AgentRegistry,
        isolated: IsolatedTasks,
        writer: JobWriter,
        clock: Clock,
        parallel_tasks: Callable[[], int],
        remote: RemoteRuns | None,
        wake: Callable[[str], None],
    ) -> None:
        self._remote = remote
        self._wake = wake
        self._waiting_chats: set[str] = set()
        self._plan_origins: dict[str, Origins] = {}
        if remote is not None:
            remote.joined = self._worker_joined
        self._store = store
        self._agents = agents
        self._isolated = isolated
        self._writer = writer
        self._clock = clock
        self._records = JobRecords(clock)
        self._parallel_tasks = parallel_tasks

    async def dispatch(self, job: Job, chat: Chat, state: JobState) -> bool:
        """Starts the ready tasks that there is room for: readers side by side, writers as many as the job allows."""
        most_writers = max(job.parallel, len(job.race))
        writers = sum(not self._reads(state.steps[task_id], chat) for task_id in state.at_work)
        room = self._parallel_tasks() - len(state.at_work)
        readers = {kind for kind in state.progress.ready_kinds() if room > 0 and self._reads(state.step_of(kind), chat)}
        begun: list[DispatchedTask] = []
        full = writers >= most_writers
        await self._mark_waiting(job, state)
        while room > 0 and (task := self.next_task(state, self._startable(job, state, readers, full))) is not None:
            dispatched = await self.execute_task(job, state, task, chat=chat)
            state.put(dispatched.task)
            begun.append(dispatched)
            if dispatched.turn is not None:
                room, writers = room - 1, writers + (not self._reads(state.steps[task.id], chat))
                full = writers >= most_writers
        if begun:
            await self._write(job, state, begun)
        return bool(begun)

    def _startable(
        self, job: Job, state: JobState, readers: Collection[Hashable], full: bool
    ) -> Collection[Hashable] | None:
        """The kinds of tasks that may start now; None for all. In a race each agent does one task at a time, in its own copy."""
        if not job.race:
            return readers if full else None
        return set(state.progress.ready_kinds()) - {state.kind_of(task_id) for task_id in state.at_work}

    def can_execute(self, task: JobTask, state: JobState) -> bool:
        """Whether the task has not started and all that it depends on is completed."""
        return state.progress.can_execute(task.id)

    def next_task(self, state: JobState, kinds: Collection[Hashable] | None) -> JobTask | None:
        """The first of the ready tasks, of these kinds if some are named."""
        ready = state.progress.ready_kinds() if kinds is None else kinds
        task_id = state.progress.next_ready([kind for kind in ready if self._is_offered(state.step_of(kind))])
        return None if task_id is None else state.tasks[task_id]

    def _is_offered(self, step: PlanStep) -> bool:
        """Whether some worker offers what the step needs."""
        return not step.needs or (self._remote is not None and self._remote.offers(step.needs))

    def waits_for_labels(self, state: JobState) -> bool:
        """Whether a ready task needs labels that nobody offers."""
        return not all(self._is_offered(state.step_of(kind)) for kind in state.progress.ready_kinds())

    async def _mark_waiting(self, job: Job, state: JobState) -> None:
        """Says of ready tasks which labels they wait for."""
        if not self.waits_for_labels(state):
            return
        self._waiting_chats.add(job.chat_id)
        waiting = [
            replace(task, waiting_for=f"a worker that offers {', '.join(state.steps[task.id].needs)}")
            for task in state.tasks.values()
            if task.waiting_for is None and self.can_execute(task, state) and not self._is_offered(state.steps[task.id])
        ]
        if waiting:
            state.put(*waiting)
            await self._writer.write(job, *waiting, events=(state.plan_update(job, waiting),))

    def _worker_joined(self) -> None:
        for chat_id in self._waiting_chats:
            self._wake(chat_id)
        self._waiting_chats.clear()

    def _reads(self, step: PlanStep, chat: Chat) -> bool:
        return self._agents.only_reads(self._agents.worker(step), parent=chat.role)

    async def execute_task(self, job: Job, state: JobState, task: JobTask, *, chat: Chat) -> DispatchedTask:
        """Gives the task to a worker: returns its assignment, its turn and its new status."""
        step = state.steps[task.id]
        agent = self._agents.worker(step)
        if (interrupted := await self._interrupted_turn(job, task)) is not None:
            begun = replace(
                task, status=TaskStatus.RUNNING, attempt=task.attempt + 1, result=None, started_at=self._clock.now()
            )
            return DispatchedTask(begun, self._records.continuation(job, begun), interrupted.continued())
        await self._isolated.remove([task.workspace] if is_interrupted(task) and not job.race else [])
        try:
            where, is_private = await self._isolated.workspace_for(
                job, chat, reads=self._reads(step, chat), candidate=state.copy_of(step.agent) if job.race else None
            )
        except StorageFault:
            raise
        except AnyCoworkError as error:
            failure: Json = {"code": error.code, "message": error.message, "retryable": False}
            return DispatchedTask(
                replace(task, status=TaskStatus.FAILED, error=failure, completed_at=self._clock.now())
            )
        before = await self._store.turns.of_job(job.id, task.id) if task.attempt else []
        earlier = [
            call
            for earlier_turn in before
            if earlier_turn.workspace in (None, where)
            for call in await self._store.calls.of_turn(earlier_turn.id)
        ]
        turn_id = self._clock.new_id()
        begun = replace(
            task,
            status=TaskStatus.RUNNING,
            attempt=task.attempt + 1,
            turn_id=turn_id,
            worker=self._remote.assign(turn_id, task.id, step.needs) if self._remote is not None else None,
            waiting_for=None,
            agent=agent.name,
            workspace=where if is_private else None,
            result=None,
            started_at=self._clock.now(),
            completed_at=None,
        )
        done = state.named(sorted(set(task.dependencies), key=lambda task_id: state.tasks[task_id].ordinal))
        text = task_assignment(step, begun, done, earlier)
        quoted = quoted_in_assignment(begun, done, earlier)
        origins = join(
            await self._origins_of_plan(job.chat_id, job.plan_id),
            await self._store.origins.of_turns([task_done.turn_id for task_done in done]),
            *(earlier_turn.origins for earlier_turn in before),
        )
        message = self._records.assignment(job, begun, text, quoted, origins)
        turn = replace(self._records.turn(job, role=agent.role, message_id=message.id, task=begun), workspace=where)
        return DispatchedTask(begun, message, turn)

    async def _origins_of_plan(self, chat_id: str, plan_id: str | None) -> Origins:
        """Returns where the plan came from. It is read once: a large plan's message costs what all of its tasks cost."""
        if plan_id is None:
            return NO_ORIGINS
        if plan_id not in self._plan_origins:
            message = await self._store.messages.find(chat_id, plan_id)
            while len(self._plan_origins) >= MOST_PLANS:
                del self._plan_origins[next(iter(self._plan_origins))]
            self._plan_origins[plan_id] = message.came_from if message else NO_ORIGINS
        return self._plan_origins[plan_id]

    async def _interrupted_turn(self, job: Job, task: JobTask) -> Turn | None:
        """Returns the turn that a crash ended, if the task can go on in it: for the same plan, in a place that is still there."""
        turn = await self._store.turns.find(task.turn_id) if task.turn_id and is_interrupted(task) else None
        if turn is None or turn.reason is not EndReason.INTERRUPTED or turn.plan_id != job.plan_id:
            return None
        if turn.workspace is None or turn.workspace == job.workspace:
            return turn
        is_there = turn.workspace == task.workspace and await asyncio.to_thread(Path(turn.workspace).is_dir)
        return turn if is_there else None

    async def _write(self, job: Job, state: JobState, begun: Sequence[DispatchedTask]) -> None:
        """All assignments, turns and statuses become durable together, then the turns start."""
        events: list[NewEvent] = []
        for dispatched in begun:
            new_event = event_factory.task_started if dispatched.turn is not None else event_factory.task_ended
            events.append(new_event(dispatched.task))
        tasks = [dispatched.task for dispatched in begun]
        events.append(state.plan_update(job, tasks))
        turns = [dispatched.turn for dispatched in begun if dispatched.turn is not None]
        messages = [dispatched.message for dispatched in begun if dispatched.message is not None]
        await self._writer.begin(job, turns, *messages, *tasks, events=tuple(events))
