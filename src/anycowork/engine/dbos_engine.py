"""The engine of many machines: DBOS Transact on PostgreSQL hands out segments, and this adds what it lacks.

That is: takeover of a dead worker's runs, an end to handlers whose run was cancelled or taken over, and waiting for a signal without
holding anything in memory. Segments run on the event loop of the process, not on DBOS's threads. Which processes live is known from the
session that holds their locks; a process that loses it ends, engine and all.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError as ThreadCancelled
from contextlib import suppress

from anycowork.domain.errors import AnyCoworkError, Invalid, NotFound, StorageFault
from anycowork.domain.messages import Json
from anycowork.engine.dbos_runtime import QUEUE, DbosRuntime, LostSegment, workflow_id
from anycowork.engine.run_table import (
    DatabaseSession,
    ParkUntil,
    RunOver,
    RunPosition,
    RunSegment,
    RunState,
    RunTable,
    SegmentHandler,
    require_json,
)

log = logging.getLogger(__name__)
POLL_SECONDS = 0.5
DEMAND_SECONDS = 0.1  # so soon DBOS looks into the queue when something waits there; that it looks costs no statement
KEPT_DAYS = 7
_TIDY_EVERY = 7_200  # in polls: an hour


class DbosEngine:
    """Runs each segment on one worker at a time. `most_runs` is how many runs this process takes at the same time; without it, it only submits and
    waits, and never loads DBOS: what it submits is queued by the processes that do. `schema` is the database's current one. `announce`
    puts this process among the living."""

    def __init__(
        self,
        url: str,
        session: DatabaseSession,
        *,
        schema: str,
        session_name: str,
        most_runs: int | None,
        announce: Callable[[], Awaitable[None]],
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self.worker_id = session.server_id
        self._most_runs = most_runs or 0
        self._announce = announce
        self._poll_seconds = poll_seconds
        dbos_schema = "dbos" if schema == "public" else f"{schema}_dbos"
        self._runs = RunTable(session, dbos_schema)
        self._runtime = (
            DbosRuntime(
                url,
                executor_id=self.worker_id,
                schema=dbos_schema,
                session_name=session_name,
                most_runs=0,
                polling_seconds=min(poll_seconds, DEMAND_SECONDS),
            )
            if most_runs is not None
            else None
        )
        self._handlers: dict[str, SegmentHandler] = {}
        self._active: dict[str, tuple[RunSegment, asyncio.Task[Json | ParkUntil]]] = {}
        self._taken: set[str] = set()  # what DBOS gave to this process, as it names it
        self._waiting: dict[str, asyncio.Event] = {}
        self._watch: asyncio.Task[None] | None = None
        self._launch: asyncio.Future[None] | None = None
        self._launched = self._closing = False
        self.started = asyncio.Event()

    def register(self, kind: str, handler: SegmentHandler) -> None:
        """Handles runs of this kind in this process. Call it before `start`."""
        self._handlers[kind] = handler

    async def start(self) -> None:
        """Begins to take runs. Raises: StorageFault."""
        self._loop = asyncio.get_running_loop()
        if self._runtime is None:
            await self._announce()
            return
        self._launch = asyncio.ensure_future(asyncio.to_thread(self._runtime.launch, self._run_segment))
        try:
            await asyncio.shield(self._launch)  # a thread cannot be cancelled: `aclose` waits for it
        except Exception as error:  # the driver's own errors, of several libraries
            raise StorageFault(f"The job engine could not start on the database: {error}") from error
        await self._announce()
        # Not before: what a process takes that is not among the living is taken over.
        self._runtime.most_runs = self._most_runs
        self._launched = True
        self._watch = self._loop.create_task(self._keep_watch())
        self.started.set()

    def take_no_more(self) -> None:
        """Takes no new segments; those in progress go on."""
        if self._runtime is not None:
            self._runtime.most_runs = 0

    async def submit(self, kind: str, payload: Json, *, key: str) -> None:
        """Starts a run; again with the same key is harmless. Raises: Invalid if the payload is not JSON, StorageFault."""
        text = require_json(payload)
        if kind not in self._handlers:
            raise Invalid(f"No handler is registered for runs of kind '{kind}'.", param="kind")
        await self._runs.add(key, kind, text)
        await self._enqueue(key, 0)

    async def signal(self, key: str, name: str, payload: Json, *, dedup: str) -> None:
        """Starts the next segment of a run that waits for this signal, now or once it does; again with the same `dedup` is harmless.

        Raises: NotFound, RunOver, Invalid, StorageFault.
        """
        text = require_json(payload)
        position = await self.find(key)
        if position is None:
            raise NotFound("run", key)
        if position.state.over:
            raise RunOver(f"Run '{key}' has ended.")
        await self._runs.add_signal(key, name, text, dedup)
        await self._go_on(key)

    async def restart(self, key: str) -> None:
        """Begins the next segment of a run that is over; harmless while it is not. Raises: NotFound, StorageFault."""
        number = await self._runs.restart(key)
        if number is not None:
            await self._enqueue(key, number)
        elif await self.find(key) is None:
            raise NotFound("run", key)

    async def cancel(self, key: str, *, timeout: float) -> None:
        """Ends the run: its handler is cancelled, wherever it runs. Returns when it has ended, or its worker is gone; harmless when over.

        Raises: TimeoutError, StorageFault.
        """
        await self._runs.cancel(key)
        async with asyncio.timeout(timeout):
            while (row := (await self._runs.rows([key])).get(key)) and row.owner is not None:
                if row.owner == self.worker_id and key in self._active:
                    self._active[key][1].cancel()
                await self._changed(key)

    async def find(self, key: str) -> RunPosition | None:
        """Returns where the run is; None if there is no such run. Raises: StorageFault."""
        return await self._runs.position(key)

    async def aclose(self, *, grace: float = 0.0) -> None:
        """Takes no more runs; gives those in progress `grace` seconds, then cancels their handlers. The others queue them again, as soon as
        this process's session has ended."""
        self._closing = True
        self.take_no_more()
        if grace > 0 and self._active:
            await asyncio.wait([task for _, task in self._active.values()], timeout=grace)
        await self._cancel_all()
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.wait([self._watch])
        self._launched = False
        if self._runtime is not None and self._launch is not None:
            await asyncio.wait([self._launch])
            await asyncio.to_thread(self._runtime.destroy)

    # --- segments

    def _run_segment(self, run_id: str, number: int) -> None:
        """Called by DBOS on a thread of its own: runs the segment on our loop. Raises: LostSegment if nothing shall be recorded."""
        try:
            asyncio.run_coroutine_threadsafe(self._segment(run_id, number), self._loop).result()
        except (ThreadCancelled, asyncio.CancelledError, StorageFault, RuntimeError):
            raise LostSegment(run_id) from None

    async def _segment(self, run_id: str, number: int) -> None:
        if self._closing:
            raise asyncio.CancelledError
        self._taken.add(segment_id := workflow_id(run_id, number))
        try:
            segment = await self._runs.pick_up(run_id, number, self.worker_id)
            if segment is not None:
                await self._run(segment)
        finally:
            self._taken.discard(segment_id)

    async def _run(self, segment: RunSegment) -> None:
        task = self._loop.create_task(self._handle(segment))
        self._active[segment.run_id] = (segment, task)
        try:
            await asyncio.wait([task])
        finally:
            if self._active.get(segment.run_id, (None, None))[1] is task:
                del self._active[segment.run_id]
        await self._record(segment, task)

    async def _handle(self, segment: RunSegment) -> Json | ParkUntil:
        handler = self._handlers.get(segment.kind)
        if handler is None:
            raise Invalid(f"No handler is registered for runs of kind '{segment.kind}'.", param="kind")
        outcome = await handler(segment)
        if not isinstance(outcome, ParkUntil):
            require_json(outcome)
        return outcome

    async def _record(self, segment: RunSegment, task: "asyncio.Task[Json | ParkUntil]") -> None:
        """Writes how the segment ended. Raises: CancelledError if the run is no longer ours, or goes back to the queue."""
        if task.cancelled():
            await self._runs.let_go(segment)
            raise asyncio.CancelledError
        error = task.exception()
        if error is not None:
            if not isinstance(error, AnyCoworkError):
                log.error("run %s failed inside its handler", segment.run_id, exc_info=error)
            failure = (
                (error.code, error.message)
                if isinstance(error, AnyCoworkError)
                else ("internal_error", "An internal error occurred; see the log.")
            )
            ours = await self._runs.finish(segment, RunState.FAILED, error=failure)
        elif isinstance(outcome := task.result(), ParkUntil):
            ours = await self._runs.finish(segment, RunState.PARKED, waits_for=outcome.signal)
        else:
            ours = await self._runs.finish(segment, RunState.COMPLETED, result=require_json(outcome))
        if not ours:
            await self._runs.let_go(segment)
            raise asyncio.CancelledError
        await self._go_on(segment.run_id)
        self._wake(segment.run_id)

    async def _go_on(self, key: str) -> None:
        """Queues the next segment if the signal that the run waits for has come. A crash in between is mended by `_look`."""
        number = await self._runs.advance(key)
        if number is not None:
            await self._enqueue(key, number)

    async def _enqueue(self, key: str, number: int) -> None:
        if self._runtime is None or not self._launched:
            return  # the others find it, see `_look`
        try:
            await asyncio.to_thread(self._runtime.enqueue, key, number)
        except Exception as error:  # the driver's own errors, of several libraries
            raise StorageFault(f"The run could not be queued: {error}") from error

    # --- watching

    async def _changed(self, key: str) -> None:
        """Returns when the run may have changed: soon after it did, at the latest after one poll's time."""
        event = self._waiting.setdefault(key, asyncio.Event())
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await event.wait()
        finally:
            self._waiting.pop(key, None)

    def _wake(self, key: str) -> None:
        if event := self._waiting.pop(key, None):
            event.set()

    async def _keep_watch(self) -> None:
        polls = 0
        while True:
            await asyncio.sleep(self._poll_seconds)
            polls += 1
            try:
                await self._end_lost_handlers()
                await self._look()
                if polls % _TIDY_EVERY == 0:
                    await self._forget_old()
            except StorageFault as fault:
                log.warning("the job engine cannot reach the database: %s", fault.message)
            except Exception:  # the watch must go on, whatever one poll met
                log.exception("the job engine's watch failed once")

    async def _end_lost_handlers(self) -> None:
        active = dict(self._active)  # what begins while the rows are read is not among them
        rows = await self._runs.rows(list(active)) if active else {}
        for run_id, (segment, task) in active.items():
            row = rows.get(run_id)
            if row is None or row.state is not RunState.ACTIVE or row.epoch != segment.epoch:
                task.cancel()

    async def _look(self) -> None:
        """Queues what servers submitted and what the queue lost in a crash, takes over the runs of dead workers, gives back what the queue
        counts as ours although we let it go, and has DBOS look if something waits."""
        assert self._runtime is not None
        state = await self._runs.look(QUEUE, self.worker_id, tuple(self._taken))
        for segment_id in state.queued_again:
            log.warning("segment %s is queued again: nobody works on it", segment_id)
        if state.waits:
            self._runtime.look()
        for run_id, number, status in state.unqueued:
            if status is None:
                await self._enqueue(run_id, number)
            else:
                await self._runs.fail(
                    run_id, number, ("engine_fault", f"The queue ended the segment ({status.lower()}).")
                )

    async def _forget_old(self) -> None:
        for run_id, segments in await self._runs.forget_old(KEPT_DAYS):
            assert self._runtime is not None
            await asyncio.to_thread(self._runtime.forget, run_id, segments)

    async def _cancel_all(self) -> None:
        """Cancels the handlers and waits for them: a handler that cleans up does so before its run is another's."""
        tasks = [task for _, task in self._active.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
