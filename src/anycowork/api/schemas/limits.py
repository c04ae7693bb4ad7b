"""Limits of people and groups."""

from typing import ClassVar

from pydantic import ConfigDict, Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.limits import LimitKind


class DayLimitsResponse(DescribedSchema):
    """null: no such limit."""

    usd_per_day: float | None
    tokens_per_day: int | None
    jobs: int | None = Field(description="Jobs that run at the same time.")


class LimitsByName(DayLimitsResponse):
    """What each has who has none of their own, and below a name what that person or group has instead."""

    model_config: ClassVar = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, DayLimitsResponse]


class DayUseResponse(DescribedSchema):
    usd: float
    tokens: int = Field(description="With what requests that run have set aside.")
    reserved: int = Field(description="Tokens set aside for requests that have not reported their use.")
    jobs: int = Field(description="Those that run now.")
    unpriced_requests: int = Field(description="Counted in tokens only: no price is known.")


class LimitedSubject(DescribedSchema):
    kind: LimitKind
    id: str
    name: str
    limits: DayLimitsResponse = Field(description="Those that hold.")
    used: DayUseResponse


class LimitChangeResponse(DescribedSchema):
    seq: int
    type: str
    changed_at: str
    principal: str
    by: str | None = Field(description="The name of who made it; null for the owner.")
    kind: LimitKind
    subject: str = Field(description="A person's id or a group's name; `*`: each.")
    name: str
    before: DayLimitsResponse | None
    after: DayLimitsResponse | None


class AllLimitsResponse(DescribedSchema):
    day: str = Field(description="The day (UTC) that the limits count.")
    ends_at: str
    person: LimitsByName
    group: LimitsByName
    today: list[LimitedSubject] = Field(description="Admins see all; others themselves and their groups.")
    changes: list[LimitChangeResponse] = Field(description="The newest, for admins. They stand in the audit chain.")
