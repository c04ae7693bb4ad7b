"""Schedules and triggers."""

from pydantic import Field, JsonValue

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.schedules import MissedRule, StartReason, StartStatus


class RunLimitsResponse(DescribedSchema):
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None


class StartResponse(DescribedSchema):
    key: str = Field(description="Unique in its schedule: the due time, or what a person or a request brought.")
    due_at: str
    reason: StartReason
    principal: str = Field(description="In whose name it was started.")
    status: StartStatus
    context_id: str | None = Field(
        description="The chat of the run; null without one, once it is deleted, and where it is hidden from who asks."
    )
    run_id: str | None = Field(description="The workflow's run, which is the turn.")
    job_id: str | None
    outcome: str | None = Field(description="How the run stands or ended: a turn's reason or a job's status.")
    error: str | None = Field(description="Why it was not started.")
    settled_at: str | None


class StartedResponse(DescribedSchema):
    start: StartResponse


class StartableResponse(DescribedSchema):
    id: str
    name: str
    template: str | None
    workflow: str | None
    parameters: dict[str, JsonValue]
    context_id: str | None
    workspace: str | None
    role: str | None
    limits: RunLimitsResponse
    enabled: bool
    principal: str = Field(description="Who changed it last: its runs are theirs.")
    created_by: str
    created_at: str
    changed_at: str
    paused: str | None = Field(description="Why the server disabled it.")
    starts: list[StartResponse] = Field(description="The newest first; in a list only the newest.")


class ScheduleResponse(StartableResponse):
    cron: str | None
    at: str | None
    time_zone: str
    missed: MissedRule
    next_at: str | None = Field(description="In UTC; null if none is to come.")


class ScheduleList(DescribedSchema):
    schedules: list[ScheduleResponse]


class TriggerResponse(StartableResponse):
    payload: dict[str, str] = Field(
        description="The parameters that the body brings, each with a JSON Pointer to its value."
    )


class CreatedTriggerResponse(TriggerResponse):
    secret: str = Field(description="Shown this once.")


class TriggerList(DescribedSchema):
    triggers: list[TriggerResponse]


class TriggerSecretResponse(DescribedSchema):
    secret: str


class AcceptedDeliveryResponse(DescribedSchema):
    delivery: str = Field(description="The request's webhook-id.")
    accepted_at: str = Field(description="When it came first.")
