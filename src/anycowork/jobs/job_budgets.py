"""The limits of jobs and their tasks: one budget, shared by all turns of a job that run at the same time, reserved before each request."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import field

from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain.errors import LimitReached, OutOfTime
from anycowork.domain.jobs import Job
from anycowork.domain.journal import Reserve
from anycowork.domain.messages import Json
from anycowork.domain.metering import ModelUsage, TurnUsage
from anycowork.domain.plan import Budget
from anycowork.domain.ports import Clock
from anycowork.domain.values import mutable_value, replace, value
from anycowork.permissions.budgets import BudgetUse, CostOf, overdrawn, spent_by
from anycowork.store.sql.store import Store


@value
class _Share:
    """One limit that a turn is under: the job's, or its task's with the task's id."""

    kind: str
    budget: Budget
    task_id: str | None = None


@mutable_value
class _RunningTurns:
    """The turns of one job that run now. Their time counts before it is stored."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    contexts: list[TurnContext] = field(default_factory=list)

    def seconds(self, now: float, task_id: str | None) -> float:
        """Returns the time of the present segments; the time of earlier ones is stored with the turns."""
        counted = [
            context for context in self.contexts if context.time.started and task_id in (None, context.turn.task_id)
        ]
        return sum(context.time.seconds_at(now) - context.time.seconds_before for context in counted)


def _reached(message: str, limit: str | None) -> LimitReached:
    error = LimitReached(message)
    error.limit = limit
    return error


def _shares(job: Job, task_id: str | None) -> list[_Share]:
    """Returns the limits that a turn of the job is under."""
    shares = [_Share("job", job.limits.job)]
    if task_id is not None:
        shares.append(_Share("task", job.limits.task, task_id))
    return [share for share in shares if share.budget != Budget()]


class JobBudgets:
    def __init__(self, *, store: Store, recorder: TurnRecorder, clock: Clock, cost_of: CostOf) -> None:
        self._store = store
        self._recorder = recorder
        self._clock = clock
        self._cost_of = cost_of
        self._running: dict[str, _RunningTurns] = {}

    @asynccontextmanager
    async def limiting(self, context: TurnContext, job: Job) -> AsyncIterator[None]:
        """Holds the turn to what its job and its task may still use. Raises: LimitReached if no time is left."""
        shares = _shares(job, context.turn.task_id)
        running = self._running.setdefault(job.id, _RunningTurns())
        running.contexts.append(context)
        usual = context.assignment.limits.seconds if context.assignment.limits is not None else 0.0
        try:
            if shares:
                await self._limit_time(context, job, shares)
                context.assignment = replace(
                    context.assignment, reserving=lambda reserve: self._reserving(context, job, reserve)
                )
            yield
        except OutOfTime as error:
            if context.assignment.limits is not None and context.assignment.limits.seconds < usual:
                limit = await self._time_limit_reached(job, shares)
                raise _reached("The time that the job or its task may take is used up.", limit) from error
            raise
        finally:
            running.contexts.remove(context)
            if not running.contexts:
                del self._running[job.id]

    async def _limit_time(self, context: TurnContext, job: Job, shares: Sequence[_Share]) -> None:
        for share in shares:
            if share.budget.seconds is None:
                continue
            remaining = share.budget.seconds - (await self._spent(job, share)).seconds
            if remaining <= 0:
                message = (
                    f"The {share.kind} has used its {share.budget.seconds:,.12g} seconds. Raise the limit to go on."
                )
                raise _reached(message, share.kind)
            limits = context.assignment.limits
            assert limits is not None, "an agent's own limits are set first"
            before = context.turn.seconds - context.turn.seconds_before
            limits = replace(limits, seconds=min(limits.seconds, before + remaining))
            context.assignment = replace(context.assignment, limits=limits)

    async def _time_limit_reached(self, job: Job, shares: Sequence[_Share]) -> str | None:
        """Returns whose time is used up, the job's or the task's."""
        for share in shares:
            if share.budget.seconds is not None and (await self._spent(job, share)).seconds >= share.budget.seconds:
                return share.kind
        return None

    def _reserving(self, context: TurnContext, job: Job, reserve: Reserve) -> AbstractAsyncContextManager[None]:
        @asynccontextmanager
        async def reserving() -> AsyncIterator[None]:
            # Until the caller has written the reservation: no two requests may spend the same rest.
            async with self._running[job.id].lock:
                await self._recorder.pending(context)
                requested = ModelUsage(reserve.model, 1, reserve.tokens, 0, 0, 0, 0, estimated=False)
                now = await self._store.jobs.find(job.id, with_plan=False) or job  # a person may have raised its limits
                for share in _shares(now, context.turn.task_id):
                    spent = await self._spent(job, share, requested)
                    if excess := overdrawn(share.budget, spent):
                        used = replace(await self._used(job, share), seconds=spent.seconds)
                        reason = _no_room(share, used, spent, reserve.tokens)
                        excess = overdrawn(share.budget, used) or excess  # reservations are not shown as spent
                        reason = reason or excess.reason.replace("the approved plan", f"the {share.kind}")
                        raise _reached(f"{reason} Raise the limit to go on.", share.kind)
                yield

        return reserving()

    async def _spent(self, job: Job, share: _Share, *requested: ModelUsage) -> BudgetUse:
        """What was used of the share, with what requests that run have reserved and what is wanted now."""
        used = await self._recorded(job, share)
        spent = spent_by_turns(*used, TurnUsage(share.task_id, 0.0, requested), cost_of=self._cost_of)
        seconds = self._running[job.id].seconds(self._clock.monotonic(), share.task_id)
        return replace(spent, seconds=spent.seconds + seconds)

    async def _used(self, job: Job, share: _Share) -> BudgetUse:
        """What was used of the share, reservations apart."""
        return spent_by_turns(*map(_without_reserved, await self._recorded(job, share)), cost_of=self._cost_of)

    async def _recorded(self, job: Job, share: _Share) -> Sequence[TurnUsage]:
        if share.task_id is None:
            return [await self._store.usage.of_whole_job(job.id)]
        return await self._store.usage.of_job(job.id, task_ids=[share.task_id])


def spent_by_turns(*turns: TurnUsage, cost_of: CostOf) -> BudgetUse:
    models = [model for turn in turns for model in turn.models]
    return spent_by((), seconds=sum(turn.seconds for turn in turns), used=models, cost_of=cost_of)


def usage_json(job_usage: TurnUsage, tasks: Iterable[TurnUsage], *, cost_of: CostOf) -> dict[str | None, Json]:
    """By task id; the whole job's under None."""
    of_tasks = {task_usage.task_id: _shown(task_usage, cost_of) for task_usage in tasks}
    return {**of_tasks, None: _shown(job_usage, cost_of)}


def _no_room(share: _Share, used: BudgetUse, spent: BudgetUse, next_tokens: int) -> str | None:
    """Says that tokens are left, but too few for the next request. None if none are left, or if another limit is reached."""
    allowed = share.budget.tokens
    if allowed is None or not used.tokens < allowed <= spent.tokens:
        return None
    set_aside = spent.tokens - used.tokens - next_tokens
    running = f"requests that run have set aside {set_aside:,}, " if set_aside else ""
    return (
        f"The {share.kind} has too few tokens left: {used.tokens:,} of {allowed:,} are used, "
        f"{running}and the next request may need {next_tokens:,}."
    )


def _without_reserved(turn: TurnUsage) -> TurnUsage:
    return replace(turn, models=tuple(replace(model, reserved=0) for model in turn.models))


def _shown(turn: TurnUsage, cost_of: CostOf) -> Json:
    spent = spent_by_turns(_without_reserved(turn), cost_of=cost_of)
    reserved = sum(model.reserved for model in turn.models)
    return {"tokens": spent.tokens, "reserved": reserved, "seconds": round(spent.seconds, 3), "cost": spent.cost}
