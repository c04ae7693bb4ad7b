"""Jobs: one run of a plan's tasks. Pure: how a plan maps to tasks and back, and what a job looks like on the wire."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from itertools import count

from pydantic import JsonValue

from anycowork.domain.messages import Json
from anycowork.domain.plan import Budget, Plan, PlanStep, StepStatus, read_plan
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import value
from anycowork.domain.visible_text import bare_lines

_LONGEST_TITLE = 80


class JobStatus(StrEnum):
    PLANNING = "planning"
    AWAITING_APPROVAL = "awaiting_approval"
    RUNNING = "running"
    PAUSED = "paused"
    AWAITING_COMMIT = "awaiting_commit"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self in (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)


class OnFailure(StrEnum):
    """What follows a failed task: another attempt, a question to the person, or a new plan for the rest."""

    RETRY = "retry"
    ASK = "ask"
    REPLAN = "replan"


class CommitMode(StrEnum):
    """When the changes of a job reach the workspace: after each task, or once, when a person has reviewed all of them."""

    TASK = "task"
    JOB = "job"


@value
class JobLimits:
    """What one task and the whole job may use: time at work, tokens, US dollars."""

    task: Budget = Budget()
    job: Budget = Budget()

    def to_json(self) -> Json:
        return {
            "task": self.task.model_dump(mode="json", exclude_none=True),
            "job": self.job.model_dump(mode="json", exclude_none=True),
        }


@value
class Job:
    """`message_id` is the message that asked for it, `plan_id` the message of its plan. `plan` is the plan as proposed, then as approved.

    `parallel` is how many tasks may write at the same time. `workspace` is the private copy that the tasks' changes are collected in
    before a person keeps them. `race` are the agents or models that each do the same plan in a copy of their own. `replan_id` is the
    message that asked for a new plan.
    `forgotten`: the plan is not offered again for similar requests. `data_folder` is the id of the data folder that holds the copies of its
    tasks, where several processes share a database: only the process on it runs the job.
    `asked_by` is the turn that waits for its result: it ends with that turn. `left_out` are the changed files that the review did not keep.
    """

    id: str
    chat_id: str
    request: str
    message_id: str
    principal: str
    status: JobStatus = JobStatus.PLANNING
    plan_id: str | None = None
    plan: Json | None = field(default=None, hash=False)
    on_failure: OnFailure = OnFailure.RETRY
    parallel: int = 1
    limits: JobLimits = JobLimits()
    commit: CommitMode = CommitMode.TASK
    race: tuple[str, ...] = ()
    workspace: str | None = None
    replan_id: str | None = None
    final_response: str | None = None
    error: Json | None = field(default=None, hash=False)
    created_at: str = ""
    completed_at: str | None = None
    forgotten: bool = False
    data_folder: str | None = None
    asked_by: str | None = None
    left_out: tuple[str, ...] = ()

    @property
    def isolates(self) -> bool:
        """Whether each writing task works in a private copy of the workspace."""
        return self.parallel > 1 or self.collects

    @property
    def collects(self) -> bool:
        """Whether nothing reaches the workspace before a person has seen it."""
        return self.commit is CommitMode.JOB or bool(self.race)

    def drops(self, path: str) -> bool:
        """Whether a change of this path never reached the workspace, because a person left it out or dropped the whole job."""
        return path in self.left_out or (self.collects and self.status is JobStatus.CANCELLED)

    def summary(self) -> Json:
        """As events and lists show it."""
        return {
            "id": self.id,
            "context_id": self.chat_id,
            "request": self.request,
            "status": self.status.value,
            "final_response": self.final_response,
            "error": self.error,
            "created_at": self.created_at,
            "completed_at": self.completed_at,
        }


@value
class JobTask:
    """One task of a job; its id is its plan step's. `failures` are the attempts that failed, `interruptions` those that a crash or a stop
    ended. `claimed`: only the worker says that it is done. `workspace` is the private copy that it works in, until its changes are
    committed; `conflicts` are a person's answers about paths that somebody else changed too.
    `worker` is the joined worker that its commands run on; `waiting_for` names labels that no worker offers. `undone_by` is the checkpoint
    that undoing its changes made, until that is restored."""

    job_id: str
    chat_id: str
    id: str
    ordinal: int
    description: str
    dependencies: tuple[str, ...] = ()
    status: TaskStatus = TaskStatus.PENDING
    claimed: bool = False
    result: str | None = None
    error: Json | None = field(default=None, hash=False)
    attempt: int = 0
    failures: int = 0
    interruptions: int = 0
    turn_id: str | None = None
    agent: str | None = None
    workspace: str | None = None
    conflicts: Json | None = field(default=None, hash=False)
    created_at: str = ""
    started_at: str | None = None
    completed_at: str | None = None
    evidence: Json | None = field(default=None, hash=False)
    worker: str | None = None
    waiting_for: str | None = None
    undone_by: str | None = None

    def to_json(self, usage: Json | None = None) -> Json:
        return {
            "id": self.id,
            "agent": self.agent,
            "worker": self.worker,
            "waiting_for": self.waiting_for,
            "turn_id": self.turn_id,
            "description": self.description,
            "dependencies": list(self.dependencies),
            "status": str(self.status),
            "undone_by": self.undone_by,
            "claimed": self.claimed,
            "evidence": self.evidence,
            "result": self.result,
            "error": self.error,
            "attempt": self.attempt,
            "usage": usage,
            "created_at": self.created_at,
            "started_at": self.started_at,
            "completed_at": self.completed_at,
        }


def tasks_of(plan: Plan, *, job_id: str, chat_id: str, created_at: str) -> list[JobTask]:
    """One task for each step, in the order of the plan."""
    return [
        JobTask(job_id, chat_id, step.id, number, step.action, step.dependencies, created_at=created_at)
        for number, step in enumerate(plan.steps)
    ]


def raced(plan: Plan, agents: Sequence[str]) -> Plan:
    """The plan of a race: every step once for each agent, with the agent's name behind its id. An agent's steps wait for its own."""
    steps = [(step, agent) for agent in agents for step in plan.steps]
    new = tuple(
        step.model_copy(
            update={
                "id": f"{step.id}@{agent}",
                "agent": agent,
                "role": None,
                "step_number": number,
                "dependencies": tuple(f"{dependency}@{agent}" for dependency in step.dependencies),
            }
        )
        for number, (step, agent) in enumerate(steps, 1)
    )
    return plan.model_copy(update={"steps": new})


def of_candidate(tasks: Iterable[JobTask], agent: str) -> list[JobTask]:
    """The tasks of a race that this agent does."""
    return [task for task in tasks if task.id.endswith(f"@{agent}")]


def continued(plan: Plan, earlier: Plan | None, tasks: Sequence[JobTask]) -> Plan:
    """A new plan for the rest of a job: the completed steps of the earlier one, then the new steps, renamed where an id is taken."""
    done = {task.id for task in tasks if task.status is TaskStatus.COMPLETED}
    completed_steps = [step for step in (earlier.steps if earlier else ()) if step.id in done]
    used_ids = done | {step.id for step in plan.steps}
    names = {step.id: _free(step.id, used_ids) if step.id in done else step.id for step in plan.steps}
    new = [
        step.model_copy(
            update={
                "id": names[step.id],
                "dependencies": (
                    *(dependency for dependency in step.builds_on or () if dependency in done),
                    *(names[dependency] for dependency in step.dependencies),
                ),
                "builds_on": None,
            }
        )
        for step in plan.steps
    ]
    numbered = [
        step.model_copy(update={"step_number": number}) for number, step in enumerate([*completed_steps, *new], 1)
    ]
    return plan.model_copy(update={"steps": tuple(numbered)})


def _free(name: str, used_ids: set[str]) -> str:
    number = next(n for n in count(2) if f"{name}-{n}" not in used_ids)
    used_ids.add(f"{name}-{number}")
    return f"{name}-{number}"


def plan_of(tasks: Sequence[JobTask], approved: Json) -> Plan | None:
    """The approved plan again, with its steps as the tasks have them; None if the stored plan cannot be read."""
    plan = read_plan(approved)
    if plan is None:
        return None
    tasks_by_id = {task.id: task for task in tasks}
    steps = tuple(
        step.model_copy(update={"action": task.description, "dependencies": task.dependencies})
        for step in plan.steps
        if (task := tasks_by_id.get(step.id)) is not None
    )
    return plan.model_copy(update={"steps": steps})


def task_names(tasks: Sequence[JobTask]) -> Mapping[str, str]:
    """Returns by id how a person reads each task's name: the first line of what it does, and its id too where others have the same."""
    titles = {task.id: _title(task) for task in tasks}
    repeated = Counter(titles.values())
    return {id_: f"'{title}'" if repeated[title] == 1 else f"'{title}' ({id_[:80]})" for id_, title in titles.items()}


def _title(task: JobTask) -> str:
    line = next((line.strip() for line in bare_lines(task.description) if line.strip()), task.id)
    return line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1].rstrip()}…"


def single_step(plan: Plan, step: PlanStep) -> Plan:
    """The plan as one worker gets it: its own step and what that grants, without the others and without the job's budget."""
    alone = step.model_copy(update={"dependencies": ()})
    return plan.model_copy(update={"steps": (alone,), "budget": None})


def step_statuses(tasks: Iterable[JobTask]) -> Mapping[str, StepStatus]:
    """The words of a plan's steps for the statuses of tasks."""
    return {task.id: _step_status(task) for task in tasks}


def _step_status(task: JobTask) -> StepStatus:
    if task.status is TaskStatus.COMPLETED:
        return StepStatus.CLAIMED if task.claimed else StepStatus.DONE
    return _STEP_STATUS[task.status]


_STEP_STATUS = {
    TaskStatus.PENDING: StepStatus.OPEN,
    TaskStatus.RUNNING: StepStatus.RUNNING,
    TaskStatus.FAILED: StepStatus.FAILED,
    TaskStatus.SKIPPED: StepStatus.SKIPPED,
    TaskStatus.CANCELLED: StepStatus.SKIPPED,
}


def job_json(
    job: Job,
    tasks: Sequence[JobTask],
    usage: Mapping[str | None, Json],
    counts: Mapping[TaskStatus, int],
    *,
    parallel_tasks: int,
) -> Json:
    """The whole job. `tasks` are its first ones; `counts` are of all, by status. `usage` is by task id, the job's own under None.
    `current_step_index` counts the finished steps in plan order."""
    statuses = step_statuses(tasks)
    task_list: list[JsonValue] = [task.to_json(usage.get(task.id)) for task in tasks]
    steps: list[JsonValue] = [
        {"id": task.id, "action": task.description, "status": statuses[task.id].value} for task in tasks
    ]
    return {
        **job.summary(),
        "plan": job.plan,
        "plan_id": job.plan_id,
        "tasks": task_list,
        "task_count": sum(counts.values()),
        "steps": steps,
        "current_step_index": sum(count for status, count in counts.items() if status.over),
        "on_failure": job.on_failure.value,
        "parallel": job.parallel,
        "parallel_tasks": parallel_tasks,
        "commit": job.commit.value,
        "race": list(job.race),
        "left_out": list(job.left_out),
        "limits": job.limits.to_json(),
        "usage": usage.get(None),
    }
