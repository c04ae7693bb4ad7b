"""Jobs as people ask for them: created, approved, paused, resumed, cancelled, retried and looked at. The coordinator does the rest."""

import asyncio
from collections.abc import Sequence
from dataclasses import field

from anycowork.chats.chat_lock import ChatLock
from anycowork.chats.chat_title import NEW_CHAT, title_from
from anycowork.chats.plans import AS_SHOWN, PlanEdits, approved_plan, proposed_plan
from anycowork.chats.record_factory import RecordFactory, require_idle
from anycowork.domain import event_factory
from anycowork.domain.approvals import PlanRow, PlanState
from anycowork.domain.chats import Chat, ChatState
from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.events import NewEvent
from anycowork.domain.jobs import (
    CommitMode,
    Job,
    JobLimits,
    JobStatus,
    JobTask,
    OnFailure,
    continued,
    job_json,
    raced,
    tasks_of,
)
from anycowork.domain.journal import ApprovePlan, SetChat, Write
from anycowork.domain.messages import Json, MessageType, Speaker
from anycowork.domain.plan import Plan, read_plan
from anycowork.domain.plan_status import PlanStatus
from anycowork.domain.ports import Clock, Store
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.roles import Role
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace, value
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.jobs.isolated_tasks import IsolatedTasks
from anycowork.jobs.job_usage import usage_json
from anycowork.permissions.budgets import CostOf


@value
class NewJob:
    """What a person asks for: a request that is planned first, or a plan."""

    request: str | None = None
    plan: Json | None = field(default=None, hash=False)
    on_failure: OnFailure = OnFailure.RETRY
    parallel: int = 1
    limits: JobLimits = JobLimits()
    commit: CommitMode = CommitMode.TASK
    race: tuple[str, ...] = ()


class JobService:
    def __init__(
        self,
        *,
        chat_lock: ChatLock,
        store: Store,
        agents: AgentRegistry,
        coordinator: JobCoordinator,
        isolated: IsolatedTasks,
        clock: Clock,
        cost_of: CostOf,
    ) -> None:
        self._chat_lock = chat_lock
        self._store = store
        self._agents = agents
        self._coordinator = coordinator
        self._isolated = isolated
        self._clock = clock
        self._cost_of = cost_of
        self._draft = RecordFactory(clock)

    # --- reading

    async def show(self, job: Job) -> Json:
        """The whole job, with its tasks and what they used."""
        used = usage_json(await self._store.job_usage(job), cost_of=self._cost_of)
        return job_json(job, await self._store.tasks(job.id), used)

    async def require_job(self, job_id: str) -> Job:
        """Raises: NotFound."""
        job = await self._store.job(job_id)
        if job is None:
            raise NotFound("job", job_id)
        return job

    async def show_task(self, job_id: str, task_id: str) -> Json:
        """Raises: NotFound."""
        job = await self.require_job(job_id)
        task = _task(await self._store.tasks(job_id), task_id)
        used = usage_json(await self._store.job_usage(job), cost_of=self._cost_of)
        return task.to_json(used.get(task_id))

    # --- beginning

    async def create(self, principal: Principal, chat_id: str, wanted: NewJob) -> Job:
        """A request starts the planner's turn; a plan waits for approval at once. Raises: Invalid, Conflict, TurnAlreadyRunning."""
        principal.require(Scope.SEND)
        if (wanted.request is None) == (wanted.plan is None):
            raise Invalid("Send exactly one of 'request' (to be planned) or 'plan'.", param="request")
        plan = await asyncio.to_thread(proposed_plan, wanted.plan) if wanted.plan is not None else None
        if wanted.race:
            plan = self._race(wanted, plan)
        if plan is not None:
            self._agents.require_known(plan)
        async with self._chat_lock.exclusive(chat_id) as chat:
            await self._require_free(chat)
            job, writes, events = self._new(principal, chat, wanted, plan)
            await self._chat_lock.write(
                principal, chat_id, require_idle(chat), *writes, job, events=(*events, event_factory.job_updated(job))
            )
        self._coordinator.wake(chat_id)
        return job

    def _race(self, wanted: NewJob, plan: Plan | None) -> Plan:
        """The plan of a race. Raises: Invalid unless it is one task for at least two different agents."""
        if len(wanted.race) < 2 or len(set(wanted.race)) != len(wanted.race):
            raise Invalid("A race needs at least two different agents.", param="race")
        if plan is None:  # the request is the task: every agent gets it as it is
            plan = proposed_plan({"goal": wanted.request, "steps": [{"id": "race", "action": wanted.request}]})
        if len(plan.steps) != 1:
            raise Invalid(f"A race is about one task, and this plan has {len(plan.steps)} steps.", param="plan")
        return raced(plan, wanted.race)

    def _new(
        self, principal: Principal, chat: Chat, wanted: NewJob, plan: Plan | None
    ) -> tuple[Job, tuple[Write, ...], tuple[NewEvent, ...]]:
        request = wanted.request if wanted.request is not None else (plan.goal if plan else "") or "A plan"
        job_id, title = self._clock.new_id(), title_from(request) if chat.title == NEW_CHAT else None
        job = Job(
            id=job_id,
            chat_id=chat.id,
            request=request,
            message_id="",
            principal=principal.label(),
            on_failure=wanted.on_failure,
            parallel=wanted.parallel,
            limits=wanted.limits,
            commit=wanted.commit,
            race=wanted.race,
            created_at=self._clock.now(),
        )
        if plan is None:
            asked = replace(self._draft.message(chat, Speaker.USER, request), job_id=job_id)
            return replace(job, message_id=asked.id), (asked, SetChat(ChatState.RUNNING, title=title)), ()
        shown = plan.to_json()
        message = self._draft.message(chat, Speaker.USER, request, kind=MessageType.PLAN, payload=shown)
        message = replace(message, job_id=job_id)
        job = replace(job, message_id=message.id, plan_id=message.id, plan=shown, status=JobStatus.AWAITING_APPROVAL)
        row = PlanRow(message.id, chat.id, PlanState.OPEN)
        return (
            job,
            (message, row, SetChat(title=title)),
            (event_factory.plan_update(message.id, None, plan, PlanStatus.OPEN),),
        )

    # --- a person's decisions

    async def approve(self, principal: Principal, job_id: str, *, edits: PlanEdits = AS_SHOWN) -> Job:
        """What is approved here is what is executed; a planner's chat switches to actor. Raises: Conflict, Invalid, PlanSuperseded."""
        principal.require(Scope.DECIDE)
        job = await self.require_job(job_id)
        async with self._chat_lock.exclusive(job.chat_id) as chat:
            job = await self.require_job(job_id)
            if job.status is not JobStatus.AWAITING_APPROVAL or job.plan_id is None:
                raise Conflict(f"This job is {_words(job)}; it does not wait for approval.")
            await self._start(principal, chat, job, job.plan_id, edits)
        return await self._woken(job)

    async def approve_plan(
        self, principal: Principal, chat_id: str, plan_id: str, *, edits: PlanEdits = AS_SHOWN
    ) -> Job:
        """Runs a plan of the chat as a job. Raises: NotFound, Conflict, Invalid, PlanSuperseded."""
        principal.require(Scope.DECIDE)
        async with self._chat_lock.exclusive(chat_id) as chat:
            waiting = await self._store.jobs_in(JobStatus.AWAITING_APPROVAL, chat_id=chat_id)
            job = next((one for one in waiting if one.plan_id == plan_id), None)
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
        row, shown = await self._store.plan(plan_id), await self._store.message(chat.id, plan_id)
        if row is None or shown is None:
            raise NotFound("plan", plan_id)
        plan = await asyncio.to_thread(approved_plan, shown.payload or {}, edits)
        self._agents.require_known(plan)
        existing = await self._store.tasks(job.id)
        if existing:
            plan = continued(plan, await self._earlier_plan(existing), existing)
        running = replace(
            job, status=JobStatus.RUNNING, plan_id=plan_id, plan=plan.to_json(), request=job.request or plan.goal
        )
        tasks = self._tasks_for(plan, job, existing)
        role = Role.ACTOR if chat.role == Role.PLANNER else chat.role
        switch, switched = self._draft.switch(principal, chat, role)
        state = SetChat(ChatState.RUNNING, config=replace(chat.config, agent_role=role))
        approve = ApprovePlan(plan_id, plan.to_json(), principal.label(), None)
        events = (
            *switched,
            event_factory.plan_update(plan_id, None, plan, PlanStatus.APPROVED),
            event_factory.job_updated(running),
        )
        await self._chat_lock.write(
            principal, chat.id, require_idle(chat), approve, *switch, running, *tasks, state, events=events
        )

    async def _earlier_plan(self, tasks: Sequence[JobTask]) -> Plan | None:
        """The plan that the newest completed task was a step of; it holds the steps that were completed before."""
        done = [task for task in tasks if task.status is TaskStatus.COMPLETED and task.turn_id is not None]
        turns = [await self._store.turn(task.turn_id or "") for task in done]
        newest = max((turn for turn in turns if turn is not None), key=lambda turn: turn.id, default=None)
        row = await self._store.plan(newest.plan_id) if newest is not None and newest.plan_id else None
        return read_plan(row.approved) if row is not None and row.approved else None

    def _tasks_for(self, plan: Plan, job: Job, existing: Sequence[JobTask]) -> list[JobTask]:
        """The tasks of a newly approved plan. Completed ones stay as they are; those that it no longer has are skipped."""
        at = self._clock.now()
        done = {task.id for task in existing if task.status is TaskStatus.COMPLETED}
        new = [one for one in tasks_of(plan, job_id=job.id, chat_id=job.chat_id, at=at) if one.id not in done]
        names = {one.id for one in new} | done
        error: Json = {"code": "replanned", "message": "A new plan replaced it.", "retryable": False}
        gone = [
            replace(one, status=TaskStatus.SKIPPED, error=error, completed_at=at)
            for one in existing
            if one.id not in names
        ]
        return [*new, *gone]

    async def pause(self, principal: Principal, job_id: str) -> Job:
        """The task at work is finished, and no other starts. Raises: Conflict."""
        return await self._change(principal, job_id, JobStatus.RUNNING, JobStatus.PAUSED)

    async def resume(self, principal: Principal, job_id: str) -> Job:
        """Raises: Conflict."""
        return await self._change(principal, job_id, JobStatus.PAUSED, JobStatus.RUNNING)

    async def _change(self, principal: Principal, job_id: str, before: JobStatus, after: JobStatus) -> Job:
        principal.require(Scope.DECIDE)
        job = await self.require_job(job_id)
        async with self._chat_lock.exclusive(job.chat_id):
            job = await self.require_job(job_id)
            if job.status is not before:
                raise Conflict(f"This job is {_words(job)}, not {before.value}.")
            job = replace(job, status=after)
            await self._chat_lock.write(principal, job.chat_id, job, events=(event_factory.job_updated(job),))
        return await self._woken(job)

    async def cancel(self, principal: Principal, job_id: str) -> Job:
        """What runs is stopped, what has not started never starts. Raises: Conflict if the job is over."""
        principal.require(Scope.SEND)
        job = await self.require_job(job_id)
        async with self._chat_lock.exclusive(job.chat_id) as chat:
            job = await self.require_job(job_id)
            if job.status.over:
                raise Conflict(f"This job is {_words(job)} already.")
            turns = await self._store.current_turns(chat.id)
            held = all(turn.job_id == job_id for turn in turns)
            if turns and held:
                await self._chat_lock.stop(principal, chat.id)
            at = self._clock.now()
            before = await self._store.tasks(job_id)
            tasks = [
                replace(task, status=TaskStatus.CANCELLED, workspace=None, completed_at=at)
                for task in before
                if not task.status.over
            ]
            await self._isolated.remove_all(job, before)
            job = replace(job, status=JobStatus.CANCELLED, workspace=None, completed_at=at)
            state = (SetChat(ChatState.IDLE),) if held else ()
            ended = event_factory.job_completed(job, ChatState.IDLE if held else None)
            events = (*map(event_factory.task_ended, tasks), ended)
            await self._chat_lock.write(principal, chat.id, *tasks, job, *state, events=events)
        return job

    async def retry(self, principal: Principal, job_id: str, task_id: str) -> Job:
        """A failed task is tried again, and what was skipped because of it waits for it again. Raises: Conflict, NotFound."""
        principal.require(Scope.DECIDE)
        job = await self.require_job(job_id)
        async with self._chat_lock.exclusive(job.chat_id):
            job = await self.require_job(job_id)
            tasks = await self._store.tasks(job_id)
            task = _task(tasks, task_id)
            if job.status not in _RESTING or task.status is not TaskStatus.FAILED:
                raise Conflict(
                    f"Task {task_id[:80]} is {task.status.value} and the job is {_words(job)}; only a failed task of a failed or "
                    "paused job can be retried."
                )
            if job.status is not JobStatus.PAUSED:
                await self._require_free(await self._chat(job))
            again = [
                replace(one, status=TaskStatus.PENDING, failures=0, interruptions=0, completed_at=None)
                for one in tasks
                if one.id == task_id or (one.status is TaskStatus.SKIPPED and not _is_replaced(one))
            ]
            job = replace(job, status=JobStatus.RUNNING, error=None, completed_at=None)
            await self._chat_lock.write(principal, job.chat_id, *again, job, events=(event_factory.job_updated(job),))
        return await self._woken(job)

    async def replan(self, principal: Principal, job_id: str) -> Job:
        """The planning agent plans the rest anew; a person approves it. Raises: Conflict."""
        principal.require(Scope.DECIDE)
        job = await self.require_job(job_id)
        async with self._chat_lock.exclusive(job.chat_id) as chat:
            job = await self.require_job(job_id)
            if job.status not in _RESTING or job.race:
                raise Conflict(f"This job is {_words(job)}; only a failed or paused one can be planned anew.")
            if await self._store.current_turns(chat.id):
                raise require_idle(chat).error
            if job.status is not JobStatus.PAUSED:
                await self._require_free(chat)
            await self._coordinator.replan(job, await self._store.tasks(job_id))
        return await self._woken(job)

    # --- the parts

    async def _woken(self, job: Job) -> Job:
        self._coordinator.wake(job.chat_id)
        return await self.require_job(job.id)

    async def _chat(self, job: Job) -> Chat:
        chat = await self._store.chat(job.chat_id)
        if chat is None:
            raise NotFound("chat", job.chat_id)
        return chat

    async def _require_free(self, chat: Chat) -> None:
        """One job at a time works in a chat. Raises: Conflict."""
        live = await self._store.jobs_in(JobStatus.PLANNING, JobStatus.RUNNING, JobStatus.PAUSED, chat_id=chat.id)
        if live:
            raise Conflict(f"Job {live[0].id} of this chat is {_words(live[0])}. Cancel it first, or use another chat.")


def _task(tasks: list[JobTask], task_id: str) -> JobTask:
    task = next((one for one in tasks if one.id == task_id), None)
    if task is None:
        raise NotFound("task", task_id)
    return task


_RESTING = (JobStatus.FAILED, JobStatus.PAUSED, JobStatus.AWAITING_COMMIT)


def _is_replaced(task: JobTask) -> bool:
    return (task.error or {}).get("code") == "replanned"


def _words(job: Job) -> str:
    return job.status.value.replace("_", " ")
