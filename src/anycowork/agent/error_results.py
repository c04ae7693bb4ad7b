"""Builds the results of calls that the gate, a person or a fault ended. Pure."""

from dataclasses import replace

from anycowork.domain.errors import AnyCoworkError, Refusal, RejectedByUser
from anycowork.domain.messages import Json
from anycowork.domain.people import DECIDED_BY
from anycowork.domain.principals import person_name_in
from anycowork.domain.tools import CallStatus, Intent, ToolResult
from anycowork.permissions.gate import Admitted


def failed_result(error: AnyCoworkError) -> ToolResult:
    """Return the gate's error as the result of the call."""
    if isinstance(error, RejectedByUser):
        denied = ToolResult.failed(error, status=CallStatus.DENIED)
        return replace(denied, facts={**denied.facts, **decider_fact(error.by)})
    return ToolResult.failed(error, status=CallStatus.REFUSED if isinstance(error, Refusal) else CallStatus.ERROR)


def allowed_facts(admitted: Admitted) -> Json:
    """Return what allowed the call, and by name the person besides the owner who approved it."""
    return {"allowed_by": admitted.allowed_by, **decider_fact(admitted.decided_by)}


def decider_fact(label: str | None) -> Json:
    name = person_name_in(label)
    return {} if name is None else {DECIDED_BY: name}


def result_of_held(held: Intent, result: ToolResult) -> ToolResult:
    """The command did run, so its output comes before the reason why its changes were not made."""
    ran = held.held.result if held.held else ToolResult(CallStatus.OK, "")
    dropped = " Its changes were dropped." if result.status in (CallStatus.REFUSED, CallStatus.DENIED) else ""
    return replace(
        result,
        content=f"{ran.content}\n{result.content}{dropped}".lstrip("\n"),
        facts={**ran.facts, **result.facts, "files": [], "dropped": result.error.code if result.error else "not_ended"},
    )
