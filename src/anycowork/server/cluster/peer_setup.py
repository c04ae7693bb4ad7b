"""Sets a server or a worker up among the others on its database: which jobs it runs, and what it watches."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from anycowork.domain.chats import Turn
from anycowork.domain.forwarded_requests import ForwardedAnswer, ForwardedRequest
from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.engine.dbos_engine import DbosEngine
from anycowork.engine.run_table import RunSegment
from anycowork.events.hub import Hub
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.sandbox.workspaces import Workspaces
from anycowork.server.cluster.job_runs import KIND, JobRuns, JobSegments
from anycowork.server.cluster.placements import ServerPlacement, WorkerPlacement, describe
from anycowork.server.cluster.server_peers import (
    answer_layer_changes,
    answer_requests,
    end_hung_peers,
    settle_dead,
    start_engine,
    sweep_jobs,
    take_over,
    watch_session,
)
from anycowork.server.setup.shared_components import SharedComponents
from anycowork.store.sql.database import Database
from anycowork.turns.distributed_chat_locks import DistributedChatLocks
from anycowork.turns.turn_recovery import TurnRecovery
from anycowork.turns.turn_scheduler import JobPlacement, TurnScheduler

if TYPE_CHECKING:
    from anycowork.store.postgres.peers import PostgresPeers

Takes = Callable[[Turn], Awaitable[bool]]
Answer = Callable[[ForwardedRequest], Awaitable[ForwardedAnswer]]


def build_job_engine(shared: SharedComponents, peers: "PostgresPeers", *, worker_jobs: int | None) -> DbosEngine:
    """Returns the engine that hands jobs to workers. A worker tells the others that it is there when its engine can take runs; only
    there DBOS is loaded."""
    assert shared.settings.database_url is not None
    return DbosEngine(
        shared.settings.database_url.get_secret_value(),
        peers,
        schema=peers.schema,
        session_name=peers.session_name,
        most_runs=worker_jobs,
        announce=partial(peers.table.announce, partial(describe, shared, is_worker=shared.is_worker)),
    )


async def join_peers(peers: "PostgresPeers", shared: SharedComponents, engine: DbosEngine) -> JobPlacement:
    """Returns which jobs this process runs. A server tells the others that it is there; a worker does so later."""
    store = shared.database.store
    if shared.is_worker:
        return WorkerPlacement(peers.table, store, shared)
    engine.register(KIND, _never)
    await engine.start()
    return ServerPlacement(peers.table, store, JobRuns(engine))


async def _never(segment: RunSegment) -> Json:
    raise AssertionError("A server takes no runs.")


async def takes_turn(scheduler: TurnScheduler, is_worker: bool, turn: Turn) -> bool:
    """Whether this process settles a turn of one that died: a worker only those of jobs."""
    return not (is_worker and turn.job_id is None) and await scheduler.runs_here(turn)


async def takes_none(turn: Turn) -> bool:
    """A worker settles turns when the engine gives it their job."""
    return False


def rest_later(tasks: asyncio.TaskGroup, locks: DistributedChatLocks, chat_id: str) -> None:
    tasks.create_task(locks.rest(chat_id))


@value
class PeerRuntime:
    """What a process needs to work beside others on its database. `on_rest` is told the chats whose turns were settled."""

    database: Database
    peers: "PostgresPeers"
    hub: Hub
    locks: DistributedChatLocks
    recovery: TurnRecovery
    scheduler: TurnScheduler
    on_rest: Callable[[str], None]
    takes: Takes
    coordinator: JobCoordinator
    engine: DbosEngine
    lost: asyncio.Event
    workspaces: Workspaces

    async def settle(self, chat_id: str | None = None) -> None:
        """Ends what dead processes left, in the chat if one is named. Raises: StorageFault."""
        await settle_dead(
            self.database, self.peers, self.locks, self.recovery, self.scheduler, self.on_rest, self.takes, chat_id
        )


def server_watches(
    runtime: PeerRuntime, stopping: asyncio.Event, answer: Answer
) -> tuple[Coroutine[None, None, None], ...]:
    """Returns what a server runs besides the requests as long as it shares a database. `answer` handles what others forward to it."""
    peers, coordinator = runtime.peers, runtime.coordinator
    return (
        watch_session(runtime.database, peers, runtime.hub, runtime.lost),
        _stop_when_lost(runtime.lost, stopping),
        take_over(peers, runtime.settle),
        sweep_jobs(peers, coordinator.wake, coordinator.offer, JobRuns(runtime.engine)),
        end_hung_peers(peers),
        answer_requests(peers, answer),
        answer_layer_changes(peers, runtime.workspaces),
    )


def worker_watches(runtime: PeerRuntime, answer: Answer) -> tuple[Coroutine[None, None, None], ...]:
    """Returns what a worker runs. `answer` handles a request that a server forwards to it."""
    peers, placement, engine = runtime.peers, runtime.scheduler.placement, runtime.engine
    assert placement is not None
    runs = JobRuns(engine)
    segments = JobSegments(
        runs=runs,
        store=runtime.database.store,
        peers=peers,
        placement=placement,
        coordinator=runtime.coordinator,
        scheduler=runtime.scheduler,
        settle=runtime.settle,
    )
    runtime.locks.on_given_back = segments.give_back
    engine.register(KIND, segments.run_segment)
    return (
        watch_session(runtime.database, peers, runtime.hub, runtime.lost),
        _take_jobs(engine, sweep_jobs(peers, None, segments.offer, runs)),
        answer_requests(peers, answer),
        end_hung_peers(peers),
        answer_layer_changes(peers, runtime.workspaces),
    )


async def _take_jobs(engine: DbosEngine, sweep: Coroutine[None, None, None]) -> None:
    """Joins the workers when nothing is left to import: an import that takes seconds would cost a worker at work its session."""
    try:
        await asyncio.to_thread(import_module, "aiohttp")  # the first request to a model would
        await start_engine(engine)
        await sweep
    finally:
        sweep.close()


async def _stop_when_lost(lost: asyncio.Event, stopping: asyncio.Event) -> None:
    await lost.wait()
    stopping.set()
