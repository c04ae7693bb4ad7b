"""Sets a server or a worker up among the others on its database: which jobs it runs, and what it watches."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial

from anycowork.chats.distributed_chat_locks import DistributedChatLocks
from anycowork.chats.task_turns import TaskTurns
from anycowork.chats.turn_recovery import TurnRecovery
from anycowork.domain.chats import Turn
from anycowork.domain.forwarded_requests import ForwardedAnswer, ForwardedRequest
from anycowork.events.hub import Hub
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.jobs.job_placement import JobPlacement
from anycowork.server.placements import ServerPlacement, WorkerPlacement, describe
from anycowork.server.server_peers import (
    PULL_SECONDS,
    TAKEOVER_SECONDS,
    answer_requests,
    end_hung_peers,
    pull_jobs,
    take_over,
    watch_session,
)
from anycowork.server.shared_components import SharedComponents
from anycowork.store.sql.database import Database, Peers


async def join_peers(peers: Peers, shared: SharedComponents) -> JobPlacement:
    """Tells the others that this process is there. Returns which jobs it runs."""
    is_worker, store = shared.is_worker, shared.database.store
    await peers.table.announce(partial(describe, shared, is_worker=is_worker))
    return WorkerPlacement(peers.table, store, shared) if is_worker else ServerPlacement(peers.table, store)


async def takes_turn(turns: TaskTurns, is_worker: bool, turn: Turn) -> bool:
    """Whether this process settles a turn of one that died: a worker only those of jobs."""
    return not (is_worker and turn.job_id is None) and await turns.runs_here(turn)


def rest_later(tasks: asyncio.TaskGroup, locks: DistributedChatLocks, chat_id: str) -> None:
    tasks.create_task(locks.rest(chat_id))


def peer_watches(
    database: Database,
    hub: Hub,
    locks: DistributedChatLocks | None,
    recovery: TurnRecovery,
    turns: TaskTurns,
    on_rest: Callable[[str], None],
    takes: Callable[[Turn], Awaitable[bool]],
    coordinator: JobCoordinator,
    worker_jobs: int | None,
    lost: asyncio.Event,
    stopping: asyncio.Event,
    answer: Callable[[ForwardedRequest], Awaitable[ForwardedAnswer]],
) -> tuple[Coroutine[None, None, None], ...]:
    """Returns what runs besides the requests as long as the process shares a database; nothing if it has its own.

    `answer` handles a request that another process forwards to this worker.
    """
    if database.peers is None or locks is None:
        return ()
    peers = database.peers
    if worker_jobs is None:
        return (
            watch_session(database, peers, hub, lost),
            _stop_when_lost(lost, stopping),
            take_over(database, peers, locks, recovery, turns, on_rest, takes),
            pull_jobs(peers, coordinator, most=None, seconds=TAKEOVER_SECONDS),
            end_hung_peers(peers),
        )
    return (
        watch_session(database, peers, hub, lost),
        take_over(database, peers, locks, recovery, turns, on_rest, takes, PULL_SECONDS),
        pull_jobs(peers, coordinator, most=worker_jobs, seconds=PULL_SECONDS),
        answer_requests(peers, answer),
        end_hung_peers(peers),
    )


async def _stop_when_lost(lost: asyncio.Event, stopping: asyncio.Event) -> None:
    await lost.wait()
    stopping.set()
