"""A chat's agent gives a task to another one: the task is a job of one step, whose result the call waits for.

The job works like any other: its worker is cut to the chat's role, writes into a layer, asks in the chat's list of approvals, and has
its own limits. It belongs to the turn that asked: when that turn ends, by a stop, a limit or a crash, the job is cancelled.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from anycowork.agent.turn_calls import made_changes
from anycowork.agent.turn_context import TurnContext
from anycowork.domain import event_factory
from anycowork.domain.agents import AGENT_PROVIDER, AgentSpec, AgentTask
from anycowork.domain.approvals import PlanRow, PlanState
from anycowork.domain.errors import Forbidden, NotFound, ToolFault
from anycowork.domain.jobs import Job, JobLimits, JobStatus, JobTask, tasks_of
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.origins import join, written_by_model
from anycowork.domain.plan import Budget, Plan, PlanStatus, PlanStep
from anycowork.domain.ports import Clock
from anycowork.domain.roles import Permission
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.tools import Call, CallStatus, Intent, PathIntent, ToolResult
from anycowork.domain.values import replace
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.jobs.job_records import JobWriter
from anycowork.prompts.agent_list import agents_to_ask
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator

_LOOK_AGAIN_SECONDS = 5.0
_MOST_FILES = 500
_LONGEST_GOAL = 200


class AgentTaskFailed(ToolFault):
    """The agent did not do its task."""

    code = "agent_failed"


class AskedAgents:
    def __init__(
        self,
        *,
        store: Store,
        turns: ChatCoordinator,
        writer: JobWriter,
        agents: AgentRegistry,
        coordinator: JobCoordinator,
        clock: Clock,
    ) -> None:
        self._store = store
        self._turns = turns
        self._writer = writer
        self._agents = agents
        self._coordinator = coordinator
        self._clock = clock
        self._steps: dict[str, asyncio.Event] = {}  # set when the jobs of the chat have gone on

    def introduce(self, context: TurnContext) -> None:
        """Tells a chat's agent which others it may give tasks to."""
        agents = self._agents.askable(context.chat.role)
        context.assignment = replace(
            context.assignment, agents=agents, agents_prompt=agents_to_ask(agents), ask_agent=self.ask
        )

    async def ask(self, context: TurnContext, call: Call, task: AgentTask) -> ToolResult:
        """Runs the task to its end and returns its report. Raises: Forbidden, AgentTaskFailed, StorageFault."""
        agent = self._require_allowed(context, task)
        job, plan_message, plan = self._draft(context, call, agent, task)
        row = PlanRow(
            plan_message.id, job.chat_id, PlanState.APPROVED, plan.to_json(), task.allowed_by or job.principal
        )
        tasks = tasks_of(plan, job_id=job.id, chat_id=job.chat_id, created_at=job.created_at)
        events = (
            event_factory.plan_update(plan_message.id, None, plan, PlanStatus.APPROVED),
            event_factory.job_updated(job),
        )
        async with self._turns.exclusive(job.chat_id):
            await self._writer.write(job, plan_message, row, job, *tasks, events=events)
        with context.time.paused(self._clock.monotonic):
            job = await self._until_over(job)
        return await self._result(context, call, agent, job)

    def on_step(self, chat_id: str) -> None:
        """The jobs of this chat have gone on."""
        if (step := self._steps.pop(chat_id, None)) is not None:
            step.set()

    async def _until_over(self, job: Job) -> Job:
        """Takes the job on, and returns it when it is over. Raises: NotFound, StorageFault."""
        self._coordinator.wake(job.chat_id)
        while True:
            step = self._steps.setdefault(job.chat_id, asyncio.Event())
            current = await self._store.jobs.find(job.id, with_plan=False)
            if current is None:
                raise NotFound("job", job.id)
            if current.status.over:
                return current
            with suppress(TimeoutError):  # another process may have ended it
                async with asyncio.timeout(_LOOK_AGAIN_SECONDS):
                    await step.wait()

    def _require_allowed(self, context: TurnContext, task: AgentTask) -> AgentSpec:
        """Raises: Forbidden if the agent is a program, which the role may not start."""
        agent = next(agent for agent in context.assignment.agents if agent.name == task.agent)
        role = self._agents.role_of(agent, parent=context.chat.role)
        is_program = (agent.model or "").startswith(f"{AGENT_PROVIDER}/")
        if is_program and not role.grants(frozenset({Permission.EXECUTE_COMMANDS})):
            raise Forbidden(
                f"{context.role.title} may not ask '{agent.name}': it is a program, and starting it needs execute_commands."
            )
        return agent

    def _draft(self, context: TurnContext, call: Call, agent: AgentSpec, task: AgentTask) -> tuple[Job, Message, Plan]:
        """The job has the call's id, so that the call's result can be found after a crash. Its plan grants the paths only if a person
        allowed this very call."""
        is_configured = self._agents.find(agent.name) is not None
        step = PlanStep(
            id=agent.name,
            step_number=1,
            action=task.task,
            paths=task.paths if task.allowed_by is not None else (),
            agent=agent.name if is_configured else None,
            role=None if is_configured else agent.role,
        )
        plan = Plan(goal=task.task[:_LONGEST_GOAL], steps=(step,))
        now = self._clock.now()
        message = Message(
            self._clock.new_id(),
            call.chat_id,
            Speaker.ASSISTANT,
            task.task,
            MessageType.PLAN,
            plan.to_json(),
            agent_role=context.role.name,
            job_id=call.id,
            task_id=step.id,
            created_at=now,
            origins=written_by_model(context.conversation.origins),
        )
        job = Job(
            id=call.id,
            chat_id=call.chat_id,
            request=task.task,
            message_id=message.id,
            principal=context.turn.principal,
            status=JobStatus.RUNNING,
            plan_id=message.id,
            plan=plan.to_json(),
            parallel=2,  # what it writes goes into a layer
            limits=JobLimits(task=Budget(tokens=agent.tokens, cost=agent.cost)),
            asked_by=call.turn_id,
            created_at=now,
        )
        return job, message, plan

    async def _result(self, context: TurnContext, call: Call, agent: AgentSpec, job: Job) -> ToolResult:
        """Raises: AgentTaskFailed. Also the error quotes the agent, so either way the turn has read what the agent was shown."""
        read_by_agent = await self._store.origins.of_job(job.id)
        context.conversation.looked_up_origins = join(context.conversation.looked_up_origins, read_by_agent)
        task = next(iter(await self._store.tasks.of_job(job.id)), None)
        if task is None or task.status is not TaskStatus.COMPLETED:
            raise AgentTaskFailed(_failure(agent, job, task))
        calls = await self._store.calls.of_turn(task.turn_id or "")
        changes = _net_changes(item for one in calls if made_changes(one) and one.intent for item in one.intent.paths)
        if changes:  # what it changed counts as this call's change
            intent = replace(context.calls.by_id(call.id).intent or Intent(), paths=changes)
            context.calls.update(replace(context.calls.by_id(call.id), intent=intent))
        files = [item.path for item in changes[:_MOST_FILES]]
        report = f"The agent '{agent.name}' reports: {task.result}"
        report += "\n\nNo check proves this." if task.claimed else ""
        report += f"\n\nChanged: {', '.join(files[:20])}" if files else "\n\nIt changed no files."
        facts: Json = {
            "agent": agent.name,
            "job_id": job.id,
            "task_id": task.id,
            "files": [*files],
            "changed": len(changes),
        }
        facts |= {"claimed": task.claimed, "agent_calls": len(calls)}
        return ToolResult(CallStatus.OK, report, facts=facts)


def _failure(agent: AgentSpec, job: Job, task: JobTask | None) -> str:
    if job.status is JobStatus.CANCELLED:
        return f"The task of '{agent.name}' was cancelled. None of its changes was kept."
    error = (task.error if task else None) or job.error or {}
    reason = str(error.get("message") or "it gave no reason")
    return f"The agent '{agent.name}' did not do its task: {reason[:2_000]} None of its changes was kept."


def _net_changes(items: Iterable[PathIntent]) -> tuple[PathIntent, ...]:
    """Returns one change for each path, from its first state to its last."""
    changes: dict[str, PathIntent] = {}
    for item in items:
        earlier = changes.get(item.path)
        changes[item.path] = item if earlier is None else replace(item, before=earlier.before)
    return tuple(item for item in changes.values() if item.before != item.after)
