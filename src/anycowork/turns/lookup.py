"""Looks up a chat by its id, the approved plan that a turn follows, and its progress."""

import asyncio
from collections.abc import Iterable
from itertools import takewhile

from anycowork.agent.plan_progress import PlanProgress
from anycowork.agent.step_states import changed_files, succeeded
from anycowork.domain.chats import Chat, Turn
from anycowork.domain.errors import BadWorkspace, NotFound
from anycowork.domain.jobs import single_step
from anycowork.domain.messages import Json
from anycowork.domain.plan import MOST_STEPS, Plan, PlanStep, read_plan
from anycowork.domain.tool_ports import Tool, Toolbox
from anycowork.domain.tools import Call
from anycowork.domain.values import replace, value
from anycowork.sandbox.workspaces import under_a_root
from anycowork.store.sql.store import Store
from anycowork.workspace.paths import shown

UNKNOWN_EFFECT = "unknown_effect"
"""The fact of the result of a call that was interrupted while it acted outside."""

_LARGE = 200  # steps: more of them take long enough to block the event loop
MOST_PLANS = 64  # of jobs that run at the same time


@value
class ApprovedPlan:
    plan: Plan
    steps: dict[str, PlanStep]

    def for_task(self, task_id: str | None) -> Plan | None:
        """The plan as a worker gets it; the agent that closes the job has none."""
        step = self.steps.get(task_id or "")
        return None if step is None else single_step(self.plan, step)


class ApprovedPlans:
    """A plan never changes once it is approved, so what was read stays true."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, ApprovedPlan] = {}
        self._reading = asyncio.Lock()

    async def find(self, plan_id: str) -> ApprovedPlan | None:
        """The plan; None if it does not exist, is not approved or cannot be read."""
        if (cached := self._known.get(plan_id)) is not None:
            return cached
        async with self._reading:
            if (cached := self._known.get(plan_id)) is not None:
                return cached
            row = await self._store.plans.find(plan_id)
            plan = await read_large_plan(row.approved) if row is not None and row.approved is not None else None
            if plan is None:
                return None
            approved = ApprovedPlan(plan, {step.id: step for step in plan.steps})
            self._keep(plan_id, approved)
            return approved

    def _keep(self, plan_id: str, approved: ApprovedPlan) -> None:
        self._known[plan_id] = approved
        while len(self._known) > 1 and (
            len(self._known) > MOST_PLANS or sum(len(plan.steps) for plan in self._known.values()) > 2 * MOST_STEPS
        ):
            del self._known[next(iter(self._known))]


async def require_chat(store: Store, chat_id: str) -> Chat:
    """Returns the chat. Raises: NotFound."""
    chat = await store.chats.find(chat_id)
    if chat is None:
        raise NotFound("chat", chat_id)
    return chat


async def require_chat_in_folder(store: Store, chat_id: str) -> Chat:
    """Returns the chat, if its folder may be touched: an imported chat's is what its file says, and an admin takes folders off the list.

    Raises: NotFound, BadWorkspace.
    """
    chat = await require_chat(store, chat_id)
    if not await asyncio.to_thread(under_a_root, chat.workspace, await store.folders.roots()):
        raise BadWorkspace(
            f"'{shown(chat.workspace)}' is not inside a registered folder. An admin can register it: POST /workspaces.",
            param="workspace",
        )
    return chat


async def require_chat_row(store: Store, chat_id: str) -> Chat:
    """Returns the chat without its `last_seq`. Raises: NotFound."""
    chat = await store.chats.find_row(chat_id)
    if chat is None:
        raise NotFound("chat", chat_id)
    return chat


async def progress_of(
    store: Store, toolbox: Toolbox, turn: Turn, root: str, plans: ApprovedPlans | None = None
) -> PlanProgress | None:
    """Returns the progress of the turn's approved plan; None if it has none. `plans` keeps plans that were read."""
    approved = await (plans or ApprovedPlans(store)).find(turn.plan_id) if turn.plan_id else None
    if approved is None:
        return None
    # A worker has its own step only, the agent that closes the job none.
    plan = approved.plan if turn.job_id is None else approved.for_task(turn.task_id)
    if plan is None:
        return None
    calls = [*await earlier_calls(store, turn), *await store.calls.of(turn)]
    specs = toolbox.specs()
    if len(plan.steps) <= _LARGE:
        return PlanProgress(plan, specs, root, calls)
    return await asyncio.to_thread(PlanProgress, plan, specs, root, calls)


async def earlier_turns(store: Store, turn: Turn) -> list[Turn]:
    """Returns the turns before this one that carried out the same plan or task: their work stands, except in a private copy."""
    if turn.job_id is None:
        same = await store.turns.of_plan(turn.chat_id, turn.plan_id) if turn.plan_id else []
    elif turn.task_id is None or turn.workspace is not None:
        same = []
    else:
        same = await store.turns.of_task(turn)
    return list(takewhile(lambda other: other.id != turn.id, same))


async def earlier_calls(store: Store, turn: Turn) -> list[Call]:
    """Returns the calls of the turns before this one, numbered before its own calls."""
    earlier = await earlier_turns(store, turn)
    calls = [call for earlier_turn in earlier for call in await store.calls.of_turn(earlier_turn.id)]
    return [replace(call, ordinal=index - len(calls)) for index, call in enumerate(calls)]


async def earlier_effects(store: Store, toolbox: Toolbox, turn: Turn) -> list[Call]:
    """Returns the calls of earlier attempts at the turn's task whose effect stands and would be had twice if they were made again.

    A private copy that is gone took with it what was done in it; what a call did outside stands, also if it was interrupted.
    """
    if turn.job_id is None or turn.task_id is None:
        return []
    effects: list[Call] = []
    for earlier in await store.turns.of_task(turn):
        if earlier.id == turn.id:
            continue
        same_place = earlier.workspace == turn.workspace
        calls = await store.calls.of_turn(earlier.id)
        effects += [call for call in calls if _stands(call, toolbox.find(call.tool), same_place)]
    return effects


def unknown_effects(calls: Iterable[Call]) -> list[Call]:
    """Returns the calls that were interrupted while they acted outside: nobody knows whether they took effect."""
    return [call for call in calls if call.result is not None and UNKNOWN_EFFECT in call.result.facts]


def acts_outside(call: Call, tool: Tool | None) -> bool:
    """Whether the call may have an effect that no layer holds back."""
    if tool is None:  # its server or plugin is gone, or not connected yet
        return True
    return not tool.spec.read_only and bool(tool.spec.foreign or call.parameters.get("network"))


def _stands(call: Call, tool: Tool | None, same_place: bool) -> bool:
    """Whether a finished call did something that a second one would add to. A file tool refuses, or writes the same again."""
    if call.provenance.check or not succeeded(call):
        return bool(unknown_effects([call]))
    if tool is None or acts_outside(call, tool):
        return True
    return tool.spec.runs_commands and not tool.spec.read_only and same_place and bool(changed_files(call))


async def read_large_plan(stored: Json) -> Plan | None:
    """Reads a stored plan, a large one in a thread."""
    steps = stored.get("steps")
    large = isinstance(steps, list) and len(steps) > _LARGE
    return await asyncio.to_thread(read_plan, stored) if large else read_plan(stored)
