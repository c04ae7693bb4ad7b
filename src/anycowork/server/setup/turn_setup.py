"""Builds what runs turns and jobs, and recovers what the last server left of them."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from anycowork.chats.files.rollback_service import RollbackService
from anycowork.domain.chats import Turn
from anycowork.domain.values import value
from anycowork.engine.dbos_engine import DbosEngine
from anycowork.jobs.asked_agents import AskedAgents
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.jobs.isolated_tasks import IsolatedTasks
from anycowork.jobs.job_records import JobWriter
from anycowork.sandbox.layers.stage import Staging
from anycowork.server.cluster.peer_setup import build_job_engine, join_peers, rest_later, takes_none, takes_turn
from anycowork.server.cluster.server_peers import build_locks
from anycowork.server.setup.agent_setup import build_scheduler
from anycowork.server.setup.shared_components import SharedComponents, build_isolated_tasks
from anycowork.store.sql.database import Database
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.distributed_chat_locks import ChatClaims, DistributedChatLocks, SingleServerClaims
from anycowork.turns.turn_recovery import TurnRecovery
from anycowork.turns.turn_scheduler import TurnScheduler, settle_after_crash, waiting_stages


@value
class TurnRuntime:
    """`locks` and `job_engine` are None if no other process uses the database. `takes`: whether this process settles a turn of one that died."""

    scheduler: TurnScheduler
    job_engine: DbosEngine | None
    recovery: TurnRecovery
    rollback: RollbackService
    chat_coordinator: ChatCoordinator
    coordinator: JobCoordinator
    isolated: IsolatedTasks
    locks: DistributedChatLocks | None
    takes: Callable[[Turn], Awaitable[bool]]
    is_worker: bool

    async def resume(self, on_rest: Callable[[str], None]) -> None:
        """Goes on with the jobs; a worker gets them from the engine. `on_rest` is called with each chat whose turn ends."""
        self.scheduler.on_rest = on_rest
        await self.coordinator.resume_all(wakes=not self.is_worker)


async def build_turn_runtime(shared: SharedComponents, worker_jobs: int | None) -> TurnRuntime:
    """Builds what runs turns and jobs. When this returns, every turn that a crash interrupted is settled."""
    database, store, journal, clock = shared.database, shared.database.store, shared.database.journal, shared.clock
    recovery = TurnRecovery(
        journal=journal,
        store=store,
        workspaces=shared.workspaces,
        snapshots=shared.snapshots,
        toolbox=shared.toolbox,
        clock=clock,
    )
    rollback = RollbackService(
        journal=journal,
        store=store,
        workspaces=shared.workspaces,
        snapshots=shared.snapshots,
        clock=clock,
    )
    scheduler = build_scheduler(shared, recovery)
    locks = job_engine = None
    if database.peers is not None:
        locks = build_locks(database, database.peers, scheduler, waits=not shared.is_worker)
        job_engine = build_job_engine(shared, database.peers, worker_jobs=worker_jobs)
        scheduler.placement = await join_peers(database.peers, shared, job_engine)
    takes = partial(takes_turn, scheduler, shared.is_worker)
    await recover_after_crash(
        shared.sandbox_setup.staging,
        database,
        None if shared.is_worker else rollback,
        recovery,
        scheduler,
        locks or SingleServerClaims(),
        takes_none if shared.is_worker else takes,
    )
    chat_coordinator = ChatCoordinator(journal=journal, store=store, scheduler=scheduler, locks=locks)
    isolated = build_isolated_tasks(shared)
    coordinator = JobCoordinator(
        journal=journal,
        store=store,
        turns=chat_coordinator,
        agents=shared.agents,
        isolated=isolated,
        clock=clock,
        tasks=shared.tasks,
        parallel_tasks=shared.live_settings.parallel_tasks,
        placement=scheduler.placement,
        remote=shared.remote_runs,
    )
    asked_agents = AskedAgents(
        store=store,
        turns=chat_coordinator,
        writer=JobWriter(journal=journal, turns=chat_coordinator, clock=clock),
        agents=shared.agents,
        coordinator=coordinator,
        clock=clock,
    )
    scheduler.introduce = asked_agents.introduce
    coordinator.on_done.append(asked_agents.on_step)
    if locks is not None:
        locks.is_due = coordinator.is_woken
        coordinator.on_done.append(partial(rest_later, shared.tasks, locks))
    return TurnRuntime(
        scheduler=scheduler,
        job_engine=job_engine,
        recovery=recovery,
        rollback=rollback,
        chat_coordinator=chat_coordinator,
        coordinator=coordinator,
        isolated=isolated,
        locks=locks,
        takes=takes,
        is_worker=shared.is_worker,
    )


async def recover_after_crash(
    staging: Staging,
    database: Database,
    rollback: RollbackService | None,
    recovery: TurnRecovery,
    scheduler: TurnScheduler,
    claims: ChatClaims,
    takes: Callable[[Turn], Awaitable[bool]],
) -> None:
    """Recovers restores, then commands, then turns. A worker has no `rollback`: a server finishes restores."""
    await asyncio.to_thread(staging.close_left_open)
    if rollback is not None:
        await rollback.settle_after_crash()
    await asyncio.to_thread(staging.end_orphans)
    leftovers = await asyncio.to_thread(staging.left_behind)  # before an interrupted turn starts again
    await settle_after_crash(database.store, recovery, scheduler, claims, takes)
    await asyncio.to_thread(staging.sweep, leftovers, waiting=await waiting_stages(database.store))
