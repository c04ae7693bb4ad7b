"""Reads approved plans, and keeps the last ones: each worker of a job needs one step of the same plan."""

import asyncio

from anycowork.domain.jobs import single_step
from anycowork.domain.messages import Json
from anycowork.domain.plan import MOST_STEPS, Plan, PlanStep, read_plan
from anycowork.domain.values import value
from anycowork.store.sql.store import Store

_LARGE = 200  # steps: reading more of them takes long enough to block the event loop
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


async def read_large_plan(stored: Json) -> Plan | None:
    """Read a stored plan, a large one in a thread."""
    steps = stored.get("steps")
    large = isinstance(steps, list) and len(steps) > _LARGE
    return await asyncio.to_thread(read_plan, stored) if large else read_plan(stored)
