"""Sends spans of turns, models, tools and jobs to an OpenTelemetry collector, by the GenAI conventions.

Imported only where traces are on. Ids of traces and of parents are made from the ids of job, task and turn, so every process that works
on a job adds to one trace. A span holds no prompt, result or path unless `contents` says so.
"""

import asyncio
import hashlib
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.span import TraceFlags

from anycowork import __version__
from anycowork.domain.chats import Turn, TurnState
from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.journal import Spend, Write
from anycowork.domain.model import ModelRequest
from anycowork.domain.telemetry import ModelOutcome, ToolOutcome
from anycowork.domain.tools import Call, CallStatus, ToolSpec
from anycowork.telemetry.metrics import clean_label
from anycowork.telemetry.telemetry import error_type

log = logging.getLogger(__name__)
CLOSE_SECONDS = 2.0
MOST_CONTENT = 64 * 1024  # letters of one attribute
_KEPT = 10_000
Attributes = dict[str, str | int | float | bool | Sequence[str]]


class OtlpTraces:
    """Implements `Traces`. Spans are sent in batches by a thread: a collector that is away delays nothing, and its spans are dropped."""

    def __init__(self, *, contents: bool, failed: Callable[[], None]) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # what fails is said once, below
        self._contents = contents
        self._ids = _ChosenIds()
        resource = Resource({"service.name": "anycowork", "service.version": __version__}).merge(Resource.create())
        self._provider = TracerProvider(resource=_named(resource), id_generator=self._ids, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(_WatchedExporter(OTLPSpanExporter(), failed)))
        self._tracer = self._provider.get_tracer("anycowork", __version__)
        self._used: OrderedDict[str, list[int]] = OrderedDict()  # tokens by turn
        self._sent: OrderedDict[str, bool] = OrderedDict()  # jobs and tasks: one may be written again

    @contextmanager
    def model_request(self, turn: Turn, provider: str, request: ModelRequest, outcome: ModelOutcome) -> Iterator[None]:
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": request.model,
            "gen_ai.conversation.id": turn.chat_id,
        }
        if request.max_tokens is not None:
            attributes["gen_ai.request.max_tokens"] = request.max_tokens
        if request.temperature is not None:
            attributes["gen_ai.request.temperature"] = request.temperature
        if self._contents:
            attributes["gen_ai.input.messages"] = _messages(
                (message.role, message.content) for message in request.messages
            )
        span = self._child(f"chat {clean_label(request.model)}", turn, attributes, SpanKind.CLIENT)
        with _ending(span):
            yield
            if outcome.finish is not None:
                span.set_attribute("gen_ai.response.finish_reasons", [clean_label(outcome.finish)])
            if outcome.usage is not None:
                span.set_attribute("gen_ai.usage.input_tokens", outcome.usage.prompt)
                span.set_attribute("gen_ai.usage.output_tokens", outcome.usage.completion)
                span.set_attribute("gen_ai.usage.cache_read.input_tokens", outcome.usage.cached)
                span.set_attribute("gen_ai.usage.reasoning.output_tokens", outcome.usage.reasoning)
            if self._contents:
                span.set_attribute("gen_ai.output.messages", _messages([("assistant", outcome.text)]))

    @contextmanager
    def tool_call(self, turn: Turn, call: Call, spec: ToolSpec, outcome: ToolOutcome) -> Iterator[None]:
        name = clean_label(spec.name)
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "extension" if spec.foreign else "function",
            "gen_ai.conversation.id": turn.chat_id,
        }
        if self._contents:
            attributes["gen_ai.tool.call.arguments"] = json.dumps(call.parameters)[:MOST_CONTENT]
        span = self._child(f"execute_tool {name}", turn, attributes, SpanKind.INTERNAL)
        with _ending(span):
            yield
            if (result := outcome.result) is None:
                return
            span.set_attribute("anycowork.tool.status", result.status.value)
            if result.status is not CallStatus.OK:
                _fail(span, result.error.code if result.error else result.status.value)
            if self._contents:
                span.set_attribute("gen_ai.tool.call.result", result.content[:MOST_CONTENT])

    def committed(self, writes: Sequence[Write], recorded_at: str) -> None:
        """Sends the spans of turns, tasks and jobs that ended."""
        for write in writes:
            if isinstance(write, Spend):
                self._add_tokens(write)
            elif isinstance(write, Turn) and write.state is TurnState.ENDED:
                self._send_turn(write, recorded_at)
            elif isinstance(write, JobTask) and write.status.over and self._is_new(f"{write.job_id}:{write.id}"):
                self._send_task(write, recorded_at)
            elif isinstance(write, Job) and write.status.over and self._is_new(write.id):
                self._send_job(write, recorded_at)

    async def aclose(self) -> None:
        """Sends what is left, for a moment at most."""
        ending = threading.Thread(target=self._provider.shutdown, name="traces-end", daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, CLOSE_SECONDS)

    def _send_turn(self, turn: Turn, recorded_at: str) -> None:
        prompt, completion = self._used.pop(turn.id, [0, 0])
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": turn.role,
            "gen_ai.conversation.id": turn.chat_id,
            "gen_ai.usage.input_tokens": prompt,
            "gen_ai.usage.output_tokens": completion,
            "anycowork.turn.id": turn.id,
            "anycowork.turn.reason": turn.reason.value if turn.reason else "",
            "anycowork.turn.steps": turn.steps,
        }
        parent = None
        if turn.job_id is not None:
            task = None if turn.task_id is None else _span_id("task", f"{turn.job_id}:{turn.task_id}")
            parent = self._context(_trace_of(turn), task or _span_id("job", turn.job_id))
        error = str(turn.error.get("code")) if turn.error else None
        ids = (_trace_of(turn), _span_id("turn", turn.id))
        self._send(
            f"invoke_agent {clean_label(turn.role)}",
            ids,
            parent,
            attributes,
            turn.created_at or recorded_at,
            recorded_at,
            error,
        )

    def _send_task(self, task: JobTask, recorded_at: str) -> None:
        attributes: Attributes = {
            "anycowork.job.id": task.job_id,
            "anycowork.task.ordinal": task.ordinal,
            "anycowork.task.attempt": task.attempt,
            "anycowork.task.status": task.status.value,
        }
        trace = _number("trace", task.job_id, 16)
        parent = self._context(trace, _span_id("job", task.job_id))
        ids = (trace, _span_id("task", f"{task.job_id}:{task.id}"))
        begun, error = (
            task.started_at or task.created_at or recorded_at,
            str(task.error.get("code")) if task.error else None,
        )
        self._send("task", ids, parent, attributes, begun, task.completed_at or recorded_at, error)

    def _send_job(self, job: Job, recorded_at: str) -> None:
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": "job",
            "gen_ai.conversation.id": job.chat_id,
            "anycowork.job.id": job.id,
            "anycowork.job.status": job.status.value,
        }
        ids = (_number("trace", job.id, 16), _span_id("job", job.id))
        error = str(job.error.get("code")) if job.error else None
        self._send(
            "invoke_workflow job",
            ids,
            None,
            attributes,
            job.created_at or recorded_at,
            job.completed_at or recorded_at,
            error,
        )

    def _send(
        self,
        name: str,
        ids: tuple[int, int],
        parent: Context | None,
        attributes: Attributes,
        begun: str,
        end: str,
        error: str | None,
    ) -> None:
        with self._ids.choosing(*ids):
            span = self._tracer.start_span(
                name,
                context=parent or Context(),
                kind=SpanKind.INTERNAL,
                attributes=attributes,
                start_time=_nanos(begun),
            )
        if error is not None:
            _fail(span, error)
        span.end(end_time=max(_nanos(end), _nanos(begun)))

    def _child(self, name: str, turn: Turn, attributes: Attributes, kind: SpanKind) -> Span:
        parent = self._context(_trace_of(turn), _span_id("turn", turn.id))
        return self._tracer.start_span(name, context=parent, kind=kind, attributes=attributes)

    def _context(self, trace_id: int, span_id: int) -> Context:
        """Returns a parent's context. The sampler decides by the trace's id, so every process decides alike."""
        sampled = self._provider.sampler.should_sample(None, trace_id, "turn").decision is Decision.RECORD_AND_SAMPLE
        flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
        return set_span_in_context(
            NonRecordingSpan(SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)), Context()
        )

    def _add_tokens(self, spend: Spend) -> None:
        sums = self._used.setdefault(spend.of.turn_id, [0, 0])
        sums[0] += spend.prompt
        sums[1] += spend.completion
        if len(self._used) > _KEPT:
            self._used.popitem(last=False)

    def _is_new(self, key: str) -> bool:
        if key in self._sent:
            return False
        self._sent[key] = True
        if len(self._sent) > _KEPT:
            self._sent.popitem(last=False)
        return True


class _ChosenIds(IdGenerator):
    """Random ids, unless some are chosen. Spans are made on the event loop alone."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()
        self._chosen: tuple[int, int] | None = None

    @contextmanager
    def choosing(self, trace_id: int, span_id: int) -> Iterator[None]:
        self._chosen = (trace_id, span_id)
        try:
            yield
        finally:
            self._chosen = None

    def generate_trace_id(self) -> int:
        return self._chosen[0] if self._chosen else self._random.generate_trace_id()

    def generate_span_id(self) -> int:
        return self._chosen[1] if self._chosen else self._random.generate_span_id()


class _WatchedExporter(SpanExporter):
    """Says once that a collector does not take the spans, and once that it does again."""

    def __init__(self, exporter: SpanExporter, failed: Callable[[], None]) -> None:
        self._exporter = exporter
        self._failed = failed
        self._is_away = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            result = self._exporter.export(spans)
        except Exception:  # noqa: BLE001 — a collector's trouble is nobody else's
            result = SpanExportResult.FAILURE
        away = result is not SpanExportResult.SUCCESS
        if away:
            self._failed()
        if away != self._is_away:
            self._is_away = away
            log.warning(
                "the collector of traces %s", "does not take spans; they are dropped" if away else "takes spans"
            )
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


@contextmanager
def _ending(span: Span) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        _fail(span, error_type(error))
        raise
    finally:
        span.end()


def _fail(span: Span, code: str) -> None:
    """Names the error by its code: a message may hold a path or a text."""
    span.set_attribute("error.type", clean_label(code))
    span.set_status(Status(StatusCode.ERROR))


def _named(resource: Resource) -> Resource:
    """Keeps our name unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES gave another."""
    unnamed = str(resource.attributes.get("service.name", "")).startswith("unknown_service")
    return resource.merge(Resource({"service.name": "anycowork"})) if unnamed else resource


def _messages(messages: "Iterator[tuple[str, str]] | Sequence[tuple[str, str]]") -> str:
    listed = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in messages]
    return json.dumps(listed, ensure_ascii=False)[:MOST_CONTENT]


def _trace_of(turn: Turn) -> int:
    return _number("trace", turn.job_id or turn.id, 16)


def _span_id(kind: str, name: str) -> int:
    return _number(kind, name, 8)


def _number(kind: str, name: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{kind}:{name}".encode()).digest()[:size], "big") or 1


def _nanos(written: str) -> int:
    return int(datetime.fromisoformat(written).timestamp() * 1_000_000) * 1_000
