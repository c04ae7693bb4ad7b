"""The port through which a turn tells operators what it does: how long models and tools take, and how they end."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from anycowork.domain.chats import Turn
from anycowork.domain.model import ModelRequest, UsageChunk
from anycowork.domain.tools import Call, ToolResult, ToolSpec
from anycowork.domain.values import mutable_value


@mutable_value
class ModelOutcome:
    """What became of a request to a model; filled in before the block ends. An error leaves the block."""

    text: str = ""
    finish: str | None = None
    usage: UsageChunk | None = None


@mutable_value
class ToolOutcome:
    """What became of a call; None if it waits for a person."""

    result: ToolResult | None = None


class Telemetry(Protocol):
    """Observes; never raises, and never waits for anybody."""

    def model_request(
        self, turn: Turn, provider: str, request: ModelRequest
    ) -> AbstractContextManager[ModelOutcome]: ...

    def tool_call(self, turn: Turn, call: Call, spec: ToolSpec) -> AbstractContextManager[ToolOutcome]: ...


class NoTelemetry:
    """Observes nothing."""

    def model_request(self, turn: Turn, provider: str, request: ModelRequest) -> AbstractContextManager[ModelOutcome]:
        return nullcontext(ModelOutcome())

    def tool_call(self, turn: Turn, call: Call, spec: ToolSpec) -> AbstractContextManager[ToolOutcome]:
        return nullcontext(ToolOutcome())


NO_TELEMETRY = NoTelemetry()
