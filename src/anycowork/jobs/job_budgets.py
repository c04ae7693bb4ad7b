"""The limits of jobs and their tasks: one budget, shared by all turns of a job that run at the same time, reserved before each request."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain.errors import LimitReached, OutOfTime
from anycowork.domain.jobs import Job
from anycowork.domain.journal import Reserve
from anycowork.domain.plan import Budget
from anycowork.domain.ports import Clock, Store
from anycowork.domain.usage import ModelUsage, TurnUsage
from anycowork.domain.values import replace, value
from anycowork.jobs.job_usage import spent_by_turns
from anycowork.permissions.budgets import BudgetUse, CostOf, overdrawn


@value
class _Share:
    """One limit that a turn is under: the job's, or its task's with the task's id."""

    kind: str
    budget: Budget
    task_id: str | None = None


@dataclass(slots=True)
class _RunningTurns:
    """The turns of one job that run now. Their time counts before it is stored."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    contexts: list[TurnContext] = field(default_factory=list)

    def seconds(self, now: float, task_id: str | None) -> float:
        """Return the time of the present segments; the time of earlier ones is stored with the turns."""
        counted = [one for one in self.contexts if one.started and task_id in (None, one.turn.task_id)]
        return sum(one.seconds_at(now) - one.seconds_before for one in counted)


class JobBudgets:
    def __init__(self, *, store: Store, recorder: TurnRecorder, clock: Clock, cost_of: CostOf) -> None:
        self._store = store
        self._recorder = recorder
        self._clock = clock
        self._cost_of = cost_of
        self._running: dict[str, _RunningTurns] = {}

    @asynccontextmanager
    async def limiting(self, context: TurnContext, job: Job) -> AsyncIterator[None]:
        """Hold the turn to what its job and its task may still use. Raises: LimitReached if no time is left."""
        shares = [_Share("job", job.limits.job)]
        if context.turn.task_id is not None:
            shares.append(_Share("task", job.limits.task, context.turn.task_id))
        shares = [share for share in shares if share.budget != Budget()]
        running = self._running.setdefault(job.id, _RunningTurns())
        running.contexts.append(context)
        usual = context.limits.seconds if context.limits is not None else 0.0
        try:
            if shares:
                await self._limit_time(context, job, shares)
                context.reserving = lambda reserve: self._reserving(context, job, shares, reserve)
            yield
        except OutOfTime as error:
            if context.limits is not None and context.limits.seconds < usual:
                raise LimitReached("The time that the job or its task may take is used up.") from error
            raise
        finally:
            running.contexts.remove(context)
            if not running.contexts:
                del self._running[job.id]

    async def _limit_time(self, context: TurnContext, job: Job, shares: Sequence[_Share]) -> None:
        for share in shares:
            if share.budget.seconds is None:
                continue
            left = share.budget.seconds - (await self._spent(job, share)).seconds
            if left <= 0:
                raise LimitReached(f"The {share.kind} has used its {share.budget.seconds:g} seconds.")
            assert context.limits is not None, "an agent's own limits are set first"
            before = context.turn.seconds - context.turn.seconds_before
            context.limits = replace(context.limits, seconds=min(context.limits.seconds, before + left))

    def _reserving(
        self, context: TurnContext, job: Job, shares: Sequence[_Share], reserve: Reserve
    ) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def reserving() -> AsyncIterator[None]:
            # Until the caller has written the reservation: no two requests may spend the same rest.
            async with self._running[job.id].lock:
                await self._recorder.pending(context)
                wanted = ModelUsage(reserve.model, 1, reserve.tokens, 0, 0, 0, 0, estimated=False)
                for share in shares:
                    if over := overdrawn(share.budget, await self._spent(job, share, wanted)):
                        raise LimitReached(over.why.replace("the approved plan", f"the {share.kind}"))
                yield

        return reserving()

    async def _spent(self, job: Job, share: _Share, *wanted: ModelUsage) -> BudgetUse:
        """What was used of the share, with what is wanted now."""
        if share.task_id is None:
            used = [await self._store.whole_job_usage(job.id)]
        else:
            used = await self._store.job_usage(job.id, task_ids=[share.task_id])
        spent = spent_by_turns(*used, TurnUsage(share.task_id, 0.0, wanted), cost_of=self._cost_of)
        seconds = self._running[job.id].seconds(self._clock.monotonic(), share.task_id)
        return replace(spent, seconds=spent.seconds + seconds)
