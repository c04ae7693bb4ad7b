"""Connects this server with the others on its database: chats and workspaces have one server at a time, and all hear of every write."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from anycowork.domain.chats import Turn
from anycowork.domain.errors import AnyCoworkError, LeaseHeld, StorageFault
from anycowork.domain.forwarded_requests import ForwardedAnswer, ForwardedRequest
from anycowork.engine.dbos_engine import DbosEngine
from anycowork.events.hub import Hub
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.workspaces import Workspaces
from anycowork.server.cluster.job_runs import JobRuns
from anycowork.store.sql.database import Database, ForeignWrites
from anycowork.turns.distributed_chat_locks import SHORT_WAIT_SECONDS, DistributedChatLocks
from anycowork.turns.turn_recovery import TurnRecovery
from anycowork.turns.turn_scheduler import TurnScheduler, settle_after_crash

if TYPE_CHECKING:
    from anycowork.store.postgres.peers import PostgresPeers

LEASE_OWNER = "local"  # the lock of the data folder lets only one server use this store
LEASE_SECONDS = 60.0
SHARED_LEASE_SECONDS = 3600.0  # it is given back at once, and a server that died loses it within seconds
LEASE_WAIT_SECONDS = 30.0
RETRY_SECONDS = 0.1
TAKEOVER_SECONDS = 2.0
REQUEST_SECONDS = 5.0  # a note about each is sent at once, and is lost only with the session
HUNG_CHECK_SECONDS = 1.0
LET_GO_SECONDS = 1.0

log = logging.getLogger(__name__)


def build_workspaces(database: Database, staging: Staging) -> Workspaces:
    """Builds the workspaces. Call it after this process has announced its data folder to the others."""
    leases, peers = database.leases, database.peers
    if peers is None:
        return Workspaces(lambda root: leases.take(root, owner=LEASE_OWNER, seconds=LEASE_SECONDS), staging=staging)
    return Workspaces(
        partial(_take_when_free, database, peers),
        staging=staging,
        end_lease=lambda root: leases.take(root, owner=peers.server_id, seconds=0.0),
        peers=peers.layers,
        others_write=partial(leases.others_write, owner=peers.server_id),
        data_folder=peers.table.data_folder,
    )


async def _take_when_free(database: Database, peers: "PostgresPeers", root: str) -> int:
    """Raises: LeaseHeld if another server writes there for longer than people wait."""
    until = asyncio.get_running_loop().time() + LEASE_WAIT_SECONDS
    while True:
        try:
            return await database.leases.take(root, owner=peers.server_id, seconds=SHARED_LEASE_SECONDS)
        except LeaseHeld:
            if asyncio.get_running_loop().time() >= until:
                raise
        await asyncio.sleep(RETRY_SECONDS)


def build_locks(
    database: Database, peers: "PostgresPeers", scheduler: TurnScheduler, *, waits: bool
) -> DistributedChatLocks:
    """A worker waits (`waits` is False) only until the server has let go that gave it the job."""
    journal, seconds = database.journal, SHORT_WAIT_SECONDS if waits else LET_GO_SECONDS
    return DistributedChatLocks(
        peers, refresh=journal.refresh, flush=journal.flush, is_busy=scheduler.is_busy, wait_seconds=seconds
    )


async def follow_peers(database: Database, peers: "PostgresPeers", hub: Hub) -> None:
    """Passes on what other servers write, until it is cancelled."""

    def pass_on(writes: ForeignWrites) -> None:
        for chat_id in (None,) if writes.chat_ids is None else writes.chat_ids:
            if chat_id is None or not peers.holds(chat_id):
                database.journal.forget(chat_id)
            hub.reread(chat_id)
        if writes.list_changed:
            hub.chats_changed()

    await peers.keep(pass_on)


async def take_over(peers: "PostgresPeers", settle: Callable[[], Awaitable[None]]) -> None:
    """Ends what servers left that died while this one runs, until it is cancelled."""
    while True:
        await asyncio.sleep(TAKEOVER_SECONDS)
        if peers.joined_lately():
            continue
        try:
            await settle()
        except AnyCoworkError as error:
            log.warning("what another server left cannot be taken over yet: %s", error.message)


async def settle_dead(
    database: Database,
    peers: "PostgresPeers",
    locks: DistributedChatLocks,
    recovery: TurnRecovery,
    scheduler: TurnScheduler,
    on_rest: Callable[[str], None],
    takes: Callable[[Turn], Awaitable[bool]],
    chat_id: str | None,
) -> None:
    """Ends the leases and turns of processes that died; of turns only those of the chat, if one is named. Raises: StorageFault."""
    leases = database.leases
    await leases.end_of_owners([owner for owner in await leases.owners() if not await peers.lives(owner)])
    for rested in await settle_after_crash(database.store, recovery, scheduler, locks, takes, chat_id=chat_id):
        on_rest(rested)


async def sweep_jobs(
    peers: "PostgresPeers",
    wake: Callable[[str], None] | None,
    offer: Callable[[str], Awaitable[None]],
    runs: JobRuns,
) -> None:
    """Has every job go on that could and that nobody works on, until it is cancelled: its submission was lost, or its server died.

    A server runs those that no worker can (`wake`); the others are offered to the workers. Runs whose job is over are ended.
    """
    while True:
        await asyncio.sleep(TAKEOVER_SECONDS)
        if peers.joined_lately():
            continue
        try:
            for chat_id, is_lost in await peers.table.free_chats():
                if wake is not None and not is_lost:
                    wake(chat_id)
                else:
                    await offer(chat_id)
            for job_id in await peers.table.ended_runs():
                await runs.end(job_id)
        except AnyCoworkError as error:
            log.warning("jobs that wait cannot be looked for yet: %s", error.message)


async def start_engine(engine: DbosEngine) -> None:
    """Takes runs from now on. Raises: StorageFault, which ends this worker."""
    try:
        await engine.start()
    except StorageFault as error:
        log.error("%s", error.message)
        raise


async def end_hung_peers(peers: "PostgresPeers") -> None:
    """Ends servers and workers that hang, until it is cancelled. It writes nothing: one that was stopped may hold rows that others wait for."""
    while True:
        await asyncio.sleep(HUNG_CHECK_SECONDS)
        try:
            await peers.table.remove_dead()
        except AnyCoworkError as error:
            log.warning("processes that hang cannot be looked for yet: %s", error.message)


async def answer_requests(
    peers: "PostgresPeers", handle: Callable[[ForwardedRequest], Awaitable[ForwardedAnswer]]
) -> None:
    """Answers requests about the chats of this process that came to other servers, until it is cancelled."""
    came = peers.requests.came
    async with asyncio.TaskGroup() as tasks:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(REQUEST_SECONDS):
                    await came.wait()
            came.clear()
            try:
                await peers.requests.answer_all(handle, tasks)
            except AnyCoworkError as error:
                log.warning("requests that others forwarded cannot be answered yet: %s", error.message)


async def answer_layer_changes(peers: "PostgresPeers", workspaces: Workspaces) -> None:
    """Keeps what the tasks of this process see before another process changes it, until it is cancelled."""
    await peers.layers.answer_all(workspaces.layers.apply)


async def watch_session(database: Database, peers: "PostgresPeers", hub: Hub, lost: asyncio.Event) -> None:
    """Passes on what others write, until others take over what this process does: then it sets `lost`, and nothing can be written any more.
    That is when a worker has lost its session, and when a server finds that another process took one of its chats."""
    try:
        await follow_peers(database, peers, hub)
    except StorageFault as error:
        log.error("this process stops what it does, because others take it over: %s", error.message)
        database.abandon()
        lost.set()
