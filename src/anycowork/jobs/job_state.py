"""What the coordinator knows of a running job: its plan and tasks, and which may start. The store stays the truth: before each step
the tasks that changed are read, and after a fault all of them. So a step costs as much as what changed, not as much as the job."""

import asyncio
from collections.abc import Hashable, Iterable

from anycowork.domain import event_factory
from anycowork.domain.events import NewEvent
from anycowork.domain.jobs import Job, JobTask, plan_of
from anycowork.domain.plan import MOST_STEPS, Plan, PlanStatus, PlanStep, TaskGraph
from anycowork.domain.task_progress import TaskProgress, TaskStatus
from anycowork.store.sql.store import Store

_MOST_TASKS = 2 * MOST_STEPS  # in memory; a job that is dropped is read again


class JobState:
    """`tasks` are those of the present plan, in its order. `at_work` and `failed` are the ids of tasks with that status."""

    def __init__(self, plan: Plan, tasks: Iterable[JobTask], seq: int) -> None:
        self.plan = plan
        self.steps: dict[str, PlanStep] = {step.id: step for step in plan.steps}
        self._workers: dict[Hashable, PlanStep] = {_kind_of(step): step for step in plan.steps}
        self.tasks = {task.id: task for task in tasks if task.id in self.steps}
        self.seq = seq
        self._count()

    def _count(self) -> None:
        tasks = self.tasks.values()
        self.at_work = {task.id: None for task in tasks if task.status is TaskStatus.RUNNING}
        self.failed = {task.id: None for task in tasks if task.status is TaskStatus.FAILED}
        self.progress = TaskProgress(
            TaskGraph({task.id: task.dependencies for task in tasks}),
            {task.id: task.status for task in tasks},
            {step.id: _kind_of(step) for step in self.steps.values()},
        )
        # What can never start is written as skipped by the coordinator's next step.
        self.to_skip = {
            task.id: None
            for task in tasks
            if task.status is TaskStatus.PENDING and self.progress.statuses[task.id] is TaskStatus.SKIPPED
        }
        self.leftovers = {task.id: None for task in tasks if task.workspace is not None}

    def put(self, *tasks: JobTask) -> None:
        """The tasks as they are now. Those of an earlier plan are left out."""
        changed = [task for task in tasks if task.id in self.tasks and task != self.tasks[task.id]]
        before = [self.tasks[task.id] for task in changed]
        self.tasks |= {task.id: task for task in changed}
        if any(old.status.over and old.status is not new.status for old, new in zip(before, changed, strict=True)):
            self._count()  # a finished task waits again, and everything after it
            return
        for task in changed:
            self._put(task)

    def _put(self, task: JobTask) -> None:
        _move(self.at_work, task.id, present=task.status is TaskStatus.RUNNING)
        _move(self.failed, task.id, present=task.status is TaskStatus.FAILED)
        _move(self.leftovers, task.id, present=task.workspace is not None)
        self.to_skip.pop(task.id, None)
        if self.progress.statuses[task.id] is not task.status:
            self.to_skip |= dict.fromkeys(self.progress.put(task.id, task.status))

    def step_of(self, kind: Hashable) -> PlanStep:
        """A step of this kind: all of one kind get the same worker."""
        return self._workers[kind]

    def kind_of(self, task_id: str) -> Hashable:
        return _kind_of(self.steps[task_id])

    def copy_of(self, agent: str | None) -> str | None:
        """The copy that this agent's tasks of a race work in, if one of them has started."""
        return next((task.workspace for task in self.named(self.leftovers) if self.steps[task.id].agent == agent), None)

    def named(self, ids: Iterable[str]) -> list[JobTask]:
        return [self.tasks[task_id] for task_id in ids if task_id in self.tasks]

    @property
    def running(self) -> list[JobTask]:
        return self.named(self.at_work)

    @property
    def status(self) -> PlanStatus:
        if self.progress.completed:
            return PlanStatus.DONE
        return PlanStatus.BLOCKED if self.progress.over else PlanStatus.APPROVED

    def plan_update(self, job: Job, changed: Iterable[JobTask]) -> NewEvent:
        return event_factory.job_plan_update(job, self.tasks.values() if self.small else changed, self.status)

    @property
    def small(self) -> bool:
        """Whether each event about the plan names all steps."""
        return len(self.tasks) <= event_factory.MOST_STEPS_NAMED


class JobStates:
    """Keeps the states of the jobs that run now."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[str | None, JobState]] = {}

    async def find(self, job: Job) -> JobState | None:
        """The job's state as the store has it now; None if its plan cannot be read. Only inside the chat's lock."""
        plan_id, state = self._known.get(job.id, (None, None))
        if state is None or plan_id != job.plan_id:
            return await self._load(job.chat_id, job.id)
        changed, state.seq = await self._store.tasks.since(job.chat_id, job.id, state.seq)
        state.put(*changed)
        return state

    async def _load(self, chat_id: str, job_id: str) -> JobState | None:
        tasks, seq = await self._store.tasks.since(chat_id, job_id, -1)
        job = await self._store.jobs.find(job_id)
        tasks.sort(key=lambda task: (task.ordinal, task.id))
        if job is None:
            return None
        large = len(tasks) > event_factory.MOST_STEPS_NAMED
        state = await asyncio.to_thread(_state_of, job, tasks, seq) if large else _state_of(job, tasks, seq)
        if state is not None:
            self._known[job_id] = (job.plan_id, state)
            self._drop_oldest()
        return state

    def _drop_oldest(self) -> None:
        while len(self._known) > 1 and sum(len(state.tasks) for _, state in self._known.values()) > _MOST_TASKS:
            del self._known[next(iter(self._known))]

    def forget(self, job_id: str) -> None:
        """The job rests, or a step failed: the next one reads everything."""
        self._known.pop(job_id, None)


def _state_of(job: Job, tasks: list[JobTask], seq: int) -> JobState | None:
    plan = plan_of(tasks, job.plan or {})
    return None if plan is None else JobState(plan, tasks, seq)


def _kind_of(step: PlanStep) -> Hashable:
    return step.agent, step.role, step.needs


def _move(ids: dict[str, None], task_id: str, *, present: bool) -> None:
    if present:
        ids[task_id] = None
    else:
        ids.pop(task_id, None)
