"""Observes turns for operators: times requests to models and tool calls, counts what the journal made durable, and traces both."""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from anycowork.domain.chats import Turn
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.journal import Write
from anycowork.domain.model import ModelRequest
from anycowork.domain.telemetry import ModelOutcome, ToolOutcome
from anycowork.domain.tools import Call, ToolSpec
from anycowork.telemetry.server_metrics import ServerMetrics

OK = "ok"


class Traces(Protocol):
    """Sends spans somewhere. It never raises, and delays nothing."""

    def model_request(
        self, turn: Turn, provider: str, request: ModelRequest, outcome: ModelOutcome
    ) -> AbstractContextManager[None]: ...

    def tool_call(
        self, turn: Turn, call: Call, spec: ToolSpec, outcome: ToolOutcome
    ) -> AbstractContextManager[None]: ...

    def committed(self, writes: Sequence[Write], recorded_at: str) -> None: ...
    async def aclose(self) -> None: ...


class ServerTelemetry:
    """Implements `Telemetry`. Without `traces` nothing is traced."""

    def __init__(self, metrics: ServerMetrics, traces: Traces | None) -> None:
        self.metrics = metrics
        self._traces = traces

    @contextmanager
    def model_request(self, turn: Turn, provider: str, request: ModelRequest) -> Iterator[ModelOutcome]:
        outcome, end_type, begun = ModelOutcome(), OK, time.monotonic()
        try:
            if self._traces is None:
                yield outcome
            else:
                with self._traces.model_request(turn, provider, request, outcome):
                    yield outcome
        except BaseException as error:
            end_type = error_type(error)
            raise
        finally:
            self.metrics.model_request(f"{provider}/{request.model}", end_type, time.monotonic() - begun)

    @contextmanager
    def tool_call(self, turn: Turn, call: Call, spec: ToolSpec) -> Iterator[ToolOutcome]:
        outcome, begun = ToolOutcome(), time.monotonic()
        try:
            if self._traces is None:
                yield outcome
            else:
                with self._traces.tool_call(turn, call, spec, outcome):
                    yield outcome
        finally:
            self.metrics.tool_call(spec, time.monotonic() - begun)

    def committed(self, writes: Sequence[Write], recorded_at: str) -> None:
        """Takes what became durable, and when."""
        self.metrics.committed(writes, recorded_at)
        if self._traces is not None:
            self._traces.committed(writes, recorded_at)

    async def aclose(self) -> None:
        if self._traces is not None:
            await self._traces.aclose()


CANCELLED = "cancelled"


def error_type(error: BaseException) -> str:
    if isinstance(error, AnyCoworkError):
        return error.code
    return "internal_error" if isinstance(error, Exception) else CANCELLED
