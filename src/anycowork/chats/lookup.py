"""Looks up a chat by its id, and the plan progress of a turn."""

from anycowork.agent.plan_progress import PlanProgress
from anycowork.domain.chats import Chat, Turn
from anycowork.domain.errors import NotFound
from anycowork.domain.plan import read_plan
from anycowork.domain.ports import Store, Toolbox


async def require_chat(store: Store, chat_id: str) -> Chat:
    """Return the chat. Raises: NotFound."""
    chat = await store.chat(chat_id)
    if chat is None:
        raise NotFound("chat", chat_id)
    return chat


async def progress_of(store: Store, toolbox: Toolbox, turn: Turn, root: str) -> PlanProgress | None:
    """Return the progress of the turn's approved plan; None if it has none."""
    row = await store.plan(turn.plan_id) if turn.plan_id else None
    plan = read_plan(row.approved) if row and row.approved else None
    return PlanProgress(plan, toolbox.specs(), root, await store.calls(turn.id)) if plan else None
