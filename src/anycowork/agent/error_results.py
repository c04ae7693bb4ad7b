"""Builds the results of calls that the gate, a person or a fault ended. Pure."""

from dataclasses import replace

from anycowork.domain.errors import AnyCoworkError, Refusal, RejectedByUser
from anycowork.domain.tools import CallStatus, Intent, ToolResult


def failed_result(error: AnyCoworkError) -> ToolResult:
    """Return the gate's error as the result of the call."""
    if isinstance(error, RejectedByUser):
        return ToolResult.failed(error, status=CallStatus.DENIED)
    return ToolResult.failed(error, status=CallStatus.REFUSED if isinstance(error, Refusal) else CallStatus.ERROR)


def result_of_held(held: Intent, result: ToolResult) -> ToolResult:
    """The command did run, so its output comes before the reason why its changes were not made."""
    ran = held.held.result if held.held else ToolResult(CallStatus.OK, "")
    dropped = " Its changes were dropped." if result.status in (CallStatus.REFUSED, CallStatus.DENIED) else ""
    return replace(
        result,
        content=f"{ran.content}\n{result.content}{dropped}".lstrip("\n"),
        facts={**ran.facts, "files": [], "dropped": result.error.code if result.error else "not_ended"},
    )
