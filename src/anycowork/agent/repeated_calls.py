"""Detects calls that a model repeats without making progress."""

from collections.abc import Sequence

from anycowork.domain.errors import RepeatedCall
from anycowork.domain.tools import Call, CallStatus

_CIRCLE = 12  # calls: a model that repeats one of the last so many is going in circles


def repeated_tools(calls: Sequence[Call]) -> frozenset[str]:
    """Return the tools called since the last change, if the newest call is a repetition; empty if the turn makes progress."""
    since: list[Call] = []
    for call in reversed(calls[-_CIRCLE:]):
        if call.intent is not None and succeeded(call):
            break
        if call.result is not None:
            since.append(call)
    if not since or not (was_a_repeat(since[0]) or _is_repeated(since)):
        return frozenset()
    return frozenset(call.tool for call in since)


def was_a_repeat(call: Call) -> bool:
    """Whether the call was refused because it repeats an earlier one."""
    return call.result is not None and call.result.error is not None and call.result.error.code == RepeatedCall.code


def succeeded(call: Call) -> bool:
    return call.result is not None and call.result.status is CallStatus.OK


def _is_repeated(calls: list[Call]) -> bool:
    """Whether the first of these calls also occurs among the others."""
    first = calls[0]
    if [call.parameters for call in calls].count(first.parameters) == 1:
        return False  # the usual case
    return any(call.tool == first.tool and call.parameters == first.parameters for call in calls[1:])
