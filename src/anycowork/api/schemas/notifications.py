"""Where people are told that something waits for them."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.notifications import TargetKind


class TargetResponse(DescribedSchema):
    id: str
    kind: TargetKind
    name: str
    address: str
    enabled: bool
    disabled: str | None = Field(description="Why nothing is sent there any more; a test that is delivered enables it.")
    failures: int = Field(description="Failed attempts since the last delivery.")
    last_sent_at: str | None
    last_error: str | None
    created_at: str


class NewTargetResponse(TargetResponse):
    secret: str | None = Field(description="Signs what is sent to a webhook. Told this once.")


class TargetList(DescribedSchema):
    targets: list[TargetResponse] = Field(description="Your own, oldest first.")
    push_key: str = Field(description="The public key with which a browser subscribes to this server's Web Push.")


class DeliveryResponse(DescribedSchema):
    delivered: bool
    status: int | None = Field(description="What an HTTP receiver answered with; null without an answer.")
    error: str | None
