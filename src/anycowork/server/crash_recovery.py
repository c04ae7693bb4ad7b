"""Recovers what the last server left, before anybody works in a workspace again."""

import asyncio
from collections.abc import Awaitable, Callable

from anycowork.chats.distributed_chat_locks import ChatClaims
from anycowork.chats.rollback_service import RollbackService
from anycowork.chats.task_turns import TaskTurns
from anycowork.chats.turn_recovery import TurnRecovery
from anycowork.chats.turn_scheduler import settle_after_crash, waiting_stages
from anycowork.domain.chats import Turn
from anycowork.sandbox.stage import Staging
from anycowork.store.sql.database import Database


async def recover_after_crash(
    staging: Staging,
    database: Database,
    rollback: RollbackService | None,
    recovery: TurnRecovery,
    turns: TaskTurns,
    claims: ChatClaims,
    takes: Callable[[Turn], Awaitable[bool]],
) -> None:
    """Recovers restores, then commands, then turns. A worker has no `rollback`: a server finishes restores."""
    await asyncio.to_thread(staging.close_left_open)
    if rollback is not None:
        await rollback.settle_after_crash()
    await asyncio.to_thread(staging.end_orphans)
    left = await asyncio.to_thread(staging.left_behind)  # before an interrupted turn starts again
    await settle_after_crash(database.store, recovery, turns, claims, takes)
    await asyncio.to_thread(staging.sweep, left, waiting=await waiting_stages(database.store))
