"""Jobs, their tasks, and agents."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema, Schema
from anycowork.api.schemas.snapshots import FileDifferenceResponse
from anycowork.api.schemas.workflows import FileFaultResponse, ParameterResponse
from anycowork.domain.evidence import (
    CheckOwner,
    EvidenceStatus,
    ExpectationKind,
    ExpectationSource,
    ExpectationState,
)
from anycowork.domain.jobs import CommitMode, JobStatus, OnFailure
from anycowork.domain.messages import Json
from anycowork.domain.plan import StepStatus
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.workflows import Source
from anycowork.jobs.conflict_authors import AuthorKind


class ExpectationResponse(Schema):
    kind: ExpectationKind
    subject: str
    state: ExpectationState
    source: ExpectationSource = Field(alias="from", description="Where it comes from.")
    why: str


class CheckRunResponse(Schema):
    command: str
    exit_code: int | None
    ran_after_last_change: bool
    owner: CheckOwner = Field(description="`turn`: the turn changed the check, what configures it, or its tests.")
    snapshot_id: str | None = Field(description="The checkpoint whose state it saw.")
    state: ExpectationState
    passed_before: bool = Field(description="It passed before the turn changed anything, so it proves nothing.")
    changed_by_turn: list[str]
    remark: str


class CheckNotRunResponse(Schema):
    command: str
    rule: Json | None = Field(
        description="`POST /rules` with it allows the check from the next turn on; null if no rule can."
    )


class EvidenceResponse(Schema):
    status: EvidenceStatus
    expectations: list[ExpectationResponse]
    checks: list[CheckRunResponse]
    not_run: list[CheckNotRunResponse] | None = Field(
        None, description="Checks that nothing allows without asking; the word is `claimed` then."
    )
    receipt: str | None = Field(None, description="`GET /receipts/{id}` shows it.")


class TurnEvidenceResponse(DescribedSchema):
    evidence: EvidenceResponse | None = Field(description="null: nothing changed, was to change, or is missing.")


class ReceiptResponse(DescribedSchema):
    id: str = Field(
        description="The hash of the rest. The event that ended the turn names it, so the audit chain covers it."
    )
    format: int
    context_id: str
    turn_id: str
    snapshot_id: str | None
    command: str
    exit_code: int
    files: dict[str, str] = Field(description="The SHA-256 of every file that the check could read, by path.")
    sandbox: str
    at: str


class TaskUsageResponse(DescribedSchema):
    tokens: int = Field(description="Used, as models reported it.")
    reserved: int = Field(default=0, description="Tokens set aside for requests that have not reported their use.")
    seconds: float = Field(description="At work; waiting for a person is not in it.")
    cost: float | None = Field(description="US dollars by the prices in config.toml; null where there is none.")


class JobErrorResponse(DescribedSchema):
    code: str
    message: str
    retryable: bool
    decision: str | None = Field(default=None, description="What a person chose to do about it.")


class TaskResponse(DescribedSchema):
    id: str = Field(description="The id of its plan step.")
    agent: str | None = Field(description="Who works on it; null before it started.")
    worker: str | None = Field(
        default=None, description="The joined worker that its commands run on; null for the server."
    )
    waiting_for: str | None = Field(default=None, description="What no worker offers, while its step needs it.")
    turn_id: str | None = Field(description="Its newest turn: the messages and calls of its log carry this id.")
    description: str
    dependencies: list[str]
    status: TaskStatus = Field(description="How its work ended; undoing its changes leaves it as it is.")
    undone_by: str | None = Field(
        default=None, description="The checkpoint that undoing its changes made; restoring that takes the undo back."
    )
    claimed: bool = Field(description="Only the worker says that it is done; no check proved it.")
    evidence: EvidenceResponse | None = Field(
        description="What its newest turn was expected to do, and what proves it."
    )
    result: str | None
    error: JobErrorResponse | None
    attempt: int
    usage: TaskUsageResponse | None
    created_at: str
    started_at: str | None
    completed_at: str | None


class JobStepResponse(DescribedSchema):
    id: str
    action: str
    status: StepStatus


class JobSummaryResponse(DescribedSchema):
    id: str
    context_id: str
    request: str
    status: JobStatus
    final_response: str | None
    error: JobErrorResponse | None
    created_at: str
    completed_at: str | None


class LimitsResponse(DescribedSchema):
    task: Json
    job: Json


class JobResponse(JobSummaryResponse):
    plan: Json | None
    plan_id: str | None
    tasks: list[TaskResponse] = Field(description="The first 500; `/jobs/{job_id}/tasks` has all, page by page.")
    task_count: int = Field(description="How many tasks the job has.")
    steps: list[JobStepResponse] = Field(description="Of the same tasks.")
    current_step_index: int = Field(description="How many steps are finished, whatever their order.")
    on_failure: OnFailure
    parallel: int = Field(description="How many tasks may write at the same time, each in its own copy.")
    parallel_tasks: int = Field(description="How many of its tasks may run at the same time, readers and writers.")
    commit: CommitMode
    race: list[str]
    left_out: list[str] = Field(description="The changed files that the review did not keep.")
    limits: LimitsResponse
    usage: TaskUsageResponse | None


class TaskPageResponse(DescribedSchema):
    tasks: list[TaskResponse]
    next: str | None = Field(default=None, description="The `after` of the next page; missing on the last one.")


class JobList(DescribedSchema):
    jobs: list[JobSummaryResponse]
    next: str | None = None


class ConflictAuthorResponse(DescribedSchema):
    kind: AuthorKind = Field(description="`outside`: no change that AnyCowork made left the file like this.")
    name: str | None = Field(description="A task's name, or a person's where it is recorded.")
    context_id: str | None
    job_id: str | None
    task_id: str | None


class ConflictResponse(DescribedSchema):
    path: str
    reason: str
    state: str
    task: str | None = Field(description="The task's version, cut if it is long; null if it has none.")
    workspace: str | None = Field(description="The workspace's version.")
    other: ConflictAuthorResponse = Field(description="Who made the version that is there.")
    draft: str | None = Field(
        description="Both changes in one text, with marks where they meet, to be merged by hand; null if it is no text or too long."
    )


class RaceTaskResponse(DescribedSchema):
    id: str
    agent: str | None
    status: TaskStatus
    claimed: bool
    result: str | None
    error: JobErrorResponse | None
    usage: TaskUsageResponse | None
    diff: str
    files: list[FileDifferenceResponse]
    conflicts: list[ConflictResponse]


class CandidateResponse(DescribedSchema):
    agent: str
    task_ids: list[str]
    status: TaskStatus = Field(description="Completed when all of its tasks are; failed when one is.")
    completed: int = Field(description="How many of its tasks are completed.")
    proved: int = Field(description="How many of them a check proved.")
    result: str | None = Field(description="The report of its last completed task.")
    error: JobErrorResponse | None
    usage: TaskUsageResponse | None
    diff: str
    files: list[FileDifferenceResponse]
    conflicts: list[ConflictResponse]


class JobDiffResponse(DescribedSchema):
    job_id: str
    diff: str
    files: list[FileDifferenceResponse]
    conflicts: list[ConflictResponse]
    tasks: list[RaceTaskResponse] = Field(description="Of a race of one task; otherwise empty.")
    candidates: list[CandidateResponse] = Field(description="Of a race, one for each agent; otherwise empty.")


class AuditedTaskResponse(DescribedSchema):
    id: str
    agent: str | None
    status: StepStatus
    attempts: int
    undone_by: str | None = Field(description="The checkpoint before its changes were undone.")
    evidence: EvidenceResponse | None = Field(description="As in the task itself.")
    intended: Json = Field(description="The step as it was approved.")
    files: list[str] = Field(description="The files that its calls changed.")
    left_out: list[str] = Field(description="Those of them that were not kept at the review.")
    commands: list[str]
    done: list[Json] = Field(description="The calls that belong to the step.")
    unplanned: list[Json] = Field(description="Changes and commands outside the step.")
    untouched: list[str] = Field(description="Named by the step, and not changed.")
    check: Json | None
    usage: TaskUsageResponse | None


class JobAuditResponse(DescribedSchema):
    job_id: str
    status: JobStatus
    steps: list[AuditedTaskResponse]
    usage: TaskUsageResponse | None


class AgentLimitsResponse(DescribedSchema):
    steps: int | None
    seconds: float | None
    tokens: int | None = Field(description="Of a task that another agent gives it.")
    cost: float | None = Field(description="In US dollars, of such a task.")


class AgentResponse(DescribedSchema):
    name: str
    role: str
    model: str | None = Field(description="Null: the chat's.")
    prompt: str
    description: str = Field(description="What it is for, as other agents are told.")
    limits: AgentLimitsResponse


class AgentList(DescribedSchema):
    agents: list[AgentResponse]


class JobTemplateResponse(DescribedSchema):
    name: str
    description: str
    goal: str
    parameters: list[ParameterResponse]
    steps: list[Json] = Field(description="The plan's steps, with `{{placeholders}}` where values are filled in.")
    source: Source


class EarlierPlanResponse(DescribedSchema):
    job_id: str
    request: str
    completed_at: str | None
    plan: Json = Field(description="As it was approved.")


class JobTemplateList(DescribedSchema):
    templates: list[JobTemplateResponse]
    faults: list[FileFaultResponse] = Field(description="Files that give no template, with line and reason.")
    similar: list[EarlierPlanResponse] = Field(description="With `like`: plans of completed jobs, best first.")


class RefusedJobResponse(DescribedSchema):
    job_id: str
    reason: str


class WorkerResponse(DescribedSchema):
    """`jobs` are those that a worker of the database runs now, `tasks` those whose commands run on a joined one, `refused` what it cannot run.

    `level` is that of its sandbox; `pid` is null for a joined worker.
    """

    id: str
    host: str
    labels: list[str]
    level: str
    processor: str
    tasks: list[str]
    cache_bytes: int
    since: str
    pid: int | None
    version: str
    joined_at: str
    jobs: list[str]
    refused: list[RefusedJobResponse]


class WorkersResponse(DescribedSchema):
    workers: list[WorkerResponse]


class WorkerInviteResponse(DescribedSchema):
    """`token` is shown once: only its hash is stored."""

    token: str
    expires_at: str


class JoinResponse(DescribedSchema):
    """`secret` is shown once: the worker sends it with each request."""

    id: str
    secret: str
