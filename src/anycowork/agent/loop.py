"""The loop: model → reply → door → result → model …, until the agent rests. One call of `run` is one segment of a turn:
it ends with the turn's end, or parked on a person; an answer starts the next segment, which rebuilds itself from the journal."""

import asyncio
import logging
from collections.abc import Callable
from copy import copy
from typing import assert_never

from anycowork.agent.asking import Asking
from anycowork.agent.checking import Checker
from anycowork.agent.listening import Heard, Listener
from anycowork.agent.moment import Moment
from anycowork.agent.recorder import Recorder
from anycowork.agent.referring import Referrer
from anycowork.agent.reply import (
    Answer,
    Calls,
    Malformed,
    PlanReply,
    QuestionReply,
    Reading,
    ReviewReply,
    claims_success,
    read_called,
    read_reply,
)
from anycowork.agent.toolrunner import Parked, ToolRunner
from anycowork.domain.chats import EndReason, Limits
from anycowork.domain.errors import OutOfTime, Runaway, TooManyFaults, TooManySteps
from anycowork.domain.ports import Clock, Journal
from anycowork.domain.values import replace

log = logging.getLogger(__name__)


class Agent:
    def __init__(
        self,
        *,
        journal: Journal,
        recorder: Recorder,
        asking: Asking,
        toolrunner: ToolRunner,
        checker: Checker,
        referrer: Referrer,
        clock: Clock,
        limits: Callable[[], Limits],
    ) -> None:
        self._journal = journal
        self._recorder = recorder
        self._asking = asking
        self.toolrunner = toolrunner
        self._checker = checker
        self._referrer = referrer
        self._clock = clock
        self._limits = limits

    def with_recorder(self, recorder: Recorder) -> "Agent":
        """The same agent, whose replies another one writes down."""
        changed = copy(self)
        changed._recorder = recorder
        return changed

    async def run(self, moment: Moment) -> None:
        """Takes the turn to its end, or to where a person must decide.

        Raises: LimitReached, ProviderFault, StorageFault, …: then the turn has not ended, and whoever keeps it settles it.
        """
        limits = self._limits().times(len(moment.plan.steps) if moment.plan else 1)
        moment.started, moment.seconds_before = self._clock.monotonic(), moment.turn.seconds
        try:
            async with asyncio.timeout(max(0.0, limits.seconds - moment.turn.seconds)):
                await self._take_steps(moment, limits)
        except TimeoutError:
            raise OutOfTime(f"The turn was ended after {limits.seconds:g} seconds. Send a message to go on.") from None

    async def _take_steps(self, moment: Moment, limits: Limits) -> None:
        try:
            moment.brief = self._asking.is_brief(moment)
            await self._referrer.read_named(moment)
            while await self._step(moment, limits):
                pass
        finally:  # whatever ended it, a stop too: what was said is written before anybody settles the turn
            await self._recorder.pending(moment)

    async def _step(self, moment: Moment, limits: Limits) -> bool:
        """One iteration; False when the segment is over."""
        if moment.open_calls():
            return await self._run_calls(moment, limits)
        if moment.turn.steps >= limits.steps:
            raise TooManySteps(f"The turn was ended after {limits.steps} steps. Send a message to go on.")
        moment.turn = replace(moment.turn, steps=moment.turn.steps + 1)
        moment.listener = Listener(
            journal=self._journal, chat_id=moment.chat.id, turn_id=moment.turn.id, message_id=self._clock.new_id()
        )
        try:
            heard = await self._asking.ask(moment, moment.listener)
        except Runaway as fault:
            return await self._fault(moment, limits, moment.listener.heard, fault.message)
        return await self._act_on(moment, limits, heard)

    async def _run_calls(self, moment: Moment, limits: Limits) -> bool:
        outcome = await self.toolrunner.run(moment)
        if isinstance(outcome, Parked):
            return False
        if outcome.terminate and (objection := await self._checker.objection(moment)):
            return not isinstance(objection, Parked) and await self._fault(moment, limits, None, objection)
        if outcome.terminate:
            await self._recorder.end(moment, EndReason.TERMINATED)
            return False
        if outcome.faults:
            self._count_fault(moment, limits)
        elif moment.turn.faults:
            moment.turn = replace(moment.turn, faults=0)
        return True

    async def _act_on(self, moment: Moment, limits: Limits, heard: Heard) -> bool:
        match reading := self._read(moment, heard):
            case Calls():
                self._recorder.calls(moment, heard, reading)
                return True
            case Malformed(_, problem):
                return await self._fault(moment, limits, heard, problem)
            case Answer(text):
                if not_done := self._not_done(moment, text):
                    return await self._fault(moment, limits, heard, not_done)
                objection = await self._checker.objection(moment)
                if isinstance(objection, Parked):
                    return False
                if objection:
                    return await self._fault(moment, limits, heard, objection)
                await self._recorder.answer(moment, heard)
            case PlanReply(plan):
                await self._recorder.plan(moment, heard, plan)
            case QuestionReply(question):
                await self._recorder.question(moment, heard, question)
            case ReviewReply(review):
                await self._recorder.review(moment, heard, review)
            case _:
                assert_never(reading)
        return False

    def _read(self, moment: Moment, heard: Heard) -> Reading:
        if heard.called:
            return read_called(heard.called, heard.text)
        return read_reply(heard.text, output=moment.role.output, cut_off=heard.cut_off)

    def _not_done(self, moment: Moment, text: str) -> str | None:
        """Why these words are not taken for the end; None if they are. Said once, to a small model twice: then they stand."""
        if not text.strip():
            return "The reply was empty. Answer in words, or call a tool."
        if moment.pushed_back >= (2 if moment.brief else 1):
            return None
        failed = moment.last_failure()
        # A command that fails may be just what was to be found out.
        given_up = moment.brief and failed is not None and not moment.is_command(failed)
        if failed is not None and (given_up or claims_success(text)):
            moment.push_back()
            said = failed.result.content[:300] if failed.result else ""
            return f"The last step failed ({failed.tool}): {said} It is not done."
        if moment.brief and (moment.owed() or moment.missing()):
            moment.push_back()
            missing = "".join(f"'{path}' is not there or empty. " for path in moment.missing())
            return f"That is not all of it. {missing}Asked was: {moment.request()}"
        return None

    async def _fault(self, moment: Moment, limits: Limits, heard: Heard | None, problem: str) -> bool:
        log.warning("turn %s: reply not taken (%s): %r", moment.turn.id, problem, heard.text if heard else "")
        await self._recorder.fault(moment, heard, problem)
        self._count_fault(moment, limits)
        return True

    def _count_fault(self, moment: Moment, limits: Limits) -> None:
        """Raises: TooManyFaults at the last one of a row."""
        moment.turn = replace(moment.turn, faults=moment.turn.faults + 1)
        if moment.turn.faults >= limits.faults:
            raise TooManyFaults(
                f"The model's reply could not be used {limits.faults} times in a row, so the turn was ended. The chat is fine."
            )
