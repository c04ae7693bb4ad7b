"""Builds the telemetry that the settings ask for. Without traces, nothing of OpenTelemetry is imported."""

from collections.abc import Callable

from anycowork.config.settings import BadSettings, Settings
from anycowork.domain.tools import ToolSpec
from anycowork.permissions.roles import RoleRegistry
from anycowork.telemetry.server_metrics import CostOfUse, ServerMetrics
from anycowork.telemetry.telemetry import ServerTelemetry, Traces
from anycowork.tools.toolbox import ToolRegistry


def build_telemetry(settings: Settings, toolbox: ToolRegistry, roles: RoleRegistry, cost: CostOfUse) -> ServerTelemetry:
    """Raises: BadSettings if traces are on and their packages are not installed."""

    def find_spec(name: str) -> ToolSpec | None:
        tool = toolbox.find(name)
        return None if tool is None else tool.spec

    metrics = ServerMetrics(find_spec, lambda name: roles.get(name) is not None, cost)
    return ServerTelemetry(metrics, _open_traces(settings, metrics.span_failures.add) if settings.traces else None)


def _open_traces(settings: Settings, failed: Callable[[], None]) -> Traces:
    try:
        from anycowork.telemetry.otlp import OtlpTraces  # only who traces pays for the packages
    except ModuleNotFoundError as missing:
        raise BadSettings(
            f"'traces' is on, but {missing.name} is not installed. Install AnyCowork with its extra 'traces', or turn it off.",
            param="traces",
        ) from missing
    return OtlpTraces(contents=settings.trace_contents, failed=failed)
