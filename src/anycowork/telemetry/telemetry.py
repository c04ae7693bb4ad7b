"""Observes turns for operators: times requests to models and tool calls, and counts what the journal made durable."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from anycowork.domain.chats import Turn
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.journal import Write
from anycowork.domain.model import ModelRequest
from anycowork.domain.telemetry import ModelOutcome, ToolOutcome
from anycowork.domain.tools import Call, ToolSpec
from anycowork.telemetry.server_metrics import ServerMetrics

OK, CANCELLED = "ok", "cancelled"


class ServerTelemetry:
    """Implements `Telemetry`."""

    def __init__(self, metrics: ServerMetrics) -> None:
        self.metrics = metrics

    @contextmanager
    def model_request(self, turn: Turn, provider: str, request: ModelRequest) -> Iterator[ModelOutcome]:
        outcome, ended, begun = ModelOutcome(), OK, time.monotonic()
        try:
            yield outcome
        except BaseException as error:
            ended = error_type(error)
            raise
        finally:
            self.metrics.model_request(f"{provider}/{request.model}", ended, time.monotonic() - begun)

    @contextmanager
    def tool_call(self, turn: Turn, call: Call, spec: ToolSpec) -> Iterator[ToolOutcome]:
        outcome, begun = ToolOutcome(), time.monotonic()
        try:
            yield outcome
        finally:
            self.metrics.tool_call(spec, time.monotonic() - begun)

    def committed(self, writes: Sequence[Write], at: str) -> None:
        """Takes what became durable, and when."""
        self.metrics.committed(writes, at)


def error_type(error: BaseException) -> str:
    """Returns the error's stable code; nothing of its message."""
    if isinstance(error, AnyCoworkError):
        return error.code
    return "internal_error" if isinstance(error, Exception) else CANCELLED
