"""The shape of plan against actual: each approved plan, with what was done for every step of it."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.api.schemas.jobs import EvidenceResponse
from anycowork.domain.messages import Json


class DoneResponse(DescribedSchema):
    """One call as it was carried out. `allowed_by` is `approval:<id>`, `plan:<step>`, `rule:<id>` or `default`; null if it needed no word."""

    call_id: str
    tool: str
    resource: str
    status: str
    error: str | None
    paths: list[str]
    exit_code: int | None
    allowed_by: str | None
    decided_by: str | None = Field(
        description="The person besides the owner who approved this very call, by the name at that time."
    )
    at: str
    seconds: float | None


class CheckResponse(DescribedSchema):
    command: str
    ran: bool
    ok: bool | None = None
    exit_code: int | None = None
    call_id: str | None = None


class StepAuditResponse(DescribedSchema):
    """`status`: open, running, done, claimed (only the model says so), failed or skipped.
    `untouched` are the files it names that no call touched."""

    id: str
    intended: Json
    done: list[DoneResponse]
    status: str
    check: CheckResponse | None
    untouched: list[str]
    seconds: float


class BudgetResponse(DescribedSchema):
    calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None


class SpentResponse(DescribedSchema):
    """`calls` are changes and commands that the plan names; `cost` in US dollars, null where a model has no price."""

    calls: int
    seconds: float
    tokens: int
    cost: float | None


class ComparedPlanResponse(DescribedSchema):
    """`status`: approved, done or blocked; `state` is how its turn stands.
    `unplanned` changed something for no step; `also_read` counts what was only read for none. `budget` is what was approved."""

    message_id: str
    goal: str
    approved_by: str | None
    turn_id: str
    status: str
    state: str
    seconds: float
    budget: BudgetResponse | None
    spent: SpentResponse
    evidence: EvidenceResponse | None = Field(description="What the end of its newest turn is worth.")
    steps: list[StepAuditResponse]
    unplanned: list[DoneResponse]
    also_read: int


class PlanAuditResponse(DescribedSchema):
    plans: list[ComparedPlanResponse]


class AuditFindingResponse(DescribedSchema):
    what: str = Field(description="`chat <id>`, or the heads of all chats.")
    holds: bool
    seq: int | None = Field(description="The first record at which the chain is broken.")
    reason: str | None


class AuditVerified(DescribedSchema):
    """What a check of the audit chains found. It vouches for the records that it read, and for no others."""

    chains: int = Field(description="How many were verified: one for each chat, and the heads of all.")
    broken: list[AuditFindingResponse]
    full: bool = Field(description="Whether this check read every record.")
    checked: int = Field(description="How many records this check read.")
    earlier: int = Field(description="How many older records were read by earlier checks, and not by this one.")
    full_at: str | None = Field(description="When every record was last read; null if that never happened.")
    stopped: bool = Field(description="Someone stopped the check; what it has not reached is not verified.")


class AuditCheckProgress(DescribedSchema):
    """`chats` of `all_chats` were checked so far, with `records` records."""

    running: bool
    chats: int
    all_chats: int
    records: int
