"""Events about progress as one line for a person. Pure; knows no screen."""

from math import ceil

from anycowork.domain.messages import Json
from anycowork.domain.provider_errors import Overloaded, RateLimited, Unreachable
from anycowork.domain.times import seconds_between

_FAULTS = {
    RateLimited.code: "The model server is busy",
    Overloaded.code: "The model server could not answer",
    Unreachable.code: "The model server cannot be reached",
}


def progress_line(event: Json) -> str:
    """Returns the line for a `workflow-progress`, `model-retry` or `mcp-wait` event; empty for any other, and where nothing is waited for."""
    match event:
        case {"type": "workflow-progress", "workflow": dict(run)}:
            return f"{run.get('name')}, step {run.get('step')} of {run.get('of')}: {run.get('title')}"
        case {"type": "model-retry", "retry": dict(retry)}:
            return _retry_line(retry, _seconds_left(event, retry))
        case {"type": "mcp-wait", "wait": {"servers": [_, *_] as servers}}:
            return f"Waiting for the MCP {'server' if len(servers) == 1 else 'servers'} {', '.join(map(str, servers))} to start."
        case _:
            return ""


def _retry_line(retry: Json, seconds: float) -> str:
    fault = _FAULTS.get(str(retry.get("reason")), "The model server failed")
    status = f" ({status})" if (status := retry.get("status")) else ""
    return f"{fault}{status}. Trying again in {ceil(seconds)} s ({retry.get('attempt')} of {retry.get('tries')})."


def _seconds_left(event: Json, retry: Json) -> float:
    """Returns the rest of the wait when the event was sent: a reader that joins later is sent it once more, with a later `at`.

    Both times are the server's, so the clock of this machine does not matter.
    """
    total = seconds if isinstance(seconds := retry.get("seconds"), int | float) else 0.0
    try:
        return min(total, seconds_between(str(event["at"]), str(retry["until"])))
    except (KeyError, ValueError, TypeError):
        return total
