"""The embedded engine: segments are tasks of this process. What must survive it stands in the journal, and is submitted again."""

import asyncio
import logging
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from anycowork.domain.engine import (
    ParkUntil,
    RunCancelled,
    RunFailed,
    RunOver,
    RunPosition,
    RunSegment,
    RunState,
    SegmentHandler,
    require_json,
)
from anycowork.domain.errors import AnyCoworkError, Invalid, NotFound
from anycowork.domain.messages import Json

MOST_REMEMBERED = 1000
"""Runs that are over and still answer for their result."""

OWNER = "local"

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Run:
    kind: str
    payload: Json
    state: RunState = RunState.ACTIVE
    number: int = 0
    waits_for: str | None = None
    task: asyncio.Task[None] | None = None
    result: Json | None = None
    error: tuple[str, str] | None = None
    signals: deque[tuple[str, Json]] = field(default_factory=deque)
    seen: set[str] = field(default_factory=set)
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class InProcessEngine:
    """Implements the `Engine` port. `tasks` is the server's task group: no segment outlives it."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._handlers: dict[str, SegmentHandler] = {}
        self._runs: dict[str, _Run] = {}
        self._over: OrderedDict[str, None] = OrderedDict()
        self._closed = False

    def register(self, kind: str, handler: SegmentHandler) -> None:
        self._handlers[kind] = handler

    async def start(self) -> None:
        return

    async def submit(self, kind: str, payload: Json, *, key: str) -> None:
        require_json(payload)
        if kind not in self._handlers:
            raise Invalid(f"No handler is registered for runs of kind '{kind}'.", param="kind")
        if key not in self._runs and not self._closed:
            run = self._runs[key] = _Run(kind, payload)
            self._begin(key, run, None)

    async def signal(self, key: str, name: str, payload: Json, *, dedup: str) -> None:
        require_json(payload)
        run = self._require(key)
        if dedup in run.seen:
            return
        if run.state.over:
            raise RunOver(f"Run '{key}' has ended.")
        run.seen.add(dedup)
        run.signals.append((name, payload))
        self._go_on(key, run)

    async def restart(self, key: str) -> None:
        run = self._require(key)
        if run.state.over and not self._closed:
            self._over.pop(key, None)
            run.result = run.error = None
            run.number += 1
            self._begin(key, run, None)

    async def cancel(self, key: str, *, timeout: float) -> None:
        run = self._runs.get(key)
        if run is None or run.state.over:
            return
        running = run.task
        self._end(key, run, RunState.CANCELLED)
        if running is not None and not running.done():
            running.cancel()
            async with asyncio.timeout(timeout):
                await asyncio.wait([running])

    async def rest(self, key: str, *, after: int = 0) -> RunState:
        run = self._require(key)
        while run.state is RunState.ACTIVE or (run.state is RunState.PARKED and run.number < after):
            await self._change(run)
        return run.state

    async def result(self, key: str) -> Json:
        run = self._require(key)
        while not run.state.over:
            await self._change(run)
        if run.state is RunState.CANCELLED:
            raise RunCancelled(f"Run '{key}' was cancelled.")
        if run.error is not None:
            cause, message = run.error
            raise RunFailed(message, cause=cause)
        return run.result or {}

    async def find(self, key: str) -> RunPosition | None:
        run = self._runs.get(key)
        return RunPosition(run.state, run.number, OWNER if run.state is RunState.ACTIVE else None) if run else None

    async def aclose(self, *, grace: float = 0.0) -> None:
        self._closed = True
        running = [run.task for run in self._runs.values() if run.task is not None and not run.task.done()]
        if running and grace > 0:
            await asyncio.wait(running, timeout=grace)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    def _require(self, key: str) -> _Run:
        if (run := self._runs.get(key)) is None:
            raise NotFound("run", key)
        return run

    async def _change(self, run: _Run) -> None:
        run.changed.clear()
        await run.changed.wait()

    def _begin(self, key: str, run: _Run, signal: Json | None) -> None:
        segment = RunSegment(key, run.kind, run.payload, run.number, signal, epoch=run.number + 1)
        run.state, run.waits_for = RunState.ACTIVE, None
        run.task = self._tasks.create_task(self._segment(key, run, segment))

    async def _segment(self, key: str, run: _Run, segment: RunSegment) -> None:
        try:
            outcome = await self._handlers[run.kind](segment)
            if run.state is not RunState.ACTIVE:
                return
            if isinstance(outcome, ParkUntil):
                run.state, run.waits_for = RunState.PARKED, outcome.signal
                run.changed.set()
                self._go_on(key, run)
                return
            require_json(outcome)
            run.result = outcome
            self._end(key, run, RunState.COMPLETED)
        except AnyCoworkError as error:
            run.error = (error.code, error.message)
            self._end(key, run, RunState.FAILED)
        except Exception:  # the top level of a segment: whatever fails in a handler, the run ends and says so
            log.exception("run %s failed inside its handler", key)
            run.error = ("internal_error", "An internal error occurred; see the log.")
            self._end(key, run, RunState.FAILED)

    def _go_on(self, key: str, run: _Run) -> None:
        """Begins the next segment if the signal that the run waits for has come."""
        if run.state is not RunState.PARKED or self._closed:
            return
        found = next((each for each in run.signals if each[0] == run.waits_for), None)
        if found is not None:
            run.signals.remove(found)
            run.number += 1
            self._begin(key, run, found[1])

    def _end(self, key: str, run: _Run, state: RunState) -> None:
        if run.state.over:
            return
        run.state, run.task = state, None
        run.signals.clear()
        run.changed.set()
        self._over[key] = None
        while len(self._over) > MOST_REMEMBERED:
            del self._runs[self._over.popitem(last=False)[0]]
