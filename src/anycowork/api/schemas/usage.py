"""The shape of what a chat has used of its models."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.metering import UsageGroup


class UsageCountsResponse(DescribedSchema):
    requests: int
    reserved: int = Field(description="Set aside for requests that never told what they used; it counts as spent.")
    prompt: int
    completion: int
    cached: int
    reasoning: int
    estimated: bool = Field(description="Some of it was counted here, because the provider did not say.")
    cost: float | None = Field(description="US dollars by the known prices; null where none is known.")


class ModelUsageResponse(UsageCountsResponse):
    model: str


class UsageSumResponse(UsageCountsResponse):
    unpriced_requests: int = Field(description="Requests whose price is not known: `cost` leaves them out.")


class UsageRowResponse(UsageSumResponse):
    key: str = Field(description="The id of the chat or job, the name of the role or model, or the day (UTC).")


class UsageReportResponse(DescribedSchema):
    by: UsageGroup
    since: str
    until: str
    rows: list[UsageRowResponse] = Field(description="Most tokens first; days newest first.")
    groups: int = Field(description="How many there are, beyond the limit too.")
    total: UsageSumResponse


class ChatUsageResponse(DescribedSchema):
    models: list[ModelUsageResponse]
    window: int = Field(description="Tokens that the newest request filled.")
    context_tokens: int | None = Field(description="How many the chat's model can be shown; null if it is gone.")
    context_known: bool = Field(description="False: nobody named the size, and it is assumed.")
