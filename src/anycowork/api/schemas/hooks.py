"""Hooks."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.hooks import HookDecision, HookEvent


class HookOutcomeResponse(DescribedSchema):
    decision: HookDecision
    reason: str
    failed: str = Field(description="Why it gave no answer; empty if it did.")
    adds: str = Field(description="What it had the model told.")
    checks: list[str] = Field(description="Commands that it named as checks of the turn.")


class HookResponse(DescribedSchema):
    event: HookEvent
    matcher: str
    command: str
    timeout: float
    last: HookOutcomeResponse | None = Field(description="Its newest outcome since the server started.")


class HookFileResponse(DescribedSchema):
    source: Literal["data", "workspace", "plugin"]
    path: str
    sha256: str
    trusted: bool = Field(
        description="If not, a person must trust its content before its hooks run: POST /workspaces, or POST /plugins/{name}/trust."
    )
    content: str
    hooks: list[HookResponse]
    problems: list[str]


class HookList(DescribedSchema):
    files: list[HookFileResponse]
