"""Runs one turn of a job: the planner's, a worker's, or the primary agent's last one. What follows is the coordinator's."""

from collections.abc import Callable

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
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.origins import join
from anycowork.domain.ports import Clock
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.job_budgets import JobBudgets
from anycowork.jobs.policies import ClosingPolicy, PlanningPolicy, TaskPolicy
from anycowork.jobs.task_briefs import history_page
from anycowork.jobs.task_commits import KEEP_MERGED, KEEP_TASK, KEEP_WORKSPACE, choice_key
from anycowork.permissions.budgets import CostOf
from anycowork.prompts.agent_list import agents_to_plan
from anycowork.prompts.text_files import prose
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import ApprovedPlans
from anycowork.turns.turn_scheduler import ContextOf

HISTORY_TOOL = "read_history"
RETRY, SKIP, WITHOUT, STOP = "retry", "skip", "without", "stop"


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
        remote: RemoteRuns,
    ) -> None:
        self._remote = remote
        self._journal = journal
        self._store = store
        self._agent = agent
        self._agents = agents
        self._plans = plans
        recorder = TurnRecorder(journal=journal, clock=clock)
        self._budgets = JobBudgets(store=store, recorder=recorder, clock=clock, cost_of=cost_of)
        self._clock = clock
        self._limits = limits

    async def run(self, turn: Turn, context_of: ContextOf) -> bool:
        """Runs a turn of a job to its end, or to where a person must decide; False for a turn of no job. Raises: as `Agent.run`."""
        if turn.job_id is None:
            return False
        job = await self._store.jobs.find_in(turn.chat_id, turn.job_id)
        if job is None:
            raise NotFound("job", turn.job_id)
        await self._run_for(job, turn, context_of)
        return True

    async def _run_for(self, job: Job, turn: Turn, context_of: ContextOf) -> None:
        if turn.task_id is None:
            await self._lead(job, turn, context_of)
            return
        task = await self._store.tasks.find_in(job.chat_id, job.id, turn.task_id)
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
            tasks = await self._store.tasks.of_job(job.id)
            completed = frozenset(task.id for task in tasks if task.status is TaskStatus.COMPLETED)
            context.assignment = replace(
                context.assignment,
                extra_prompt=_together(prose("job_planner"), context.assignment.extra_prompt),
                agents_prompt=agents_to_plan(self._agents.askable(context.chat.role)),
                completed_tasks=completed,
                policy=PlanningPolicy(job, self._clock.now, completed=completed),
            )
        else:
            self._become(context, self._agents.primary(context.chat.role))
            policy = ClosingPolicy(job, self._clock.now, earlier=_notes(context))
            context.assignment = replace(context.assignment, policy=policy)
        await self._run(context, job)

    async def _work(self, job: Job, task: JobTask, context: TurnContext) -> None:
        step = context.plan.step(task.id) if context.plan else None
        if step is not None:
            self._become(context, self._agents.worker(step))

        def evidence() -> Json | None:
            return None if context.proof.evidence is None else context.proof.evidence.to_json()

        policy = TaskPolicy(job, task, now=self._clock.now, evidence=evidence, earlier=_notes(context))

        async def refresh() -> None:
            """The others as they are when this one ends: the event about a small plan names every step."""
            plan = await self._plans.find(context.turn.plan_id or "")
            if plan is not None and len(plan.steps) <= event_factory.MOST_STEPS_NAMED:
                policy.tasks = await self._store.tasks.of_job_in(job.chat_id, job.id)

        async def read_history(before: int | None) -> str:
            messages = [message for message in await self._store.messages.all(job.chat_id) if message.task_id is None]
            looked_up = join(*(message.came_from for message in messages))
            context.conversation.looked_up_origins = join(context.conversation.looked_up_origins, looked_up)
            return history_page(messages, before)

        assignment = context.assignment
        context.assignment = replace(
            assignment,
            has_approved_plan=step is None or job.asked_by is None or bool(step.paths),
            extra_prompt=_together(prose("job_worker"), assignment.extra_prompt),
            job_request=job.request,
            policy=policy,
            before_end=refresh,
            read_history=read_history,
            unlisted_tools=(HISTORY_TOOL,),
            worker=task.worker,
            worker_needs=step.needs if step is not None else (),
        )
        try:
            await self._run(context, job)
        finally:
            self._remote.release(context.turn.id)

    async def _run(self, context: TurnContext, job: Job) -> None:
        async with self._budgets.limiting(context, job):
            await self._agent.run(context)

    async def _take_answer(self, job: Job, task: JobTask, turn: Turn) -> None:
        """A person answered what shall become of a failed task, or which version of a file stays."""
        answered, question = (
            await self._store.questions.find(turn.message_id),
            await self._store.messages.find(job.chat_id, turn.message_id),
        )
        answer = (answered.answer or {}) if answered else {}
        choice = answer.get("value")
        ended_turn = replace(turn, state=TurnState.ENDED, reason=EndReason.TERMINATED)
        skipped: list[JobTask] = []
        if conflict := (question.payload or {}).get("conflict") if question else None:
            task = _with_choice(task, conflict, choice, answer.get("content"))
        elif choice == RETRY:
            task = replace(task, status=TaskStatus.PENDING, completed_at=None)
            skipped = [
                replace(other, status=TaskStatus.PENDING, completed_at=None)
                for other in await self._store.tasks.of_job(job.id)
                if other.status is TaskStatus.SKIPPED
            ]
        else:
            task = replace(task, error={**(task.error or {}), "decision": choice or SKIP})
            skipped = await self._without(job, task) if choice == WITHOUT else []
        if choice == STOP:
            job = replace(job, status=JobStatus.FAILED, error=task.error, completed_at=self._clock.now())
        changed = event_factory.job_completed(job) if choice == STOP else event_factory.job_updated(job)
        state = ChatState.IDLE if choice == STOP else ChatState.RUNNING
        events = (changed, event_factory.turn_ended(ended_turn, state))
        stopped = (job,) if choice == STOP else ()
        await self._journal.write(Change(job.chat_id, (task, *skipped, *stopped, ended_turn, SetChat(state)), events))

    async def _without(self, job: Job, failed: JobTask) -> list[JobTask]:
        """Returns the tasks that depended on the failed one, free of it, and the skipped ones, which wait again for what is left."""
        others = [task for task in await self._store.tasks.of_job(job.id) if not _is_replaced(task)]
        changed = [task for task in others if failed.id in task.dependencies or task.status is TaskStatus.SKIPPED]
        return [
            replace(
                task,
                status=TaskStatus.PENDING if task.status is TaskStatus.SKIPPED else task.status,
                dependencies=tuple(dependency for dependency in task.dependencies if dependency != failed.id),
                completed_at=None if task.status is TaskStatus.SKIPPED else task.completed_at,
            )
            for task in changed
        ]

    def _become(self, context: TurnContext, agent: AgentSpec) -> None:
        """The context as this agent has it: its role, cut to its parent's, its model, prompt and limits."""
        context.role = self._agents.role_of(agent, parent=context.chat.role)
        if agent.model is not None:
            config = replace(context.chat.config, model_id=agent.model)
            context.chat = replace(context.chat, config=config)
        usual = self._limits(context.chat.config.autonomy)
        limits = replace(usual, steps=agent.steps or usual.steps, seconds=agent.seconds or usual.seconds)
        context.assignment = replace(context.assignment, extra_prompt=agent.prompt, limits=limits)


def _with_choice(task: JobTask, conflict: JsonValue, choice: JsonValue, content: JsonValue) -> JobTask:
    """The task with the version that a person chose; an answer in other words chooses none, and the question comes again."""
    if choice == RETRY:
        return replace(task, status=TaskStatus.PENDING, result=None)
    if not isinstance(conflict, dict) or choice not in (KEEP_TASK, KEEP_WORKSPACE, KEEP_MERGED):
        return task
    key = choice_key(str(conflict.get("path")), str(conflict.get("state")))
    version: JsonValue = {KEEP_MERGED: str(content or "")} if choice == KEEP_MERGED else choice
    return replace(task, conflicts={**(task.conflicts or {}), key: version})


def _is_replaced(task: JobTask) -> bool:
    """Whether a new plan took the place of the task's."""
    return (task.error or {}).get("code") == "replanned"


def _notes(context: TurnContext) -> list[str]:
    """Returns the notes that the server wrote to the model in earlier segments of this turn."""
    turn_messages = (message for message in context.conversation.history if message.turn_id == context.turn.id)
    return [message.content for message in turn_messages if message.role is Speaker.TOOL]


def _together(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
