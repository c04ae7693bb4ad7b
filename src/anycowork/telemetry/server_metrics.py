"""The metrics of one server: which there are, and how facts become label values. Values of labels are bounded: no chat, path or key."""

from collections import OrderedDict
from collections.abc import Callable, Iterable

from anycowork import __version__
from anycowork.domain.approvals import Approval
from anycowork.domain.chats import Turn, TurnState
from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.journal import DecideApproval, Spend, Write
from anycowork.domain.messages import Json
from anycowork.domain.metering import ModelUsage
from anycowork.domain.times import seconds_between
from anycowork.domain.tools import Call, CallState, ToolSpec
from anycowork.telemetry.metrics import (
    COMMIT_SECONDS,
    GROUP_SIZES,
    LONG_SECONDS,
    OTHER,
    SECONDS,
    WAIT_SECONDS,
    CounterMetric,
    GaugeMetric,
    HistogramMetric,
    Metric,
    render,
)

UNKNOWN = "unknown"
MOST_MODELS = 100
_KEPT = 10_000  # ids that are remembered
_OBSERVED = frozenset({Turn, Call, Spend, Approval, DecideApproval, Job, JobTask})
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
CostOfUse = Callable[[ModelUsage], float | None]


class ServerMetrics:
    """`find_spec` returns a tool's description, `is_role` whether a role exists, `cost` US dollars (None: no price is known)."""

    def __init__(
        self, find_spec: Callable[[str], ToolSpec | None], is_role: Callable[[str], bool], cost: CostOfUse
    ) -> None:
        self._find_spec = find_spec
        self._is_role = is_role
        self._cost = cost
        self._models: set[str] = set()
        self._asked: OrderedDict[str, str] = OrderedDict()  # approvals of this process, and when they were asked for
        self._over: OrderedDict[str, str] = (
            OrderedDict()
        )  # jobs and tasks that were counted: a job may be written again
        build = GaugeMetric("anycowork_build_info", "The running release; always 1.", ["version"])
        build.set(1, __version__)
        counter, histogram = CounterMetric, HistogramMetric
        self.http_requests = counter(
            "anycowork_http_requests_total", "Answered HTTP requests.", ["method", "route", "status"], most=2_000
        )
        self.http_seconds = histogram(
            "anycowork_http_request_duration_seconds", "Time until the answer was complete.", ["route"], buckets=SECONDS
        )
        self.gateway_requests = counter(
            "anycowork_gateway_requests_total", "Requests to /v1, by principal.", ["principal"]
        )
        self.turns = counter("anycowork_turns_total", "Ended turns.", ["role", "reason"])
        self.turn_seconds = histogram(
            "anycowork_turn_duration_seconds",
            "Work in a turn, without waiting for a person.",
            ["role"],
            buckets=LONG_SECONDS,
        )
        self.turn_errors = counter("anycowork_turn_errors_total", "Turns that ended with an error.", ["code"], most=100)
        self.tool_calls = counter("anycowork_tool_calls_total", "Settled tool calls.", ["tool", "status"])
        self.tool_seconds = histogram(
            "anycowork_tool_call_duration_seconds", "Run time of tool calls.", ["tool"], buckets=LONG_SECONDS
        )
        self.approvals = counter("anycowork_approvals_total", "Decided approvals.", ["decision"])
        self.approval_seconds = histogram(
            "anycowork_approval_wait_seconds", "Time from the question to the decision.", buckets=WAIT_SECONDS
        )
        self.model_requests = counter("anycowork_model_requests_total", "Requests to models.", ["model", "outcome"])
        self.model_seconds = histogram(
            "anycowork_model_request_duration_seconds",
            "Time until the reply was complete.",
            ["model"],
            buckets=LONG_SECONDS,
        )
        self.model_tokens = counter(
            "anycowork_model_tokens_total", "Tokens, as providers count them.", ["model", "type"]
        )
        self.model_cost = counter("anycowork_model_cost_dollars_total", "US dollars by the known prices.", ["model"])
        self.unpriced = counter(
            "anycowork_model_unpriced_requests_total", "Requests whose price is not known.", ["model"]
        )
        self.jobs = counter("anycowork_jobs_total", "Ended jobs.", ["status"])
        self.tasks = counter("anycowork_tasks_total", "Ended tasks of jobs.", ["status"])
        self.commit_seconds = histogram(
            "anycowork_journal_commit_duration_seconds", "Time of one commit to the database.", buckets=COMMIT_SECONDS
        )
        self.group_sizes = histogram("anycowork_journal_group_size", "Writes in one commit.", buckets=GROUP_SIZES)
        self.loop_lag = histogram(
            "anycowork_event_loop_lag_seconds", "How late the event loop answered.", buckets=SECONDS
        )
        self.sandbox_seconds = histogram(
            "anycowork_sandbox_start_duration_seconds", "Time until a sandbox was set up.", buckets=SECONDS
        )
        self.span_failures = counter(
            "anycowork_trace_export_failures_total", "Batches of spans that no collector took."
        )
        self._metrics: tuple[Metric, ...] = (
            build,
            *(metric for metric in vars(self).values() if isinstance(metric, CounterMetric | HistogramMetric)),
        )

    def http_request(self, method: str, route: str, status: int, seconds: float | None) -> None:
        """`route` is the template of the path; without `seconds` it was a stream."""
        self.http_requests.add(method if method in _METHODS else OTHER, route, str(status))
        if seconds is not None:
            self.http_seconds.observe(seconds, route)

    def model_request(self, model: str, outcome: str, seconds: float) -> None:
        name = self.model_label(model)
        self.model_requests.add(name, outcome)
        self.model_seconds.observe(seconds, name)

    def tool_call(self, spec: ToolSpec, seconds: float) -> None:
        self.tool_seconds.observe(seconds, tool_label(spec))

    def commit(self, works: int, seconds: float) -> None:
        self.commit_seconds.observe(seconds)
        self.group_sizes.observe(works)

    def committed(self, writes: Iterable[Write], recorded_at: str) -> None:
        """Counts what became durable."""
        for write in writes:
            if type(write) not in _OBSERVED:
                continue
            match write:
                case Turn(state=TurnState.ENDED):
                    self._count_turn(write)
                case Call(state=CallState.SETTLED):
                    self._count_call(write)
                case Spend():
                    self._count_tokens(write)
                case Approval():
                    _remember(self._asked, write.id, recorded_at)
                case DecideApproval():
                    self._count_decision(write, recorded_at)
                case Job() if write.status.over and self._is_new(write.id, recorded_at):
                    self.jobs.add(write.status.value)
                case JobTask() if write.status.over and self._is_new(
                    f"{write.job_id}:{write.id}:{write.attempt}", recorded_at
                ):
                    self.tasks.add(write.status.value)
                case _:
                    pass

    def model_label(self, model: str) -> str:
        """The first models that are asked keep their names: a chat may name any model of a provider."""
        if model not in self._models:
            if len(self._models) >= MOST_MODELS:
                return OTHER
            self._models.add(model)
        return model

    def role_label(self, role: str) -> str:
        return role if self._is_role(role) else OTHER

    def render(self, gauges: Iterable[Metric]) -> bytes:
        return render((*self._metrics, *gauges))

    def _count_turn(self, turn: Turn) -> None:
        role = self.role_label(turn.role)
        self.turns.add(role, turn.reason.value if turn.reason else UNKNOWN)
        self.turn_seconds.observe(turn.seconds, role)
        if turn.error is not None:
            self.turn_errors.add(_code_of(turn.error))

    def _count_call(self, call: Call) -> None:
        spec = self._find_spec(call.tool)
        self.tool_calls.add(
            UNKNOWN if spec is None else tool_label(spec), call.result.status.value if call.result else UNKNOWN
        )

    def _count_tokens(self, spend: Spend) -> None:
        model = self.model_label(spend.of.model)
        counted = {
            "input": spend.prompt,
            "output": spend.completion,
            "cached": spend.cached,
            "reasoning": spend.reasoning,
        }
        for kind, number in counted.items():
            self.model_tokens.add(model, kind, by=number)
        used = ModelUsage(
            spend.of.model, 1, 0, spend.prompt, spend.completion, spend.cached, spend.reasoning, estimated=False
        )
        cost = self._cost(used)
        if cost is None:
            self.unpriced.add(model)
        else:
            self.model_cost.add(model, by=cost)

    def _is_new(self, key: str, recorded_at: str) -> bool:
        if key in self._over:
            return False
        _remember(self._over, key, recorded_at)
        return True

    def _count_decision(self, decided: DecideApproval, decided_at: str) -> None:
        self.approvals.add(decided.state.value)
        requested_at = self._asked.pop(decided.approval_id, None)
        if requested_at is not None:
            self.approval_seconds.observe(seconds_between(requested_at, decided_at))


def _remember(remembered: OrderedDict[str, str], key: str, time: str) -> None:
    remembered[key] = time
    if len(remembered) > _KEPT:
        remembered.popitem(last=False)


def tool_label(spec: ToolSpec) -> str:
    """Built-in tools by their name; all others by where they come from, because others choose their names."""
    if spec.server is not None:
        return "mcp"
    if spec.delegate is not None:
        return "delegate"
    return "plugin" if spec.plugin is not None else spec.name


def _code_of(error: Json) -> str:
    code = error.get("code")
    return code if isinstance(code, str) else UNKNOWN
