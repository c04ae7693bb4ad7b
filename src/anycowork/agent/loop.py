"""The loop: model → reply → door → result → model …, until the agent rests. One call of `run` is one segment of a turn:
it ends with the turn's end, or parked on a person; an answer starts the next segment, which rebuilds itself from the journal."""

import asyncio
import logging
from collections.abc import Callable
from copy import copy
from typing import assert_never

from anycowork.agent.asking import Asking
from anycowork.agent.checking import Checker, blocked_by
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
        limits = self._limits()
        moment.started, moment.seconds_before = self._clock.monotonic(), moment.turn.seconds
        used = moment.turn.seconds - moment.turn.seconds_before
        try:
            async with asyncio.timeout(max(0.0, limits.seconds - used)) as moment.deadline:
                await self._take_steps(moment, limits)
        except TimeoutError:
            raise OutOfTime(
                f"{_worked_on(moment)} after {limits.seconds:g} seconds. Send a message to go on."
            ) from None

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
        if moment.turn.steps - moment.turn.steps_before >= limits.steps:
            raise TooManySteps(f"{_worked_on(moment)} after {limits.steps} steps. Send a message to go on.")
        moment.turn = replace(moment.turn, steps=moment.turn.steps + 1)
        moment.listener = Listener(
            journal=self._journal, chat_id=moment.chat.id, turn_id=moment.turn.id, message_id=self._clock.new_id()
        )
        try:
            heard = await self._asking.ask(moment, moment.listener)
        except Runaway as fault:
            return await self._fault(moment, limits, moment.listener.heard, fault)
        return await self._act_on(moment, limits, heard)

    async def _run_calls(self, moment: Moment, limits: Limits) -> bool:
        outcome = await self.toolrunner.run(moment)
        if isinstance(outcome, Parked):
            return False
        if outcome.terminate:
            return await self._stop(moment, limits, None)
        self._count_anew(moment, limits)
        if outcome.faults:
            self._count_fault(moment, limits)
        elif moment.turn.faults:
            moment.turn = replace(moment.turn, faults=0)
        return True

    async def _act_on(self, moment: Moment, limits: Limits, heard: Heard) -> bool:
        long = len(heard.text) > _LONG  # reading it must not hold up everybody else
        match reading := await asyncio.to_thread(self._read, moment, heard) if long else self._read(moment, heard):
            case Calls():
                if isinstance(await self._checker.prove_before(moment, reading.calls), Parked):
                    return False
                self._recorder.calls(moment, heard, reading)
                return True
            case Malformed(_, problem):
                return await self._fault(moment, limits, heard, MalformedReply(problem))
            case Answer(text, note):
                if not_done := self._not_done(moment, text):
                    return await self._fault(moment, limits, heard, MalformedReply(not_done))
                return await self._stop(moment, limits, heard, note)
            case PlanReply(plan):
                await self._recorder.plan(moment, heard, plan)
            case QuestionReply(question):
                await self._recorder.question(moment, heard, question)
            case ReviewReply(review):
                await self._recorder.review(moment, heard, review)
            case _:
                assert_never(reading)
        return False

    async def _stop(self, moment: Moment, limits: Limits, heard: Heard | None, note: str | None = None) -> bool:
        """The model stops: with an answer, or with a call that ends the turn. The turn ends if nothing speaks against it."""
        objection = await self._checker.objection(moment)
        if isinstance(objection, Parked):
            return False
        if objection:
            return await self._fault(moment, limits, heard, objection)
        if left := moment.progress.unfinished() if moment.progress else []:
            await self._recorder.blocked(moment, heard, blocked_by(left))
        elif heard is None:
            await self._recorder.end(moment, EndReason.TERMINATED)
        else:
            await self._recorder.answer(moment, heard, note)
        return False

    def _count_anew(self, moment: Moment, limits: Limits) -> None:
        """Each step of a plan has its own limits: they begin again when a step is finished."""
        finished = moment.progress.count_finished() if moment.progress else 0
        if finished <= moment.finished_steps:
            return
        moment.finished_steps = finished
        seconds = moment.seconds_at(self._clock.monotonic())
        moment.turn = replace(moment.turn, steps_before=moment.turn.steps, seconds_before=seconds)
        if moment.deadline is not None:
            moment.deadline.reschedule(asyncio.get_running_loop().time() + limits.seconds)

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

    async def _fault(self, moment: Moment, limits: Limits, heard: Heard | None, problem: ModelFault) -> bool:
        log.warning("turn %s: reply not taken (%s): %r", moment.turn.id, problem.message, heard.text if heard else "")
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


def _worked_on(moment: Moment) -> str:
    """What ended: the turn, or the plan's step that was worked on."""
    step = moment.progress.current() if moment.progress else None
    return f"The turn was ended: step {step.id[:80]} of the plan was not finished" if step else "The turn was ended"
