"""Jobs as people ask for them: created, approved, paused, resumed, cancelled, retried and looked at. The coordinator does the rest."""

import asyncio
from collections.abc import Callable, Sequence

from anycowork.chats.jobs.job_drafts import JobDrafts, NewJob, earlier_plan, race_plan
from anycowork.chats.message_hooks import MessageHooks
from anycowork.chats.plans import AS_SHOWN, PlanEdits, approved_plan, proposed_plan
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat, ChatState
from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.evidence import split_stated
from anycowork.domain.jobs import (
    Job,
    JobLimits,
    JobStatus,
    JobTask,
    continued,
    job_json,
)
from anycowork.domain.journal import ApprovePlan, SetChat
from anycowork.domain.messages import Json, Message
from anycowork.domain.plan import PlanStatus
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.roles import Role
from anycowork.domain.schedules import StartedBy
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.jobs.isolated_tasks import IsolatedTasks
from anycowork.jobs.job_budgets import usage_json
from anycowork.permissions.budgets import CostOf
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.record_factory import RecordFactory, noted, require_idle

MOST_TASKS = 500  # in one answer


class JobService:
    def __init__(
        self,
        *,
        chat_coordinator: ChatCoordinator,
        store: Store,
        agents: AgentRegistry,
        coordinator: JobCoordinator,
        isolated: IsolatedTasks,
        clock: Clock,
        cost_of: CostOf,
        parallel_tasks: Callable[[], int],
        hooks: MessageHooks,
    ) -> None:
        self._hooks = hooks
        self._chat_coordinator = chat_coordinator
        self._store = store
        self._agents = agents
        self._coordinator = coordinator
        self._isolated = isolated
        self._clock = clock
        self._cost_of = cost_of
        self._parallel_tasks = parallel_tasks
        self._draft = RecordFactory(clock)
        self._drafts = JobDrafts(clock)

    # --- reading

    async def show(self, job: Job) -> Json:
        """The job, with its first tasks and what they used; `task_page` has the others."""
        if job.plan is None and job.plan_id is not None:
            job = await self._store.jobs.find(job.id) or job
        tasks = await self._store.tasks.page(job.id, limit=MOST_TASKS)
        counts = await self._store.tasks.counts(job.id)
        used = await self._usage(job.id, tasks)
        if not job.status.over and (away := await self._coordinator.find_away(job)) is not None:
            job = replace(job, error=event_factory.error_json(away))
        return job_json(job, tasks, used, counts, parallel_tasks=self._parallel_tasks())

    async def task_page(self, job_id: str, *, after: str | None, limit: int) -> Json:
        """The tasks behind this one, in the order of the plan, and the cursor for the page beyond. Raises: NotFound."""
        await self.require_job(job_id)
        tasks = await self._store.tasks.page(job_id, after=after, limit=limit)
        used = await self._usage(job_id, tasks)
        further: Json = {"next": tasks[-1].id} if len(tasks) == limit else {}
        return {"tasks": [task.to_json(used.get(task.id)) for task in tasks], **further}

    async def _usage(self, job_id: str, tasks: Sequence[JobTask]) -> dict[str | None, Json]:
        by_task = await self._store.usage.of_job(job_id, task_ids=[task.id for task in tasks])
        return usage_json(await self._store.usage.of_whole_job(job_id), by_task, cost_of=self._cost_of)

    async def require_job(self, job_id: str) -> Job:
        """The job without its plan. Raises: NotFound."""
        job = await self._store.jobs.find(job_id, with_plan=False)
        if job is None:
            raise NotFound("job", job_id)
        return job

    async def show_task(self, job_id: str, task_id: str) -> Json:
        """Raises: NotFound."""
        await self.require_job(job_id)
        task = await self._store.tasks.find(job_id, task_id)
        if task is None:
            raise NotFound("task", task_id)
        used = await self._usage(job_id, [task])
        return task.to_json(used.get(task_id))

    # --- beginning

    async def create(
        self, principal: Principal, chat_id: str, new_job: NewJob, started_by: StartedBy | None = None
    ) -> Job:
        """A request starts the planner's turn; a plan waits for approval at once. Raises: Invalid, Conflict, TurnAlreadyRunning."""
        principal.require(Scope.SEND)
        if (new_job.request is None) == (new_job.plan is None):
            raise Invalid("Send exactly one of 'request' (to be planned), 'plan' and 'template'.", param="request")
        split_stated(new_job.request or "")  # a line `/expect` that states nothing is refused
        plan = await asyncio.to_thread(proposed_plan, new_job.plan) if new_job.plan is not None else None
        if new_job.race:
            plan = race_plan(new_job.race, new_job.request, plan)
        if plan is not None:
            self._agents.require_known(plan, new_job.race)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            await self._require_free(chat)
            runs = await self._hooks.before(principal, chat, new_job.request) if new_job.request is not None else ()
            job, writes, events = self._drafts.new(principal, chat, new_job, plan, runs)
            if started_by is not None:
                noted_writes = (noted(write, started_by) if isinstance(write, Message) else write for write in writes)
                writes = (started_by.claim(job.id), *noted_writes)
            await self._chat_coordinator.write(
                principal, chat_id, require_idle(chat), *writes, job, events=(*events, event_factory.job_updated(job))
            )
        self._coordinator.wake(chat_id)
        return job

    # --- a person's decisions

    async def approve(self, principal: Principal, job_id: str, *, edits: PlanEdits = AS_SHOWN) -> Job:
        """What is approved here is what is executed; a planner's chat switches to actor. Raises: Conflict, Invalid, PlanSuperseded."""
        principal.require(Scope.DECIDE)
        job = await self.require_job(job_id)
        async with self._chat_coordinator.exclusive(job.chat_id) as chat:
            job = await self.require_job(job_id)
            if job.status is not JobStatus.AWAITING_APPROVAL or job.plan_id is None:
                raise Conflict(f"This job is {_words(job)}; it does not wait for approval.")
            await self._coordinator.require_reachable(job)
            await self._start(principal, chat, job, job.plan_id, edits)
        return await self._woken(job)

    async def approve_plan(
        self, principal: Principal, chat_id: str, plan_id: str, *, edits: PlanEdits = AS_SHOWN
    ) -> Job:
        """Runs a plan of the chat as a job. Raises: NotFound, Conflict, Invalid, PlanSuperseded."""
        principal.require(Scope.DECIDE)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            waiting = await self._store.jobs.in_states(JobStatus.AWAITING_APPROVAL, chat_id=chat_id)
            job = next((waiting_job for waiting_job in waiting if waiting_job.plan_id == plan_id), None)
            if job is None:
                await self._require_free(chat)
                job = Job(
                    id=self._clock.new_id(),
                    chat_id=chat_id,
                    request="",
                    message_id=plan_id,
                    principal=principal.label(),
                    created_at=self._clock.now(),
                )
            await self._start(principal, chat, job, plan_id, edits)
        return await self._woken(job)

    async def _start(self, principal: Principal, chat: Chat, job: Job, plan_id: str, edits: PlanEdits) -> None:
        row, message = await self._store.plans.find(plan_id), await self._store.messages.find(chat.id, plan_id)
        if row is None or message is None:
            raise NotFound("plan", plan_id)
        plan = await asyncio.to_thread(approved_plan, message.payload or {}, edits)
        self._agents.require_known(plan, job.race)
        existing = await self._store.tasks.of_job(job.id)
        if existing:
            plan = continued(plan, await earlier_plan(self._store, existing), existing)
        running = replace(
            job, status=JobStatus.RUNNING, plan_id=plan_id, plan=plan.to_json(), request=job.request or plan.goal
        )
        tasks = self._drafts.tasks_for(plan, job, existing)
        role = Role.ACTOR if chat.role == Role.PLANNER else chat.role
        switch, switched = self._draft.switch(principal, chat, role)
        state = SetChat(ChatState.RUNNING, config=replace(chat.config, agent_role=role))
        approve = ApprovePlan(plan_id, plan.to_json(), principal.label(), None)
        events = (
            *switched,
            event_factory.plan_update(plan_id, None, plan, PlanStatus.APPROVED),
            event_factory.job_updated(running),
        )
        await self._chat_coordinator.write(
            principal, chat.id, require_idle(chat), approve, *switch, running, *tasks, state, events=events
        )

    async def pause(self, principal: Principal, job_id: str) -> Job:
        """Pauses the job: running tasks finish, and no new ones start. Raises: Conflict."""
        return await self._change(principal, job_id, JobStatus.RUNNING, JobStatus.PAUSED)

    async def resume(self, principal: Principal, job_id: str) -> Job:
        """Raises: Conflict."""
        return await self._change(principal, job_id, JobStatus.PAUSED, JobStatus.RUNNING)

    async def _change(self, principal: Principal, job_id: str, before: JobStatus, after: JobStatus) -> Job:
        principal.require(Scope.DECIDE)
        job = await self.require_job(job_id)
        async with self._chat_coordinator.exclusive(job.chat_id):
            job = await self.require_job(job_id)
            if job.status is not before:
                raise Conflict(f"This job is {_words(job)}, not {before.value}.")
            if after is JobStatus.RUNNING:
                await self._coordinator.require_reachable(job)
            job = replace(job, status=after)
            await self._chat_coordinator.write(principal, job.chat_id, job, events=(event_factory.job_updated(job),))
        return await self._woken(job)

    async def cancel(self, principal: Principal, job_id: str) -> Job:
        """What runs is stopped, what has not started never starts. Raises: Conflict if the job is over."""
        principal.require(Scope.SEND)
        job = await self.require_job(job_id)
        async with self._chat_coordinator.exclusive(job.chat_id) as chat:
            job = await self.require_job(job_id)
            if job.status.over:
                raise Conflict(f"This job is {_words(job)} already.")
            live = await self._store.turns.all_current(chat.id)
            job = await self._coordinator.canceller.cancel(
                job, live, by=principal.label(), note="Stopped by the person."
            )
        self._coordinator.wake(job.chat_id)
        return job

    async def retry(self, principal: Principal, job_id: str, task_id: str) -> Job:
        """A failed task is tried again, and what was skipped because of it waits for it again. Raises: Conflict, NotFound."""
        principal.require(Scope.DECIDE)
        job = await self.require_job(job_id)
        async with self._chat_coordinator.exclusive(job.chat_id):
            job = await self.require_job(job_id)
            tasks = await self._store.tasks.of_job(job_id)
            task = _task(tasks, task_id)
            if job.status not in _RESTING or task.status is not TaskStatus.FAILED:
                raise Conflict(
                    f"Task {task_id[:80]} is {task.status.value} and the job is {_words(job)}; only a failed task of a failed or "
                    "paused job can be retried."
                )
            await self._coordinator.require_reachable(job)
            if job.status is not JobStatus.PAUSED:
                await self._require_free(await self._chat(job))
            again = [
                replace(other, status=TaskStatus.PENDING, failures=0, interruptions=0, completed_at=None)
                for other in tasks
                if other.id == task_id or (other.status is TaskStatus.SKIPPED and not _is_replaced(other))
            ]
            job = replace(job, status=JobStatus.RUNNING, error=None, completed_at=None)
            await self._chat_coordinator.write(
                principal, job.chat_id, *again, job, events=(event_factory.job_updated(job),)
            )
        return await self._woken(job)

    async def set_limits(self, principal: Principal, job_id: str, limits: JobLimits) -> Job:
        """The job may use this from now on; one that stopped at a limit goes on. Raises: Conflict if it is over for another reason."""
        principal.require(Scope.DECIDE)
        job = await self.require_job(job_id)
        async with self._chat_coordinator.exclusive(job.chat_id) as chat:
            job = replace(await self.require_job(job_id), limits=limits)
            tasks = await self._store.tasks.of_job(job_id)
            limited = [task for task in tasks if _met_a_limit(task)]
            if job.status.over and not limited:
                raise Conflict(f"This job is {_words(job)}, and no limit stopped it.")
            writes: list[JobTask] = []
            if limited and job.status in _RESTING:
                if job.status is not JobStatus.PAUSED:
                    await self._require_free(chat)
                skipped = [task for task in tasks if task.status is TaskStatus.SKIPPED and not _is_replaced(task)]
                writes = [
                    replace(task, status=TaskStatus.PENDING, failures=0, error=None, completed_at=None)
                    for task in (*limited, *skipped)
                ]
                job = replace(job, status=JobStatus.RUNNING, error=None, completed_at=None)
            await self._chat_coordinator.write(
                principal, job.chat_id, *writes, job, events=(event_factory.job_updated(job),)
            )
        return await self._woken(job)

    async def replan(self, principal: Principal, job_id: str) -> Job:
        """The planning agent plans the rest anew; a person approves it. Raises: Conflict."""
        principal.require(Scope.DECIDE)
        job = await self.require_job(job_id)
        async with self._chat_coordinator.exclusive(job.chat_id) as chat:
            job = await self.require_job(job_id)
            if job.status not in _RESTING or job.race:
                raise Conflict(f"This job is {_words(job)}; only a failed or paused one can be planned anew.")
            await self._coordinator.require_reachable(job)
            if await self._store.turns.all_current(chat.id):
                raise require_idle(chat).error
            if job.status is not JobStatus.PAUSED:
                await self._require_free(chat)
            await self._coordinator.replan(job, await self._store.tasks.of_job(job_id))
        return await self._woken(job)

    # --- the parts

    async def _woken(self, job: Job) -> Job:
        self._coordinator.wake(job.chat_id)
        return await self.require_job(job.id)

    async def _chat(self, job: Job) -> Chat:
        chat = await self._store.chats.find(job.chat_id)
        if chat is None:
            raise NotFound("chat", job.chat_id)
        return chat

    async def _require_free(self, chat: Chat) -> None:
        """One job at a time works in a chat. Raises: Conflict."""
        live = await self._store.jobs.in_states(
            JobStatus.PLANNING, JobStatus.RUNNING, JobStatus.PAUSED, chat_id=chat.id
        )
        if live:
            raise Conflict(f"Job {live[0].id} of this chat is {_words(live[0])}. Cancel it first, or use another chat.")


def _task(tasks: list[JobTask], task_id: str) -> JobTask:
    task = next((candidate for candidate in tasks if candidate.id == task_id), None)
    if task is None:
        raise NotFound("task", task_id)
    return task


_RESTING = (JobStatus.FAILED, JobStatus.PAUSED, JobStatus.AWAITING_COMMIT)


def _met_a_limit(task: JobTask) -> bool:
    return task.status is TaskStatus.FAILED and (task.error or {}).get("code") == "limit_reached"


def _is_replaced(task: JobTask) -> bool:
    return (task.error or {}).get("code") == "replanned"


def _words(job: Job) -> str:
    return job.status.value.replace("_", " ")
