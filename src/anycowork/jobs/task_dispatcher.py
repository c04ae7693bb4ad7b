"""Gives ready tasks to workers: which may start now, where they work, and what they read."""

from collections.abc import Callable, Collection, Hashable, Sequence

from anycowork.domain import event_factory
from anycowork.domain.chats import Chat, Turn
from anycowork.domain.errors import AnyCoworkError, StorageFault
from anycowork.domain.events import NewEvent
from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.messages import Json, Message
from anycowork.domain.plan import PlanStep
from anycowork.domain.ports import Clock, Store
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace, value
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.isolated_tasks import IsolatedTasks
from anycowork.jobs.job_records import JobRecords
from anycowork.jobs.job_state import JobState
from anycowork.jobs.job_writer import JobWriter
from anycowork.jobs.task_briefs import quoted_in_assignment, task_assignment


@value
class DispatchedTask:
    """A task with its assignment and its turn; with neither if there is no place for it to work in, then it has failed."""

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
    ) -> None:
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
        while room > 0 and (task := self.next_task(state, self._startable(job, state, readers, full))) is not None:
            one = await self.execute_task(job, state, task, chat=chat)
            state.put(one.task)
            begun.append(one)
            if one.turn is not None:
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

    def next_task(self, state: JobState, kinds: Collection[Hashable] | None = None) -> JobTask | None:
        """The first of the ready tasks, of these kinds if some are named."""
        found = state.progress.next_ready(state.progress.ready_kinds() if kinds is None else kinds)
        return None if found is None else state.tasks[found]

    def _reads(self, step: PlanStep, chat: Chat) -> bool:
        return self._agents.only_reads(self._agents.worker(step), parent=chat.role)

    async def execute_task(self, job: Job, state: JobState, task: JobTask, *, chat: Chat) -> DispatchedTask:
        """Gives the task to a worker: returns its assignment, its turn and its new status."""
        step = state.steps[task.id]
        agent = self._agents.worker(step)
        try:
            where, own = await self._isolated.workspace_for(
                job, chat, reads=self._reads(step, chat), candidate=state.copy_of(step.agent) if job.race else None
            )
        except StorageFault:
            raise
        except AnyCoworkError as error:
            failure: Json = {"code": error.code, "message": error.message, "retryable": False}
            return DispatchedTask(
                replace(task, status=TaskStatus.FAILED, error=failure, completed_at=self._clock.now())
            )
        before = await self._store.job_turns(job.id, task.id) if task.attempt else []
        earlier = [call for one in before if one.workspace in (None, where) for call in await self._store.calls(one.id)]
        begun = replace(
            task,
            status=TaskStatus.RUNNING,
            attempt=task.attempt + 1,
            turn_id=self._clock.new_id(),
            agent=agent.name,
            workspace=where if own else None,
            result=None,
            started_at=self._clock.now(),
            completed_at=None,
        )
        done = state.named(sorted(set(task.dependencies), key=lambda one: state.tasks[one].ordinal))
        text = task_assignment(step, begun, done, earlier)
        message = self._records.assignment(job, begun, text, quoted_in_assignment(begun, done))
        turn = replace(self._records.turn(job, role=agent.role, message_id=message.id, task=begun), workspace=where)
        return DispatchedTask(begun, message, turn)

    async def _write(self, job: Job, state: JobState, begun: Sequence[DispatchedTask]) -> None:
        """All assignments, turns and statuses become durable together, then the turns start."""
        events: list[NewEvent] = []
        for one in begun:
            new_event = event_factory.task_started if one.turn is not None else event_factory.task_ended
            events.append(new_event(one.task))
        tasks = [one.task for one in begun]
        events.append(state.plan_update(job, tasks))
        turns = [one.turn for one in begun if one.turn is not None]
        messages = [one.message for one in begun if one.message is not None]
        await self._writer.begin(job, turns, *messages, *tasks, events=tuple(events))
