"""Builds what runs turns and jobs, and recovers what the last server left of them."""

from collections.abc import Awaitable, Callable
from functools import partial

from anycowork.chats.chat_coordinator import ChatCoordinator
from anycowork.chats.distributed_chat_locks import DistributedChatLocks, SingleServerClaims
from anycowork.chats.rollback_service import RollbackService
from anycowork.chats.task_turns import TaskTurns
from anycowork.chats.turn_recovery import TurnRecovery
from anycowork.chats.turn_scheduler import TurnScheduler
from anycowork.domain.chats import Turn
from anycowork.domain.engine import Engine
from anycowork.domain.values import value
from anycowork.engine.dbos_engine import DbosEngine
from anycowork.engine.local import InProcessEngine
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.jobs.isolated_tasks import IsolatedTasks
from anycowork.server.agent_setup import build_scheduler
from anycowork.server.crash_recovery import recover_after_crash
from anycowork.server.peer_setup import build_job_engine, join_peers, rest_later, takes_none, takes_turn
from anycowork.server.server_peers import build_locks
from anycowork.server.shared_components import SharedComponents, build_isolated_tasks


@value
class TurnRuntime:
    """`locks` and `job_engine` are None if no other process uses the database. `takes`: whether this process settles a turn of one that died."""

    scheduler: TurnScheduler
    engine: Engine
    job_engine: DbosEngine | None
    turns: TaskTurns
    recovery: TurnRecovery
    rollback: RollbackService
    chat_coordinator: ChatCoordinator
    coordinator: JobCoordinator
    isolated: IsolatedTasks
    locks: DistributedChatLocks | None
    takes: Callable[[Turn], Awaitable[bool]]
    is_worker: bool

    async def resume(self, on_rest: Callable[[str], None]) -> None:
        """Go on with the jobs; a worker gets them from the engine. `on_rest` is called with each chat whose turn ends."""
        self.scheduler.on_rest = on_rest
        await self.coordinator.resume_all(wakes=not self.is_worker)


async def build_turn_runtime(shared: SharedComponents, worker_jobs: int | None) -> TurnRuntime:
    """Builds them. When this returns, every turn that a crash interrupted is settled."""
    database, store, journal, clock = shared.database, shared.database.store, shared.database.journal, shared.clock
    recovery = TurnRecovery(
        journal=journal,
        store=store,
        rows=store,
        workspaces=shared.workspaces,
        snapshots=shared.snapshots,
        toolbox=shared.toolbox,
        clock=clock,
    )
    rollback = RollbackService(
        journal=journal,
        store=store,
        rows=store,
        workspaces=shared.workspaces,
        snapshots=shared.snapshots,
        clock=clock,
    )
    scheduler = build_scheduler(shared, recovery)
    engine = InProcessEngine(shared.tasks)
    turns = TaskTurns(engine=engine, scheduler=scheduler, store=store, clock=clock, tasks=shared.tasks)
    locks = job_engine = None
    if database.peers is not None:
        locks = build_locks(database, database.peers, turns, waits=not shared.is_worker)
        job_engine = build_job_engine(shared, database.peers, worker_jobs=worker_jobs)
        turns.placement = await join_peers(database.peers, shared, job_engine)
    takes = partial(takes_turn, turns, shared.is_worker)
    await recover_after_crash(
        shared.sandbox_setup.staging,
        database,
        None if shared.is_worker else rollback,
        recovery,
        turns,
        locks or SingleServerClaims(),
        takes_none if shared.is_worker else takes,
    )
    chat_coordinator = ChatCoordinator(journal=journal, store=store, scheduler=turns, locks=locks)
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
        placement=turns.placement,
    )
    if locks is not None:
        locks.is_due = coordinator.is_woken
        coordinator.on_done = partial(rest_later, shared.tasks, locks)
    return TurnRuntime(
        scheduler=scheduler,
        engine=engine,
        job_engine=job_engine,
        turns=turns,
        recovery=recovery,
        rollback=rollback,
        chat_coordinator=chat_coordinator,
        coordinator=coordinator,
        isolated=isolated,
        locks=locks,
        takes=takes,
        is_worker=shared.is_worker,
    )
