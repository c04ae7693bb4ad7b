"""Runs one turn of a job: the planner's, a worker's, or the primary agent's last one. What follows is the coordinator's."""

from collections.abc import Awaitable, Callable

from pydantic import JsonValue

from anycowork.agent.loop import Agent
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain import event_factory
from anycowork.domain.agents import AgentSpec
from anycowork.domain.chats import Autonomy, ChatState, EndReason, Limits, Turn, TurnState
from anycowork.domain.errors import NotFound
from anycowork.domain.jobs import Job, JobStatus, JobTask
from anycowork.domain.journal import Change, SetChat
from anycowork.domain.messages import Speaker
from anycowork.domain.ports import Clock, Journal, Store
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.approved_plans import ApprovedPlans
from anycowork.jobs.job_budgets import JobBudgets
from anycowork.jobs.policies import ClosingPolicy, PlanningPolicy, TaskPolicy, proved
from anycowork.jobs.task_briefs import history_page
from anycowork.jobs.task_commits import KEEP_TASK, KEEP_WORKSPACE, choice_key
from anycowork.permissions.budgets import CostOf
from anycowork.prompts.text_files import prose

ContextOf = Callable[[Turn, str | None], Awaitable[TurnContext]]
"""The context of a turn, with as much of the chat as this model can be shown; None: the chat's own model."""
HISTORY_TOOL = "read_history"
RETRY, SKIP, STOP = "retry", "skip", "stop"


class JobRunner:
    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        agent: Agent,
        agents: AgentRegistry,
        plans: ApprovedPlans,
        clock: Clock,
        limits: Callable[[Autonomy], Limits],
        cost_of: CostOf,
    ) -> None:
        self._journal = journal
        self._store = store
        self._agent = agent
        self._agents = agents
        self._plans = plans
        recorder = TurnRecorder(journal=journal, clock=clock)
        self._budgets = JobBudgets(store=store, recorder=recorder, clock=clock, cost_of=cost_of)
        self._clock = clock
        self._limits = limits

    async def run(self, turn: Turn, context_of: ContextOf) -> None:
        """To the turn's end, or to where a person must decide. Raises: as `Agent.run`."""
        job = await self._store.job(turn.job_id or "", with_plan=False)
        if job is None:
            raise NotFound("job", turn.job_id or "")
        if turn.task_id is None:
            await self._lead(job, turn, context_of)
            return
        task = await self._store.task(job.id, turn.task_id)
        if task is None:
            raise NotFound("task", turn.task_id)
        if task.turn_id != turn.id:
            await self._take_answer(job, task, turn)
            return
        await self._work(job, task, await context_of(turn, None))

    async def _lead(self, job: Job, turn: Turn, context_of: ContextOf) -> None:
        """The planner's turn, or the primary agent's last one."""
        plans = job.status is JobStatus.PLANNING
        model = (self._agents.planner() if plans else self._agents.primary(turn.role)).model
        context = await context_of(turn, model)
        if plans:
            self._become(context, self._agents.planner())
            context.extra_prompt = _together(prose("job_planner"), context.extra_prompt)
            context.policy = PlanningPolicy(job, self._clock.now, earlier=_notes(context))
        else:
            self._become(context, self._agents.primary(context.chat.role))
            context.policy = ClosingPolicy(job, self._clock.now, earlier=_notes(context))
        await self._run(context, job)

    async def _work(self, job: Job, task: JobTask, context: TurnContext) -> None:
        step = context.plan.step(task.id) if context.plan else None
        if step is not None:
            self._become(context, self._agents.worker(step))
        context.extra_prompt = _together(prose("job_worker"), context.extra_prompt)
        has_check = step is not None and step.check is not None

        def check_passed() -> bool:
            status = context.progress.statuses().get(task.id) if context.progress else None
            return proved(status, has_check=has_check)

        policy = TaskPolicy(job, task, now=self._clock.now, check_passed=check_passed, earlier=_notes(context))

        async def refresh() -> None:
            """The others as they are when this one ends: the event about a small plan names every step."""
            plan = await self._plans.find(context.turn.plan_id or "")
            if plan is not None and len(plan.steps) <= event_factory.MOST_STEPS_NAMED:
                policy.tasks = await self._store.tasks(job.id)

        async def read_history(before: int | None) -> str:
            return history_page(await self._store.history(job.chat_id), before)

        context.policy, context.before_end, context.read_history = policy, refresh, read_history
        context.unlisted_tools = (HISTORY_TOOL,)
        await self._run(context, job)

    async def _run(self, context: TurnContext, job: Job) -> None:
        async with self._budgets.limiting(context, job):
            await self._agent.run(context)

    async def _take_answer(self, job: Job, task: JobTask, turn: Turn) -> None:
        """A person answered what shall become of a failed task, or which version of a file stays."""
        answered, asked = (
            await self._store.question(turn.message_id),
            await self._store.message(job.chat_id, turn.message_id),
        )
        choice = (answered.answer or {}).get("value") if answered else None
        ended = replace(turn, state=TurnState.ENDED, reason=EndReason.TERMINATED)
        skipped: list[JobTask] = []
        if conflict := (asked.payload or {}).get("conflict") if asked else None:
            task = _with_choice(task, conflict, choice)
        elif choice == RETRY:
            task = replace(task, status=TaskStatus.PENDING, failures=0, completed_at=None)
            skipped = [
                replace(one, status=TaskStatus.PENDING, completed_at=None)
                for one in await self._store.tasks(job.id)
                if one.status is TaskStatus.SKIPPED
            ]
        else:
            task = replace(task, error={**(task.error or {}), "decision": choice or SKIP})
        if choice == STOP:
            job = replace(job, status=JobStatus.FAILED, error=task.error, completed_at=self._clock.now())
        changed = event_factory.job_completed(job) if choice == STOP else event_factory.job_updated(job)
        state = ChatState.IDLE if choice == STOP else ChatState.RUNNING
        events = (changed, event_factory.turn_ended(ended, state))
        stopped = (job,) if choice == STOP else ()
        await self._journal.write(Change(job.chat_id, (task, *skipped, *stopped, ended, SetChat(state)), events))

    def _become(self, context: TurnContext, agent: AgentSpec) -> None:
        """The context as this agent has it: its role, cut to its parent's, its model, prompt and limits."""
        context.role = self._agents.role_of(agent, parent=context.chat.role)
        if agent.model is not None:
            config = replace(context.chat.config, model_id=agent.model)
            context.chat = replace(context.chat, config=config)
        context.extra_prompt = agent.prompt
        usual = self._limits(context.chat.config.autonomy)
        context.limits = replace(usual, steps=agent.steps or usual.steps, seconds=agent.seconds or usual.seconds)


def _with_choice(task: JobTask, conflict: JsonValue, choice: JsonValue) -> JobTask:
    """The task with the version that a person chose; an answer in other words chooses none, and the question comes again."""
    if choice == RETRY:
        return replace(task, status=TaskStatus.PENDING, result=None)
    if not isinstance(conflict, dict) or choice not in (KEEP_TASK, KEEP_WORKSPACE):
        return task
    key = choice_key(str(conflict.get("path")), str(conflict.get("state")))
    return replace(task, conflicts={**(task.conflicts or {}), key: choice})


def _notes(context: TurnContext) -> list[str]:
    """Returns the notes that the server wrote to the model in earlier segments of this turn."""
    own = (message for message in context.history if message.turn_id == context.turn.id)
    return [message.content for message in own if message.role is Speaker.TOOL]


def _together(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
