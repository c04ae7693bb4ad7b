"""Looks up a chat by its id, and the plan progress of a turn."""

import asyncio
from collections.abc import Sequence

from anycowork.agent.plan_progress import PlanProgress
from anycowork.domain.chats import Chat, Turn
from anycowork.domain.errors import NotFound
from anycowork.domain.jobs import single_step
from anycowork.domain.messages import Json
from anycowork.domain.plan import read_plan
from anycowork.domain.ports import Store, Toolbox
from anycowork.domain.tools import Call, ToolSpec
from anycowork.domain.values import replace

_LARGE = 200  # steps


async def require_chat(store: Store, chat_id: str) -> Chat:
    """Return the chat. Raises: NotFound."""
    chat = await store.chat(chat_id)
    if chat is None:
        raise NotFound("chat", chat_id)
    return chat


async def progress_of(store: Store, toolbox: Toolbox, turn: Turn, root: str) -> PlanProgress | None:
    """Return the progress of the turn's approved plan; None if it has none."""
    row = await store.plan(turn.plan_id) if turn.plan_id else None
    if row is None or row.approved is None:
        return None
    calls = [*await _earlier_calls(store, turn), *await store.calls(turn.id)]
    specs = toolbox.specs()
    if not _is_large(row.approved):
        return _progress(row.approved, turn, specs, root, calls)
    return await asyncio.to_thread(_progress, row.approved, turn, specs, root, calls)


def _progress(
    approved: Json, turn: Turn, specs: Sequence[ToolSpec], root: str, calls: Sequence[Call]
) -> PlanProgress | None:
    plan = read_plan(approved)
    # A worker has its own step only, the agent that closes the job none.
    if plan is not None and turn.job_id is not None:
        plan = single_step(plan, turn.task_id or "")
    return None if plan is None else PlanProgress(plan, specs, root, calls)


def _is_large(plan: Json) -> bool:
    """Whether reading the plan takes long enough to block the event loop."""
    steps = plan.get("steps")
    return isinstance(steps, list) and len(steps) > _LARGE


async def _earlier_calls(store: Store, turn: Turn) -> list[Call]:
    """What earlier attempts at the turn's task did, numbered before its own calls: their work stands, except in a private copy."""
    if turn.job_id is None or turn.task_id is None or turn.workspace is not None:
        return []
    earlier = [one for one in await store.job_turns(turn.job_id, turn.task_id) if one.id != turn.id]
    made = [call for one in earlier for call in await store.calls(one.id)]
    return [replace(call, ordinal=at - len(made)) for at, call in enumerate(made)]
