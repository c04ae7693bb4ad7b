"""The loop: model → reply → door → result → model …, until the agent rests. One call of `run` is one segment of a turn:
it ends with the turn's end, or parked on a person; an answer starts the next segment, which rebuilds itself from the journal."""

import asyncio
import logging
from collections.abc import Callable
from copy import copy
from typing import assert_never

from anycowork.agent.file_mentions import FileMentions
from anycowork.agent.model_caller import ModelCaller
from anycowork.agent.plan_checks import PlanChecker, blocked_by
from anycowork.agent.reply_parser import (
    AnswerReply,
    CallsReply,
    PlanReply,
    QuestionReply,
    Reading,
    ReviewReply,
    UnreadableReply,
    claims_success,
    read_called,
    read_reply,
)
from anycowork.agent.reply_stream import Reply, ReplyStream
from anycowork.agent.tool_runner import CallsParked, ToolRunner
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain.chats import Autonomy, EndReason, Limits
from anycowork.domain.errors import MalformedReply, ModelFault, OutOfTime, Runaway, TooManyFaults, TooManySteps
from anycowork.domain.ports import Clock, Journal
from anycowork.domain.values import replace

log = logging.getLogger(__name__)
_LONG = 20_000  # characters


class Agent:
    def __init__(
        self,
        *,
        journal: Journal,
        recorder: TurnRecorder,
        asking: ModelCaller,
        toolrunner: ToolRunner,
        checker: PlanChecker,
        referrer: FileMentions,
        clock: Clock,
        limits: Callable[[Autonomy], Limits],
    ) -> None:
        self._journal = journal
        self._recorder = recorder
        self._asking = asking
        self.toolrunner = toolrunner
        self._checker = checker
        self._referrer = referrer
        self._clock = clock
        self._limits = limits

    def with_recorder(self, recorder: TurnRecorder) -> "Agent":
        """The same agent, whose replies another one writes down."""
        changed = copy(self)
        changed._recorder = recorder
        return changed

    async def run(self, context: TurnContext) -> None:
        """Takes the turn to its end, or to where a person must decide.

        Raises: LimitReached, ProviderFault, StorageFault, …: then the turn has not ended, and whoever keeps it settles it.
        """
        limits = self._limits(context.chat.config.autonomy)
        context.started, context.seconds_before = self._clock.monotonic(), context.turn.seconds
        used = context.turn.seconds - context.turn.seconds_before
        try:
            async with asyncio.timeout(max(0.0, limits.seconds - used)) as context.deadline:
                await self._take_steps(context, limits)
        except TimeoutError:
            raise OutOfTime(
                f"{_worked_on(context)} after {limits.seconds:g} seconds. Continue it, or send a message."
            ) from None

    async def _take_steps(self, context: TurnContext, limits: Limits) -> None:
        try:
            context.brief = self._asking.is_brief(context)
            await self._referrer.read_named(context)
            while await self._step(context, limits):
                pass
        finally:  # whatever ended it, a stop too: what was said is written before anybody settles the turn
            await self._recorder.pending(context)

    async def _step(self, context: TurnContext, limits: Limits) -> bool:
        """One iteration; False when the segment is over."""
        if context.open_calls():
            return await self._run_calls(context, limits)
        if context.turn.steps - context.turn.steps_before >= limits.steps:
            raise TooManySteps(f"{_worked_on(context)} after {limits.steps} steps. Continue it, or send a message.")
        context.turn = replace(context.turn, steps=context.turn.steps + 1)
        context.listener = ReplyStream(
            journal=self._journal, chat_id=context.chat.id, turn_id=context.turn.id, message_id=self._clock.new_id()
        )
        try:
            heard = await self._asking.ask(context, context.listener)
        except Runaway as fault:
            return await self._fault(context, limits, context.listener.heard, fault)
        return await self._act_on(context, limits, heard)

    async def _run_calls(self, context: TurnContext, limits: Limits) -> bool:
        outcome = await self.toolrunner.run(context)
        if isinstance(outcome, CallsParked):
            return False
        if outcome.terminate:
            return await self._stop(context, limits, None)
        self._count_anew(context, limits)
        if outcome.faults:
            self._count_fault(context, limits)
        elif context.turn.faults:
            context.turn = replace(context.turn, faults=0)
        return True

    async def _act_on(self, context: TurnContext, limits: Limits, heard: Reply) -> bool:
        long = len(heard.text) > _LONG  # reading it must not hold up everybody else
        match reading := await asyncio.to_thread(self._read, context, heard) if long else self._read(context, heard):
            case CallsReply():
                if isinstance(await self._checker.prove_before(context, reading.calls), CallsParked):
                    return False
                self._recorder.calls(context, heard, reading)
                return True
            case UnreadableReply(_, problem):
                return await self._fault(context, limits, heard, MalformedReply(problem))
            case AnswerReply(text, note):
                if not_done := self._not_done(context, text):
                    return await self._fault(context, limits, heard, MalformedReply(not_done))
                return await self._stop(context, limits, heard, note)
            case PlanReply(plan):
                await self._recorder.plan(context, heard, plan)
            case QuestionReply(question):
                await self._recorder.question(context, heard, question)
            case ReviewReply(review):
                await self._recorder.review(context, heard, review)
            case _:
                assert_never(reading)
        return False

    async def _stop(self, context: TurnContext, limits: Limits, heard: Reply | None, note: str | None = None) -> bool:
        """The model stops: with an answer, or with a call that ends the turn. The turn ends if nothing speaks against it."""
        objection = await self._checker.objection(context)
        if isinstance(objection, CallsParked):
            return False
        if objection:
            return await self._fault(context, limits, heard, objection)
        if left := context.progress.unfinished() if context.progress else []:
            await self._recorder.blocked(context, heard, blocked_by(left))
        elif heard is None:
            await self._recorder.end(context, EndReason.TERMINATED)
        else:
            await self._recorder.answer(context, heard, note)
        return False

    def _count_anew(self, context: TurnContext, limits: Limits) -> None:
        """Each step of a plan has its own limits: they begin again when a step is finished."""
        finished = context.progress.count_finished() if context.progress else 0
        if finished <= context.finished_steps:
            return
        context.finished_steps = finished
        seconds = context.seconds_at(self._clock.monotonic())
        context.turn = replace(context.turn, steps_before=context.turn.steps, seconds_before=seconds)
        if context.deadline is not None:
            context.deadline.reschedule(asyncio.get_running_loop().time() + limits.seconds)

    def _read(self, context: TurnContext, heard: Reply) -> Reading:
        if heard.called:
            return read_called(heard.called, heard.text)
        return read_reply(heard.text, output=context.role.output, cut_off=heard.cut_off)

    def _not_done(self, context: TurnContext, text: str) -> str | None:
        """Why these words are not taken for the end; None if they are. Said once, to a small model twice: then they stand."""
        if not text.strip():
            return "The reply was empty. Answer in words, or call a tool."
        if context.rejected_answers >= (2 if context.brief else 1):
            return None
        failed = context.last_failure()
        # A command that fails may be just what was to be found out.
        given_up = context.brief and failed is not None and not context.is_command(failed)
        if failed is not None and (given_up or claims_success(text)):
            context.reject_answer()
            said = failed.result.content[:300] if failed.result else ""
            return f"The last step failed ({failed.tool}): {said} It is not done."
        if context.brief and (context.owed() or context.missing()):
            context.reject_answer()
            missing = "".join(f"'{path}' is not there or empty. " for path in context.missing())
            return f"That is not all of it. {missing}Asked was: {context.request()}"
        return None

    async def _fault(self, context: TurnContext, limits: Limits, heard: Reply | None, problem: ModelFault) -> bool:
        log.warning("turn %s: reply not taken (%s): %r", context.turn.id, problem.message, heard.text if heard else "")
        await self._recorder.fault(context, heard, problem)
        self._count_fault(context, limits)
        return True

    def _count_fault(self, context: TurnContext, limits: Limits) -> None:
        """Raises: TooManyFaults at the last one of a row."""
        context.turn = replace(context.turn, faults=context.turn.faults + 1)
        if context.turn.faults >= limits.faults:
            raise TooManyFaults(
                f"The model's reply could not be used {limits.faults} times in a row, so the turn was ended. The chat is fine."
            )


def _worked_on(context: TurnContext) -> str:
    """What ended: the turn, or the plan's step that was worked on."""
    step = context.progress.current() if context.progress else None
    return f"The turn was ended: step {step.id[:80]} of the plan was not finished" if step else "The turn was ended"
