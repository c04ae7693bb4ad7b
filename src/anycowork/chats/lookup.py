"""Looks up a chat by its id, and the plan progress of a turn."""

import asyncio

from anycowork.agent.plan_progress import PlanProgress
from anycowork.domain.chats import Chat, Turn
from anycowork.domain.errors import NotFound
from anycowork.domain.ports import Store
from anycowork.domain.tool_ports import Toolbox
from anycowork.domain.tools import Call
from anycowork.domain.values import replace
from anycowork.jobs.approved_plans import ApprovedPlans

_LARGE = 200  # steps: more of them take long enough to block the event loop


async def require_chat(store: Store, chat_id: str) -> Chat:
    """Return the chat. Raises: NotFound."""
    chat = await store.chat(chat_id)
    if chat is None:
        raise NotFound("chat", chat_id)
    return chat


async def progress_of(
    store: Store, toolbox: Toolbox, turn: Turn, root: str, plans: ApprovedPlans | None = None
) -> PlanProgress | None:
    """Return the progress of the turn's approved plan; None if it has none. `plans` keeps plans that were read."""
    found = await (plans or ApprovedPlans(store)).find(turn.plan_id) if turn.plan_id else None
    if found is None:
        return None
    # A worker has its own step only, the agent that closes the job none.
    plan = found.plan if turn.job_id is None else found.for_task(turn.task_id)
    if plan is None:
        return None
    calls = [*await _earlier_calls(store, turn), *await store.calls(turn.id)]
    specs = toolbox.specs()
    if len(plan.steps) <= _LARGE:
        return PlanProgress(plan, specs, root, calls)
    return await asyncio.to_thread(PlanProgress, plan, specs, root, calls)


async def _earlier_calls(store: Store, turn: Turn) -> list[Call]:
    """What earlier attempts at the turn's task did, numbered before its own calls: their work stands, except in a private copy."""
    if turn.job_id is None or turn.task_id is None or turn.workspace is not None:
        return []
    earlier = [one for one in await store.job_turns(turn.job_id, turn.task_id) if one.id != turn.id]
    made = [call for one in earlier for call in await store.calls(one.id)]
    return [replace(call, ordinal=at - len(made)) for at, call in enumerate(made)]
