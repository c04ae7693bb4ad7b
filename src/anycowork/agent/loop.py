"""The agent loop: model → reply → gate → result → model …, until the turn ends. One call of `run` is one segment of a turn: it ends
with the turn, or parks it until a person decides; the decision starts the next segment, which is rebuilt from the journal."""

import asyncio
import logging
from collections.abc import Callable
from typing import assert_never

from anycowork.agent.call_hooks import TurnHooks
from anycowork.agent.evidence_checker import EvidenceChecker
from anycowork.agent.fresh_drafts import FreshDrafts
from anycowork.agent.mentions import Mentions
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
from anycowork.agent.small_models import unfinished_request
from anycowork.agent.steering_messages import Steering
from anycowork.agent.step_explanations import open_steps
from anycowork.agent.tool_runner import CallsParked, ToolRunner
from anycowork.agent.turn_calls import path_changes
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain.chats import Autonomy, EndReason, Limits, Turn
from anycowork.domain.errors import (
    MalformedReply,
    ModelFault,
    NotVerified,
    OutOfTime,
    RunawayReply,
    TooManyFaults,
    TooManySteps,
)
from anycowork.domain.evidence import Evidence
from anycowork.domain.ports import Clock
from anycowork.domain.provider_errors import ProviderFault
from anycowork.domain.values import replace
from anycowork.prompts.window import HistoryLimit
from anycowork.store.sql.journal import Journal

log = logging.getLogger(__name__)
_LONG = 20_000  # characters
CUT_OFF = "The answer ends here because the model reached its limit of tokens for one answer. Ask it to go on."


class Agent:
    def __init__(
        self,
        *,
        journal: Journal,
        recorder: TurnRecorder,
        model_caller: ModelCaller,
        toolrunner: ToolRunner,
        checker: PlanChecker,
        evidence: EvidenceChecker,
        drafts: FreshDrafts,
        mentions: Mentions,
        steering: Steering,
        clock: Clock,
        limits: Callable[[Autonomy], Limits],
        hooks: TurnHooks | None = None,
    ) -> None:
        self._journal = journal
        self._recorder = recorder
        self._model_caller = model_caller
        self.toolrunner = toolrunner
        self._checker = checker
        self._evidence = evidence
        self._drafts = drafts
        self._mentions = mentions
        self._steering = steering
        self._clock = clock
        self._limits = limits
        self._hooks = hooks

    def history_limit(self, turn: Turn, model_id: str | None) -> HistoryLimit:
        """Returns what tells how much of the chat the model could be shown in this turn."""
        return self._model_caller.history_limit(turn, model_id)

    async def run(self, context: TurnContext) -> None:
        """Runs the turn to its end, or until a person must decide.

        Raises: LimitReached, ProviderFault, StorageFault, …: then the turn has not ended, and the caller must end it.
        """
        limits = context.assignment.limits or self._limits(context.chat.config.autonomy)
        context.time.started, context.time.seconds_before = self._clock.monotonic(), context.turn.seconds
        used = context.turn.seconds - context.turn.seconds_before
        try:
            async with asyncio.timeout(max(0.0, limits.seconds - used)) as context.time.deadline:
                await self._run_steps(context, limits)
        except TimeoutError:
            raise OutOfTime(f"{_worked_on(context)} after {limits.seconds:g} seconds. {_way_out(context)}") from None

    async def _run_steps(self, context: TurnContext, limits: Limits) -> None:
        try:
            context.brief = self._model_caller.is_brief(context)
            going_on = await self._mentions.bring(context)
            while going_on:
                going_on = await self._step(context, limits)
        finally:  # also after a stop: buffered changes are written before the caller ends the turn
            await self._recorder.pending(context)

    async def _step(self, context: TurnContext, limits: Limits) -> bool:
        """Runs one iteration; returns False when the segment is over."""
        if context.calls.open():
            return await self._run_calls(context, limits)
        if context.turn.steps - context.turn.steps_before >= limits.steps:
            raise TooManySteps(f"{_worked_on(context)} after {limits.steps} steps. {_way_out(context)}")
        await self._steering.take(context)
        context.turn = replace(context.turn, steps=context.turn.steps + 1)
        context.steps_left = limits.steps - (context.turn.steps - context.turn.steps_before)
        stream = context.conversation.reply_stream = ReplyStream(
            journal=self._journal,
            clock=self._clock,
            chat_id=context.chat.id,
            turn_id=context.turn.id,
            message_id=self._clock.new_id(),
        )
        try:
            reply = await self._model_caller.ask(context, stream)
        except RunawayReply as fault:
            return await self._fault(context, limits, stream.reply, fault)
        except ProviderFault as fault:
            if stream.reply.has_begun or (switch := self._model_caller.go_on(context, fault)) is None:
                raise
            context.turn = replace(context.turn, steps=context.turn.steps - 1)
            await self._recorder.note(context, *switch)
            return True
        return await self._act_on(context, limits, reply)

    async def _run_calls(self, context: TurnContext, limits: Limits) -> bool:
        outcome = await self.toolrunner.run(context)
        if isinstance(outcome, CallsParked):
            return False
        if outcome.terminate:
            if problem := context.assignment.policy.missing(""):
                return await self._fault(context, limits, None, MalformedReply(problem))
            return await self._stop(context, limits, None)
        self._reset_limits(context, limits)
        if outcome.faults:
            self._count_fault(context, limits)
        elif context.turn.faults:
            context.turn = replace(context.turn, faults=0)
        return True

    async def _act_on(self, context: TurnContext, limits: Limits, reply: Reply) -> bool:
        long = len(reply.text) > _LONG  # parsing it must not block other turns
        match reading := await asyncio.to_thread(self._read, context, reply) if long else self._read(context, reply):
            case CallsReply():
                if isinstance(await self._checker.prove_before(context, reading.calls), CallsParked):
                    return False
                if isinstance(await self._evidence.before_change(context, reading.calls), CallsParked):
                    return False
                self._recorder.calls(context, reply, reading)
                return True
            case UnreadableReply(_, problem):
                return await self._fault(context, limits, reply, MalformedReply(problem))
            case AnswerReply(text, note):
                if not_done := context.assignment.policy.missing(text) or self._not_done(context, text):
                    return await self._fault(context, limits, reply, MalformedReply(not_done))
                return await self._stop(context, limits, reply, note or (CUT_OFF if reply.cut_off else None))
            case PlanReply(plan):
                context.proof.evidence = await self._evidence_of_changes(context)
                await self._recorder.plan(context, reply, plan)
            case QuestionReply(question):
                await self._recorder.question(context, reply, question)
            case ReviewReply(review):
                context.proof.evidence = await self._evidence_of_changes(context)
                await self._recorder.review(context, reply, review)
            case _:
                assert_never(reading)
        return False

    async def _stop(self, context: TurnContext, limits: Limits, reply: Reply | None, note: str | None = None) -> bool:
        """The model stops: with an answer, or with a call that ends the turn. The turn ends if nothing speaks against it."""
        if reply is not None and context.assignment.policy.gives_up(reply.text):
            context.proof.evidence = await self._evidence.collect(context)
            await self._recorder.answer(context, reply, note)
            return False
        text = reply.text if reply is not None else ""
        objection = await self._checker.objection(context, text)
        if isinstance(objection, CallsParked):
            return False
        if objection:
            return await self._fault(context, limits, reply, objection)
        if self._hooks is not None and (unfinished := await self._hooks.at_stop(context, text)):
            await self._recorder.fault(context, reply, unfinished)
            return True
        missing = await self._evidence.objection(context, vouched=context.assignment.policy.vouches(text))
        if isinstance(missing, CallsParked):
            return False
        if missing:
            return await self._told(context, reply, missing)
        if context.progress and open_steps(context, text):
            await self._recorder.blocked(context, reply, blocked_by(context.progress.left_open()))
        elif reply is None:
            await self._recorder.end(context, EndReason.TERMINATED)
        else:
            await self._recorder.answer(context, reply, note)
        return False

    async def _told(self, context: TurnContext, reply: Reply | None, missing: NotVerified) -> bool:
        """Has the model go on: a small one anew, if a check failed; any other with what is missing. Returns False if the turn is parked."""
        changes = await self._drafts.changes_to_undo(context)
        if changes is not None:
            await self._recorder.rejected_answer(context, reply)
            reply, begun = None, await self._drafts.begin(context, changes)
            if isinstance(begun, CallsParked):
                return False
            if begun:
                return True
        await self._recorder.fault(context, reply, missing)
        return True

    async def _evidence_of_changes(self, context: TurnContext) -> Evidence | None:
        """Returns the evidence of a turn that ends with a plan or a review; None if it changed nothing, as it should."""
        changed = any(change.is_net for change in path_changes(context.calls))
        return await self._evidence.collect(context) if changed else None

    def _reset_limits(self, context: TurnContext, limits: Limits) -> None:
        """Resets the limits when a step of the plan is finished: each step has its own limits."""
        finished = context.progress.count_finished() if context.progress else 0
        if finished <= context.proof.finished_steps:
            return
        context.proof.finished_steps = finished
        seconds = context.time.seconds_at(self._clock.monotonic())
        context.turn = replace(context.turn, steps_before=context.turn.steps, seconds_before=seconds)
        if context.time.deadline is not None:
            context.time.deadline.reschedule(asyncio.get_running_loop().time() + limits.seconds)

    def _read(self, context: TurnContext, reply: Reply) -> Reading:
        if reply.called:
            return read_called(reply.called, reply.text)
        return read_reply(
            reply.text, output=context.role.output, cut_off=reply.cut_off, completed=context.assignment.completed_tasks
        )

    def _not_done(self, context: TurnContext, text: str) -> str | None:
        """Returns why this answer does not end the turn; None if it does. An answer is rejected once, for a small model twice."""
        if not text.strip():
            return "The reply was empty. Answer in words, or call a tool."
        if context.proof.rejected_answers >= (2 if context.brief else 1):
            return None
        failed = context.calls.last_failure()
        # A failing command may be exactly what the person wanted to know.
        given_up = context.brief and failed is not None and not context.is_command(failed)
        if failed is not None and (given_up or claims_success(text)):
            context.proof.reject_answer()
            output = failed.result.content[:300] if failed.result else ""
            return f"The last step failed ({failed.tool}): {output} It is not done."
        if unfinished := unfinished_request(context):
            context.proof.reject_answer()
        return unfinished

    async def _fault(self, context: TurnContext, limits: Limits, reply: Reply | None, problem: ModelFault) -> bool:
        log.warning("turn %s: reply rejected (%s): %r", context.turn.id, problem.message, reply.text if reply else "")
        await self._recorder.fault(context, reply, problem)
        self._count_fault(context, limits, problem.message)
        return True

    def _count_fault(self, context: TurnContext, limits: Limits, problem: str = "") -> None:
        """Counts a fault. Raises: TooManyFaults if there were too many in a row."""
        context.turn = replace(context.turn, faults=context.turn.faults + 1)
        if context.turn.faults >= limits.faults:
            raise TooManyFaults(
                f"The model's reply could not be used {limits.faults} times in a row, so the turn was ended. You can continue the chat."
                + (f" What was wrong the last time: {problem[:500]}" if problem else "")
            )


def _way_out(context: TurnContext) -> str:
    """Returns what a person can do: a task of a job is tried again by the job, or as a task."""
    return "Continue it, or send a message." if context.turn.job_id is None else "The task can be tried again."


def _worked_on(context: TurnContext) -> str:
    """Returns what was ended: the turn, or the current step of the plan."""
    step = context.progress.current() if context.progress else None
    return f"The turn was ended: step {step.id[:80]} of the plan was not finished" if step else "The turn was ended"
