"""Hands jobs to workers through the engine: one run for each job, under the job's id. What the job has done stands in the journal."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from anycowork.domain.errors import NotFound
from anycowork.domain.jobs import Job, JobStatus
from anycowork.domain.messages import Json
from anycowork.engine.dbos_engine import DbosEngine
from anycowork.engine.run_table import ParkUntil, RunOver, RunSegment
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.store.sql.store import Store
from anycowork.turns.turn_scheduler import JobPlacement, TurnScheduler

if TYPE_CHECKING:
    from anycowork.store.postgres.peers import PostgresPeers

KIND = "job"
GO_ON = "go_on"
PASS_ON_SECONDS = 0.5  # a worker that cannot run a job keeps it so long: the others look into the queue more often
CANCEL_SECONDS = 5.0


class JobRuns:
    """Has jobs go on in workers."""

    def __init__(self, engine: DbosEngine) -> None:
        self._engine = engine

    async def go_on(self, job: Job) -> None:
        """Has a worker take the job on as far as it can, as soon as one has room. Idempotent, also while a worker has it.

        Raises: StorageFault.
        """
        run = await self._engine.find(job.id)
        with suppress(NotFound, RunOver):  # it changed since: the next sweep sees that
            if run is None:
                await self._engine.submit(KIND, {"job_id": job.id}, key=job.id)
            elif run.state.over:
                await self._engine.restart(job.id)
            else:
                # One signal for each segment: a run that waits for a free worker collects no more of them.
                await self._engine.signal(job.id, GO_ON, {}, dedup=f"after {run.segment}")

    async def end(self, job_id: str) -> None:
        """Ends the run of a job that is over. Raises: StorageFault."""
        with suppress(TimeoutError):
            await self._engine.cancel(job_id, timeout=CANCEL_SECONDS)


class JobSegments:
    """Runs a segment of a job's run in this worker: until the job ends, or rests because a person has to decide or another process works
    in its chat. `settle` ends what a dead process left in the chat."""

    def __init__(
        self,
        *,
        runs: JobRuns,
        store: Store,
        peers: "PostgresPeers",
        placement: JobPlacement,
        coordinator: JobCoordinator,
        scheduler: TurnScheduler,
        settle: Callable[[str], Awaitable[None]],
    ) -> None:
        self._runs = runs
        self._store = store
        self._peers = peers
        self._placement = placement
        self._coordinator = coordinator
        self._scheduler = scheduler
        self._settle = settle
        self._given_back = asyncio.Event()

    async def run_segment(self, segment: RunSegment) -> Json | ParkUntil:
        """The engine calls it. Raises: StorageFault."""
        job = await self._store.jobs.find(str(segment.payload["job_id"]), with_plan=False)
        if job is None or job.status.over:
            return _result(job)
        if not await self._placement.runs_here(job):
            await self._pass_on(job)
            return ParkUntil(GO_ON)
        await self._settle(job.chat_id)
        self._coordinator.wake(job.chat_id)
        await self._until_rest(job.chat_id)
        job = await self._store.jobs.find(job.id, with_plan=False)
        return _result(job) if job is None or job.status.over else ParkUntil(GO_ON)

    async def offer(self, chat_id: str) -> None:
        """Submits what this worker could run of the chat, for itself or another one. Raises: StorageFault."""
        for job in await self._store.jobs.in_states(JobStatus.RUNNING, chat_id=chat_id):
            if await self._placement.runs_here(job):
                await self._runs.go_on(job)

    def give_back(self, chat_id: str) -> None:
        """This worker may have given the chat back."""
        self._given_back.set()
        self._given_back = asyncio.Event()

    async def _pass_on(self, job: Job) -> None:
        """Lets another worker have the job. If none fits, a server runs it."""
        if job.status is JobStatus.RUNNING and await self._peers.table.has_worker_for(job.id):
            await asyncio.sleep(PASS_ON_SECONDS)
            await self._runs.go_on(job)

    async def _until_rest(self, chat_id: str) -> None:
        while self._is_at_work(chat_id):
            await self._given_back.wait()

    def _is_at_work(self, chat_id: str) -> bool:
        return self._peers.holds(chat_id) or self._coordinator.is_woken(chat_id) or self._scheduler.is_busy(chat_id)


def _result(job: Job | None) -> Json:
    return {"status": job.status.value if job is not None else None}
