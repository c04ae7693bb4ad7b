"""The engine port: runs of registered kinds, made of segments. A segment lasts until the run ends or must wait for a signal.

Only JSON crosses the port. What a run has done stands in the journal: an engine's own rows may be lost without losing work.
`tests/contract/test_engines.py` holds every engine to it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import field
from enum import StrEnum
from typing import Protocol

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


class RunFailed(AnyCoworkError):
    """The run's handler raised; `cause` is the code of its error."""

    code = "run_failed"

    def __init__(self, message: str, *, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause


class RunCancelled(AnyCoworkError):
    code = "run_cancelled"


class RunOver(AnyCoworkError):
    """The run has ended, so it takes no signal."""

    code = "run_over"


class Engine(Protocol):
    """Runs each segment on one worker at a time. A segment that was in progress when its worker died is handed to another one."""

    def register(self, kind: str, handler: SegmentHandler) -> None:
        """Handle runs of this kind in this process. Call it before `start`."""

    async def start(self) -> None:
        """Begin to take runs. Raises: StorageFault."""

    async def submit(self, kind: str, payload: Json, *, key: str) -> None:
        """Start a run; again with the same key is harmless. Raises: Invalid if the payload is not JSON, StorageFault."""

    async def signal(self, key: str, name: str, payload: Json, *, dedup: str) -> None:
        """Start the next segment of a run that waits for this signal, now or once it does; again with the same `dedup` is harmless.

        Raises: NotFound, RunOver, Invalid, StorageFault.
        """

    async def restart(self, key: str) -> None:
        """Begin the next segment of a run that is over; harmless while it is not. Raises: NotFound, StorageFault."""

    async def cancel(self, key: str, *, timeout: float) -> None:
        """End the run: its handler is cancelled, wherever it runs. Returns when it has ended, or its worker is gone; harmless when over.

        Raises: TimeoutError, StorageFault.
        """

    async def rest(self, key: str, *, after: int = 0) -> RunState:
        """Wait until the run has parked after its segment number `after` or later, or is over. Raises: NotFound."""

    async def result(self, key: str) -> Json:
        """Wait for the run's result. Raises: RunFailed, RunCancelled, NotFound."""

    async def find(self, key: str) -> RunPosition | None:
        """Return where the run is; None if there is no such run. Raises: StorageFault."""

    async def aclose(self, *, grace: float = 0.0) -> None:
        """Take no more runs; give those in progress `grace` seconds, then cancel their handlers and hand the runs back."""


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
