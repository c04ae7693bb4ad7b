"""Drafts of a job's records: the job as a person asks for it, the plan of a race, and the tasks of an approved plan."""

from collections.abc import Sequence
from dataclasses import field

from anycowork.chats.chat_title import NEW_CHAT, title_from
from anycowork.chats.plans import proposed_plan
from anycowork.domain import event_factory
from anycowork.domain.approvals import PlanRow, PlanState
from anycowork.domain.chats import Chat, ChatState
from anycowork.domain.errors import Invalid
from anycowork.domain.events import NewEvent
from anycowork.domain.hooks import HookRuns, origins_of_words, runs_json
from anycowork.domain.jobs import CommitMode, Job, JobLimits, JobStatus, JobTask, OnFailure, raced, tasks_of
from anycowork.domain.journal import SetChat, Write
from anycowork.domain.messages import Json, MessageType, Speaker
from anycowork.domain.origins import join
from anycowork.domain.plan import Plan, PlanStatus, read_plan
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, origins_of_sender
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace, value
from anycowork.store.sql.store import Store
from anycowork.turns.record_factory import RecordFactory

MOST_RACED = 500  # tasks of a race


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


class JobDrafts:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._draft = RecordFactory(clock)

    def new(
        self, principal: Principal, chat: Chat, new_job: NewJob, plan: Plan | None, runs: HookRuns = ()
    ) -> tuple[Job, tuple[Write, ...], tuple[NewEvent, ...]]:
        request = new_job.request if new_job.request is not None else (plan.goal if plan else "") or "A plan"
        job_id, title = self._clock.new_id(), title_from(request) if chat.title == NEW_CHAT else None
        job = Job(
            id=job_id,
            chat_id=chat.id,
            request=request,
            message_id="",
            principal=principal.label(),
            on_failure=new_job.on_failure,
            parallel=new_job.parallel,
            limits=new_job.limits,
            commit=new_job.commit,
            race=new_job.race,
            created_at=self._clock.now(),
        )
        if plan is None:
            request_message = self._draft.message(chat, Speaker.USER, request, payload=runs_json(runs) or None)
            origins = join(origins_of_sender(principal.label()), origins_of_words(runs))
            request_message = replace(request_message, job_id=job_id, origins=origins)
            return (
                replace(job, message_id=request_message.id),
                (request_message, SetChat(ChatState.RUNNING, title=title)),
                (),
            )
        plan_message = plan.to_json()
        message = self._draft.message(chat, Speaker.USER, request, kind=MessageType.PLAN, payload=plan_message)
        message = replace(message, job_id=job_id, origins=origins_of_sender(principal.label()))
        job = replace(
            job, message_id=message.id, plan_id=message.id, plan=plan_message, status=JobStatus.AWAITING_APPROVAL
        )
        row = PlanRow(message.id, chat.id, PlanState.OPEN)
        return (
            job,
            (message, row, SetChat(title=title)),
            (event_factory.plan_update(message.id, None, plan, PlanStatus.OPEN),),
        )

    def tasks_for(self, plan: Plan, job: Job, existing: Sequence[JobTask]) -> list[JobTask]:
        """The tasks of a newly approved plan. Completed ones stay as they are; those that it no longer has are skipped."""
        now = self._clock.now()
        done = {task.id for task in existing if task.status is TaskStatus.COMPLETED}
        new = [
            new_task
            for new_task in tasks_of(plan, job_id=job.id, chat_id=job.chat_id, created_at=now)
            if new_task.id not in done
        ]
        names = {new_task.id for new_task in new} | done
        error: Json = {"code": "replanned", "message": "A new plan replaced it.", "retryable": False}
        dropped = [
            replace(task, status=TaskStatus.SKIPPED, error=error, completed_at=now)
            for task in existing
            if task.id not in names
        ]
        return [*new, *dropped]


def race_plan(agents: Sequence[str], request: str | None, plan: Plan | None) -> Plan:
    """The plan of a race. Raises: Invalid unless there are at least two different agents, or for a plan that is too large."""
    if len(agents) < 2 or len(set(agents)) != len(agents):
        raise Invalid("A race needs at least two different agents.", param="race")
    if any(agent.endswith(f"@{other}") for agent in agents for other in agents):
        raise Invalid("The names in a race must differ before and behind an '@'. Rename one of them.", param="race")
    if plan is None:  # the request is the task: every agent gets it as it is
        plan = proposed_plan({"goal": request, "steps": [{"id": "race", "action": request}]})
    if len(plan.steps) * len(agents) > MOST_RACED:
        raise Invalid(
            f"{len(agents)} agents with {len(plan.steps)} steps each are too many for a race: it has at most {MOST_RACED} tasks.",
            param="race",
        )
    return raced(plan, agents)


async def earlier_plan(store: Store, tasks: Sequence[JobTask]) -> Plan | None:
    """The plan that the newest completed task was a step of; it holds the steps that were completed before."""
    done = [task for task in tasks if task.status is TaskStatus.COMPLETED and task.turn_id is not None]
    turns = [await store.turns.find(task.turn_id or "") for task in done]
    newest = max((turn for turn in turns if turn is not None), key=lambda turn: turn.id, default=None)
    row = await store.plans.find(newest.plan_id) if newest is not None and newest.plan_id else None
    return read_plan(row.approved) if row is not None and row.approved else None
