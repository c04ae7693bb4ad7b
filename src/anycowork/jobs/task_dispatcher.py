"""Gives ready tasks to workers: which may start now, where they work, and what they are told."""

from collections.abc import Callable, Sequence

from anycowork.domain import event_factory
from anycowork.domain.chats import Chat
from anycowork.domain.errors import AnyCoworkError, StorageFault
from anycowork.domain.jobs import Job, JobTask, progress_of_tasks
from anycowork.domain.messages import Json
from anycowork.domain.plan import Plan
from anycowork.domain.ports import Clock, Store
from anycowork.domain.task_progress import TaskProgress, TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.isolated_tasks import IsolatedTasks
from anycowork.jobs.job_records import JobRecords
from anycowork.jobs.job_writer import JobWriter
from anycowork.jobs.task_briefs import task_assignment


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

    async def dispatch(self, job: Job, chat: Chat, plan: Plan, tasks: list[JobTask]) -> bool:
        """Starts the ready tasks that there is room for: readers side by side, writers as many as the job allows."""
        started = False
        at_work = [task for task in tasks if task.status is TaskStatus.RUNNING]
        writers = sum(not self._reads(plan, task, chat) for task in at_work)
        room = self._parallel_tasks() - len(at_work)
        for task in self.ready_tasks(tasks, progress_of_tasks(tasks)):
            if room <= 0:
                break
            reads = self._reads(plan, task, chat)
            if not reads and writers >= max(job.parallel, len(job.race)):
                continue
            begun = await self.execute_task(job, plan, task, tasks, chat=chat)
            tasks[:] = [begun if one.id == task.id else one for one in tasks]
            started = True
            if begun.status is TaskStatus.RUNNING:
                room, writers = room - 1, writers + (not reads)
        return started

    def can_execute(self, task: JobTask, progress: TaskProgress) -> bool:
        """Whether the task has not started and all that it depends on is completed."""
        return progress.can_execute(task.id)

    def ready_tasks(self, tasks: Sequence[JobTask], progress: TaskProgress) -> list[JobTask]:
        """Those that may start now, the longest chain of dependants first."""
        known = {task.id: task for task in tasks}
        return [known[task_id] for task_id in progress.ready()]

    def _reads(self, plan: Plan, task: JobTask, chat: Chat) -> bool:
        step = plan.step(task.id)
        assert step is not None, "a task is a step of its plan"
        return self._agents.only_reads(self._agents.worker(step), parent=chat.role)

    async def execute_task(
        self, job: Job, plan: Plan, task: JobTask, tasks: Sequence[JobTask], *, chat: Chat
    ) -> JobTask:
        """Gives the task to a worker: its assignment, its turn and its status become durable together, then the turn starts."""
        step = plan.step(task.id)
        assert step is not None, "a task is a step of its plan"
        agent = self._agents.worker(step)
        try:
            where, own = await self._isolated.workspace_for(job, chat, reads=self._reads(plan, task, chat))
        except StorageFault:
            raise
        except AnyCoworkError as error:
            return await self._not_begun(job, task, tasks, error)
        before = await self._store.job_turns(job.id, task.id)
        earlier = [call for one in before if one.workspace is None for call in await self._store.calls(one.id)]
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
        needed = set(task.dependencies)
        done = [one for one in tasks if one.id in needed]
        message = self._records.assignment(job, begun, task_assignment(step, begun, done, earlier))
        turn = replace(self._records.turn(job, role=agent.role, message_id=message.id, task=begun), workspace=where)
        shown = [begun if one.id == task.id else one for one in tasks]
        events = (event_factory.task_started(begun), event_factory.job_plan_update(job, shown, [begun]))
        await self._writer.begin(job, turn, message, begun, events=events)
        return begun

    async def _not_begun(self, job: Job, task: JobTask, tasks: Sequence[JobTask], error: AnyCoworkError) -> JobTask:
        """A task that has no place to work in fails without an attempt."""
        said: Json = {"code": error.code, "message": error.message, "retryable": False}
        failed = replace(task, status=TaskStatus.FAILED, error=said, completed_at=self._clock.now())
        shown = [failed if one.id == task.id else one for one in tasks]
        events = (event_factory.task_ended(failed), event_factory.job_plan_update(job, shown, [failed]))
        await self._writer.write(job, failed, events=events)
        return failed
