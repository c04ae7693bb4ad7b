"""Runs of registered kinds, made of segments. A segment lasts until the run ends or must wait for a signal. Only JSON enters or leaves it."""

from collections.abc import Awaitable, Callable
from dataclasses import field
from enum import StrEnum

import msgspec

from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.domain.messages import Json
from anycowork.domain.values import value


class RunState(StrEnum):
    ACTIVE = "active"
    PARKED = "parked"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self not in (RunState.ACTIVE, RunState.PARKED)


@value
class RunSegment:
    """One segment of a run, as its handler gets it. `number` counts from 0. `attempt` is above 1 if an earlier worker died in this segment.

    `epoch` grows with each attempt of the run: a writer with an older one has lost the run.
    """

    run_id: str
    kind: str
    payload: Json = field(hash=False)
    number: int = 0
    signal: Json | None = field(default=None, hash=False)
    attempt: int = 1
    epoch: int = 1


@value
class ParkUntil:
    """A handler returns it to end its segment: the run goes on when this signal comes."""

    signal: str


SegmentHandler = Callable[[RunSegment], Awaitable[Json | ParkUntil]]


@value
class RunPosition:
    """Where a run is: `segment` is the number of the newest one, `owner` the process that runs it now."""

    state: RunState
    segment: int
    owner: str | None = None


class RunOver(AnyCoworkError):
    """The run has ended, so it takes no signal."""

    code = "run_over"


def require_json(payload: Json) -> bytes:
    """Return the payload as JSON text. Raises: Invalid if anything else than JSON is in it."""
    try:
        text = msgspec.json.encode(payload)
        if msgspec.json.decode(text) == payload:
            return text
    except (TypeError, ValueError, msgspec.MsgspecError):
        pass
    raise Invalid(
        "Only JSON values can be handed to a run: text, numbers, true, false, null, lists and objects.", param="payload"
    )
