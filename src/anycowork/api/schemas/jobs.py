"""Jobs, their tasks, and agents."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.api.schemas.snapshots import FileDifferenceShape
from anycowork.domain.jobs import CommitMode, JobStatus, OnFailure
from anycowork.domain.messages import Json
from anycowork.domain.plan_status import StepStatus
from anycowork.domain.task_progress import TaskStatus


class TaskUsageShape(DescribedSchema):
    tokens: int
    seconds: float = Field(description="At work; waiting for a person is not in it.")
    cost: float | None = Field(description="US dollars by the prices in config.toml; null where there is none.")


class JobErrorShape(DescribedSchema):
    code: str
    message: str
    retryable: bool
    decision: str | None = Field(default=None, description="What a person chose to do about it.")


class TaskShape(DescribedSchema):
    id: str = Field(description="The id of its plan step.")
    agent: str | None = Field(description="Who works on it; null before it started.")
    turn_id: str | None = Field(description="Its newest turn: the messages and calls of its log carry this id.")
    description: str
    dependencies: list[str]
    status: TaskStatus
    claimed: bool = Field(description="Only the worker says that it is done; no check proved it.")
    result: str | None
    error: JobErrorShape | None
    attempt: int
    usage: TaskUsageShape | None
    created_at: str
    started_at: str | None
    completed_at: str | None


class JobStepShape(DescribedSchema):
    id: str
    action: str
    status: StepStatus


class JobSummaryShape(DescribedSchema):
    id: str
    context_id: str
    request: str
    status: JobStatus
    final_response: str | None
    error: JobErrorShape | None
    created_at: str
    completed_at: str | None


class LimitsShape(DescribedSchema):
    task: Json
    job: Json


class JobShape(JobSummaryShape):
    plan: Json | None
    plan_id: str | None
    tasks: list[TaskShape] = Field(description="The first 500; `/jobs/{job_id}/tasks` has all, page by page.")
    task_count: int = Field(description="How many tasks the job has.")
    steps: list[JobStepShape] = Field(description="Of the same tasks.")
    current_step_index: int = Field(description="How many steps are finished, whatever their order.")
    on_failure: OnFailure
    parallel: int = Field(description="How many tasks may write at the same time, each in its own copy.")
    parallel_tasks: int = Field(description="How many of its tasks may run at the same time, readers and writers.")
    commit: CommitMode
    race: list[str]
    limits: LimitsShape
    usage: TaskUsageShape | None


class TaskPageShape(DescribedSchema):
    tasks: list[TaskShape]
    next: str | None = Field(default=None, description="The `after` of the next page; missing on the last one.")


class JobList(DescribedSchema):
    jobs: list[JobSummaryShape]
    next: str | None = None


class ConflictShape(DescribedSchema):
    path: str
    reason: str
    state: str
    task: str | None = Field(description="The task's version, cut if it is long; null if it has none.")
    workspace: str | None = Field(description="The workspace's version.")


class RaceTaskShape(DescribedSchema):
    id: str
    agent: str | None
    status: TaskStatus
    claimed: bool
    result: str | None
    error: JobErrorShape | None
    usage: TaskUsageShape | None
    diff: str
    files: list[FileDifferenceShape]
    conflicts: list[ConflictShape]


class CandidateShape(DescribedSchema):
    agent: str
    task_ids: list[str]
    status: TaskStatus = Field(description="Completed when all of its tasks are; failed when one is.")
    completed: int = Field(description="How many of its tasks are completed.")
    proved: int = Field(description="How many of them a check proved.")
    result: str | None = Field(description="The report of its last completed task.")
    error: JobErrorShape | None
    usage: TaskUsageShape | None
    diff: str
    files: list[FileDifferenceShape]
    conflicts: list[ConflictShape]


class JobDiffShape(DescribedSchema):
    job_id: str
    diff: str
    files: list[FileDifferenceShape]
    conflicts: list[ConflictShape]
    tasks: list[RaceTaskShape] = Field(description="Of a race of one task; otherwise empty.")
    candidates: list[CandidateShape] = Field(description="Of a race, one for each agent; otherwise empty.")


class AuditedTaskShape(DescribedSchema):
    id: str
    agent: str | None
    status: StepStatus
    attempts: int
    intended: Json = Field(description="The step as it was approved.")
    files: list[str] = Field(description="The files that its calls changed.")
    commands: list[str]
    done: list[Json] = Field(description="The calls that belong to the step.")
    unplanned: list[Json] = Field(description="Changes and commands outside the step.")
    untouched: list[str] = Field(description="Named by the step, and not changed.")
    check: Json | None
    usage: TaskUsageShape | None


class JobAuditShape(DescribedSchema):
    job_id: str
    status: JobStatus
    steps: list[AuditedTaskShape]
    usage: TaskUsageShape | None


class AgentLimitsShape(DescribedSchema):
    steps: int | None
    seconds: float | None


class AgentShape(DescribedSchema):
    name: str
    role: str
    model: str | None = Field(description="Null: the chat's.")
    prompt: str
    limits: AgentLimitsShape


class AgentList(DescribedSchema):
    agents: list[AgentShape]
