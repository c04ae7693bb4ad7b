"""Runs the checks of an approved plan before the plan counts as done. The exit code of a check decides, not the model's text."""

from collections.abc import Sequence

from anycowork.agent.reply_parser import FoundCall
from anycowork.agent.tool_runner import CallsParked, ToolRunner
from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.domain.errors import StepsOpen
from anycowork.domain.messages import Json, is_continuation
from anycowork.domain.plan import PlanStep
from anycowork.domain.tools import CallStatus, Parameters, Provenance

CHECK_WITH = "execute_command"
_MOST_SHOWN = 300
_MOST_NAMED = 20
_GO_ON = "Do what is left. If a step cannot be done as the plan says, ask the person with a question."


class PlanChecker:
    def __init__(self, *, recorder: TurnRecorder, toolrunner: ToolRunner) -> None:
        self._recorder = recorder
        self._toolrunner = toolrunner

    async def objection(self, context: TurnContext) -> StepsOpen | CallsParked | None:
        """Run each check that was not run since the last change. Return why the plan is not finished yet; None if it is, or if the model
        was already informed.

        A check that needs an approval is not run, so that nobody is interrupted; the plan's audit shows it.
        """
        if context.progress is None:
            return None
        failed = await self._run(context, _unproved(context))
        if isinstance(failed, CallsParked):
            return failed
        left = context.progress.unfinished()
        if failed or (left and not _was_informed(context)):
            checks = f" A check of the approved plan failed. {' '.join(failed)}" if failed else ""
            return StepsOpen(f"Not done: {_open_steps(left)}.{checks} {_GO_ON}")
        return None

    async def prove_before(self, context: TurnContext, calls: Sequence[FoundCall]) -> CallsParked | None:
        """Run the checks of the steps that these calls depend on, if nothing else is missing."""
        if context.progress is None:
            return None
        wanted = [self._recorder.own_call(context, one.tool, one.parameters, Provenance()) for one in calls]
        steps = {step.id: step for call in wanted for step in context.progress.unproved_dependencies(call)}
        outcome = await self._run(context, list(steps.values()))
        return outcome if isinstance(outcome, CallsParked) else None

    async def _run(self, context: TurnContext, steps: Sequence[PlanStep]) -> list[str] | CallsParked:
        """Run the checks; return the output of each failed one."""
        failed = []
        for step in steps:
            command: Parameters = {"command": step.check}
            call = self._recorder.own_call(context, CHECK_WITH, command, Provenance(check=True), step=step.id)
            if not await self._toolrunner.passes_unasked(context, call):
                if context.progress:
                    context.progress.pass_over(step)
                continue
            await self._recorder.record_own_call(context, call, check=step.id)
            if isinstance(parked := await self._toolrunner.run(context), CallsParked):
                return parked
            call = context.call(call.id)
            if call.result and call.result.status is not CallStatus.OK:
                failed.append(f"Step {step.id}, `{step.check}`: {call.result.content[-_MOST_SHOWN:].strip()}")
        return failed


def blocked_by(left: Sequence[PlanStep]) -> str:
    """Return the message for the person when the model stopped before the plan was finished."""
    return f"The plan is blocked: {_open_steps(left)}. Continue the turn, send a message, or approve a new plan."


def _open_steps(left: Sequence[PlanStep]) -> str:
    named = "; ".join(f"{step.id[:80]} ({step.action[:120]})" for step in left[:_MOST_NAMED])
    more = f"; and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    if not left:
        return "the plan is not finished"
    return f"{'step' if len(left) == 1 else 'steps'} {named}{more} {'is' if len(left) == 1 else 'are'} open"


def _was_informed(context: TurnContext) -> bool:
    """Whether the model was told which steps are open, in this turn and since a person last continued it."""
    for message in reversed(context.history):
        if message.turn_id != context.turn.id:
            continue
        if is_continuation(message):
            return False
        if _names_open_steps(message.payload):
            return True
    return False


def _names_open_steps(payload: Json | None) -> bool:
    match payload:
        case {"error": {"code": StepsOpen.code}}:
            return True
        case _:
            return False


def _unproved(context: TurnContext) -> list[PlanStep]:
    """Return the steps with a check that has not run since the last change."""
    ran = set()
    for call in reversed(context.calls):
        if call.result is None or call.result.status is CallStatus.INTERRUPTED:
            continue
        if call.tool == CHECK_WITH:
            ran.add(call.parameters.get("command"))
        if call.intent and call.intent.paths and call.result.status is CallStatus.OK:
            break
    return [step for step in (context.plan.steps if context.plan else ()) if step.check and step.check not in ran]
