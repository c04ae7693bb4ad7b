"""Holds a workflow's run to the limits of the schedule that started it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain.chats import Limits
from anycowork.domain.errors import LimitReached
from anycowork.domain.journal import Reserve
from anycowork.domain.metering import ModelUsage
from anycowork.domain.plan import Budget
from anycowork.domain.values import replace, value
from anycowork.permissions.budgets import CostOf, overdrawn, spent_by
from anycowork.store.sql.store import Store

_NOTHING = 0.001  # seconds: a limit is more than 0


@value
class RunBudget:
    store: Store
    recorder: TurnRecorder
    cost_of: CostOf

    def left_after(self, budget: Budget, seconds: float) -> Budget:
        """Return what a step that took so long leaves for the next ones. Tokens and money are counted for the whole run."""
        if budget.seconds is None:
            return budget
        return budget.model_copy(update={"seconds": max(_NOTHING, budget.seconds - seconds)})

    def limit(self, context: TurnContext, budget: Budget, usual: Limits) -> None:
        """Has each request of the next step reserved within the budget, and shortens the step's time. Raises: LimitReached."""
        if budget == Budget():
            return
        if budget.seconds is not None:
            if (remaining := budget.seconds - context.turn.seconds) <= _NOTHING:
                raise _reached("no time is left")
            before = context.turn.seconds - context.turn.seconds_before
            usual = replace(usual, seconds=min(usual.seconds, before + remaining))

        @asynccontextmanager
        async def reserving(reserve: Reserve) -> AsyncIterator[None]:
            await self.recorder.pending(context)
            wanted = ModelUsage(reserve.model, 1, reserve.tokens, 0, 0, 0, 0, estimated=False)
            used = await self.store.usage.of_turn(context.chat.id, context.turn.id)
            spent = spent_by((), seconds=0.0, used=[*used, wanted], cost_of=self.cost_of)
            if (excess := overdrawn(budget, spent)) is not None:
                raise _reached(f"{excess.reason.partition('(')[2].rstrip('.)')}, with the next request")
            yield

        context.assignment = replace(context.assignment, limits=usual, reserving=reserving)


def _reached(spent: str) -> LimitReached:
    return LimitReached(
        f"The limits of this scheduled run are reached ({spent}). Raise them in the schedule; its next run has them."
    )
