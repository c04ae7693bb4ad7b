"""Executes the steps of a run, each as a segment of the run's turn. A required decision parks the run; nothing here waits for it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import assert_never

from anycowork.agent.loop import Agent
from anycowork.agent.tool_runner import CallsParked, ToolRunner
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.chats import Autonomy, EndReason, Limits, Turn, TurnState
from anycowork.domain.errors import AnyCoworkError, LimitReached, OutOfTime
from anycowork.domain.journal import Reserve
from anycowork.domain.metering import ModelUsage
from anycowork.domain.origins import NO_ORIGINS, WORKSPACE, Origins, join
from anycowork.domain.plan import Budget
from anycowork.domain.ports import Clock
from anycowork.domain.snapshots import Snapshot, SnapshotMoment
from anycowork.domain.tools import CallStatus
from anycowork.domain.values import replace, value
from anycowork.domain.workflows import AskStep, PromptStep, Run, RunStatus, ShowChanges, ToolUse
from anycowork.permissions.budgets import CostOf, overdrawn, spent_by
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.turns.turn_scheduler import ContextOf
from anycowork.workflows.step_recorder import StepOpener, StepPolicy

MOST_CHANGES = 200  # snapshots read to show what a chat changed
LONGEST_CHANGES = 1_000_000  # characters, after which older ones are left out
_NOTHING = 0.001  # seconds: a limit is more than 0


class StepFailed(AnyCoworkError):
    code = "workflow_step_failed"


class WorkflowRunner:
    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        snapshots: Snapshots,
        toolrunner: ToolRunner,
        agent: Agent,
        clock: Clock,
        limits: Callable[[Autonomy], Limits],
        cost_of: CostOf,
    ) -> None:
        self._journal = journal
        self._store = store
        self._snapshots = snapshots
        self._toolrunner = toolrunner
        self._agent = agent
        self._recorder = TurnRecorder(journal=journal, clock=clock)
        self._clock = clock
        self._limits = limits
        self._budget = RunBudget(store, self._recorder, cost_of)
        self._opener = StepOpener(journal=journal, clock=clock)

    async def run(self, turn: Turn, context_of: ContextOf) -> bool:
        """Execute the workflow run that the turn belongs to, to its end or until a person must decide; False if there is none.

        Raises: StepFailed, LimitReached, ProviderFault, …: then the turn has not ended, and the caller must end both.
        """
        run = await self._store.runs.find(turn.id)
        if run is None:
            return False
        while run.status is RunStatus.RUNNING and turn.state is TurnState.RUNNING:
            if run.begun is None:
                if run.at:
                    run = replace(run, limits=self._budget.left_after(run.limits, turn.seconds))
                shows_changes = isinstance(run.current.does, ShowChanges)
                changes, origins = await self._changes(run) if shows_changes else ("", NO_ORIGINS)
                calls_so_far = len(await self._store.calls.of_turn(turn.id))
                begun = await self._opener.begin(run, turn, calls_so_far=calls_so_far, changes=changes, origins=origins)
                run, turn = begun.run, begun.turn
                if turn.state is not TurnState.RUNNING:
                    break
            context = await context_of(turn, None)
            context.role = replace(context.role, permissions=context.role.permissions & run.needs)
            policy = StepPolicy(run)
            context.assignment = replace(context.assignment, policy=policy)
            self._budget.limit(context, run.limits, self._limits(context.chat.config.autonomy))
            await self._step(context, policy)
            run, turn = policy.run, context.turn
        return True

    async def _step(self, context: TurnContext, policy: StepPolicy) -> None:
        """What the present step is about, once it has begun."""
        does = policy.run.current.does
        match does:
            case PromptStep():
                await self._agent.run(context)
            case ToolUse():
                await self._use_tool(context, policy.run, does)
            case AskStep(_, stop_on):
                await self._take_answer(context, policy.run, stop_on)
            case ShowChanges():
                await self._recorder.end(context, EndReason.TERMINATED)
            case _:
                assert_never(does)

    async def _use_tool(self, context: TurnContext, run: Run, use: ToolUse) -> None:
        limits = context.assignment.limits or self._limits(context.chat.config.autonomy)
        context.time.started, context.time.seconds_before = self._clock.monotonic(), context.turn.seconds
        used = context.turn.seconds - context.turn.seconds_before
        try:
            async with asyncio.timeout(max(0.0, limits.seconds - used)):
                outcome = await self._toolrunner.run(context)
        except TimeoutError:
            raise OutOfTime(f"The step '{run.current.title}' was ended after {limits.seconds:g} seconds.") from None
        if isinstance(outcome, CallsParked):
            return
        result = context.calls.by_id(run.begun or "").result
        if result is not None and (
            result.status is CallStatus.OK or (use.may_fail and result.status is CallStatus.ERROR)
        ):
            await self._recorder.end(context, EndReason.TERMINATED)
            return
        await self._recorder.pending(context)
        reason = result.error.message if result and result.error else "it has no result"
        raise StepFailed(
            f"The workflow '{run.workflow}' ended at its step '{run.current.title}' ({use.tool}): {reason}"
        )

    async def _take_answer(self, context: TurnContext, run: Run, stop_on: tuple[str, ...]) -> None:
        row = await self._store.questions.find(run.begun or "")
        value = (row.answer or {}).get("value") if row else None
        if value in stop_on:
            await self._recorder.end(context, EndReason.STOPPED)
        else:
            await self._recorder.end(context, EndReason.TERMINATED)

    async def _changes(self, run: Run) -> tuple[str, Origins]:
        """Returns the recorded differences of this chat, oldest first, and where they came from; a restore counts as a change too."""
        snapshots, older = await self._store.snapshots.page(run.chat_id, limit=MOST_CHANGES)
        origins = join((WORKSPACE,), *(snapshot.origins for snapshot in snapshots))
        texts: list[str] = []
        for snapshot in reversed(snapshots):
            if snapshot.moment is not SnapshotMoment.AFTER or sum(map(len, texts)) >= LONGEST_CHANGES:
                continue
            if await self._is_hidden(snapshot):
                texts.append("(A change is left out: one of its files is not read without a person's decision.)")
            elif text := await self._snapshots.difference(snapshot):
                texts.append(text)
        if not texts:
            return "No file was changed in this chat.", origins
        cut = older is not None or sum(map(len, texts)) >= LONGEST_CHANGES
        return "\n".join([*(["(Older changes are left out.)"] if cut else []), *reversed(texts)]), origins

    async def _is_hidden(self, snapshot: Snapshot) -> bool:
        """Whether the difference shows files that may not be read; unknown paths count as hidden."""
        hidden = await self._toolrunner.hidden(snapshot.chat_id, snapshot.workspace)
        stored = await self._store.snapshots.find(snapshot.chat_id, snapshot.id)
        return stored is None or stored.pruned or not all(hidden.tells(image.path) for image in stored.images)


@value
class RunBudget:
    store: Store
    recorder: TurnRecorder
    cost_of: CostOf

    def left_after(self, budget: Budget, seconds: float) -> Budget:
        """Returns what a step that took so long leaves for the next ones. Tokens and money are counted for the whole run."""
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
            next_request = ModelUsage(reserve.model, 1, reserve.tokens, 0, 0, 0, 0, estimated=False)
            used = await self.store.usage.of_turn(context.chat.id, context.turn.id)
            spent = spent_by((), seconds=0.0, used=[*used, next_request], cost_of=self.cost_of)
            if (excess := overdrawn(budget, spent)) is not None:
                raise _reached(f"{excess.reason.partition('(')[2].rstrip('.)')}, with the next request")
            yield

        context.assignment = replace(context.assignment, limits=usual, reserving=reserving)


def _reached(spent: str) -> LimitReached:
    return LimitReached(
        f"The limits of this scheduled run are reached ({spent}). Raise them in the schedule; its next run has them."
    )
