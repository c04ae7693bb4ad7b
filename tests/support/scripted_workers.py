"""The coordinator of jobs with its real journal, store and chat lock, over workers that report success at once."""

import asyncio
from collections.abc import Sequence

from anycowork.chats.jobs.job_drafts import JobDrafts, NewJob
from anycowork.domain import event_factory
from anycowork.domain.chats import ChatState, EndReason, Turn, TurnState
from anycowork.domain.jobs import Job, JobStatus
from anycowork.domain.journal import ApprovePlan, Change, SetChat
from anycowork.domain.people import AccessLevel
from anycowork.domain.plan import Plan, PlanStatus, PlanStep
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, PrincipalKind
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.jobs.isolated_tasks import IsolatedTasks
from anycowork.permissions.roles import RoleRegistry
from anycowork.store.sqlite.database import Database
from anycowork.turns.chat_coordinator import ChatCoordinator

PERSON = Principal(id="owner", kind=PrincipalKind.PERSON, name="Owner", access=AccessLevel.ADMIN)
SIDE_BY_SIDE = 64


def wide_plan(count: int) -> Plan:
    """Each task depends on a few at some distance before it, so that many are ready at any time. All of them only read."""
    steps = tuple(
        PlanStep(
            id=f"t{number}",
            step_number=number + 1,
            action="look",
            role="planner",
            dependencies=tuple(f"t{number - distance}" for distance in (97, 193, 389) if number >= distance),
        )
        for number in range(count)
    )
    return Plan(goal="Look at everything", steps=steps)


class ScriptedWorkers:
    """A `TurnEngine`: every turn ends at once, a worker's with its task completed, the last one with the job completed."""

    def __init__(self, database: Database, clock: Clock, tasks: asyncio.TaskGroup) -> None:
        self._database = database
        self._clock = clock
        self._tasks = tasks
        self.coordinator: JobCoordinator | None = None
        self.done = asyncio.Event()

    def start(self, turn: Turn) -> None:
        self._tasks.create_task(self._work(turn))

    async def stop(self, turn: Turn, *, principal: str, note: str) -> None:
        raise AssertionError("no turn is stopped here")

    async def _work(self, turn: Turn) -> None:
        store, at = self._database.store, self._clock.now()
        ended = replace(turn, state=TurnState.ENDED, reason=EndReason.ANSWERED)
        if turn.task_id is None:
            job = await store.jobs.find(turn.job_id or "", with_plan=False)
            assert job is not None
            over = replace(job, status=JobStatus.COMPLETED, final_response="Done.", completed_at=at)
            writes = (over, ended, SetChat(ChatState.IDLE))
            await self._database.journal.write(Change(turn.chat_id, writes, (event_factory.job_completed(over),)))
            self.done.set()
            return
        task = await store.tasks.find(turn.job_id or "", turn.task_id)
        assert task is not None
        task = replace(task, status=TaskStatus.COMPLETED, result="looked", completed_at=at)
        events = (event_factory.task_ended(task), event_factory.turn_ended(ended, ChatState.RUNNING))
        await self._database.journal.write(Change(turn.chat_id, (task, ended), events))
        assert self.coordinator is not None
        self.coordinator.wake(turn.chat_id)


async def run_job(database: Database, clock: Clock, chat_id: str, plan: Plan) -> Job:
    """Approve the plan as a job and run it to its end."""
    async with asyncio.TaskGroup() as tasks:
        workers = ScriptedWorkers(database, clock, tasks)
        lock = ChatCoordinator(journal=database.journal, store=database.store, scheduler=workers)
        workers.coordinator = JobCoordinator(
            journal=database.journal,
            store=database.store,
            turns=lock,
            agents=AgentRegistry(list, RoleRegistry()),
            isolated=IsolatedTasks(_NoCopies(), None),  # type: ignore[arg-type]  # nothing is committed: all tasks read
            clock=clock,
            tasks=tasks,
            parallel_tasks=lambda: SIDE_BY_SIDE,
        )
        job = await _approved(database, clock, chat_id, plan)
        workers.coordinator.wake(chat_id)
        await workers.done.wait()
    found = await database.store.jobs.find(job.id)
    assert found is not None
    return found


async def _approved(database: Database, clock: Clock, chat_id: str, plan: Plan) -> Job:
    chat = await database.store.chats.find(chat_id)
    assert chat is not None
    drafts = JobDrafts(clock)
    job, writes, events = drafts.new(PERSON, chat, NewJob(plan=plan.to_json()), plan)
    running = replace(job, status=JobStatus.RUNNING)
    assert job.plan_id is not None
    approve = ApprovePlan(job.plan_id, plan.to_json(), PERSON.label(), None)
    told = (*events, event_factory.plan_update(job.plan_id, None, plan, PlanStatus.APPROVED))
    tasks = drafts.tasks_for(plan, job, ())
    await database.journal.write(Change(chat_id, (*writes, approve, running, *tasks), told))
    return running


class _NoCopies:
    async def create(self, root: str) -> str:
        raise AssertionError("a task that reads needs no copy")

    async def remove(self, copy: str) -> None: ...
    async def has_commits(self, copy: str) -> bool:
        return False

    async def keep_only(self, needed: Sequence[str]) -> None: ...
