"""Runs the checks of an approved plan before the plan counts as done. The exit code of a check decides, not the model's text."""

from collections.abc import Sequence

from anycowork.agent.reply_parser import FoundCall
from anycowork.agent.step_explanations import open_steps
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
_GO_ON = (
    "Do what is left. If a step needs nothing more, answer with its id and the reason. "
    "If a step cannot be done as the plan says, ask the person with a question."
)


class PlanChecker:
    def __init__(self, *, recorder: TurnRecorder, toolrunner: ToolRunner) -> None:
        self._recorder = recorder
        self._toolrunner = toolrunner

    async def objection(self, context: TurnContext, text: str) -> StepsOpen | CallsParked | None:
        """Runs each check that was not run since its files changed. Returns why the plan is not finished yet; None if it is, or if the
        model was already informed. `text` is what the model says at its end.

        A check that needs an approval is not run, so that nobody is interrupted; the plan's audit shows it.
        """
        if context.progress is None:
            return None
        failed = await self._run(context, context.progress.checks_to_run())
        if isinstance(failed, CallsParked):
            return failed
        unfinished = (
            open_steps(context, text) or context.progress.cut_short()
        )  # asked about once, then the model's word counts
        if failed or (unfinished and not _was_informed(context)):
            checks = f" A check of the approved plan failed. {' '.join(failed)}" if failed else ""
            return StepsOpen(f"Not done: {_listed(unfinished)}.{checks} {_GO_ON}")
        return None

    async def prove_before(self, context: TurnContext, calls: Sequence[FoundCall]) -> CallsParked | None:
        """Runs the checks of the steps that these calls depend on, if nothing else is missing."""
        if context.progress is None:
            return None
        own_calls = [
            self._recorder.own_call(context, call_made.tool, call_made.parameters, Provenance()) for call_made in calls
        ]
        steps = {step.id: step for call in own_calls for step in context.progress.unproved_dependencies(call)}
        outcome = await self._run(context, list(steps.values()))
        return outcome if isinstance(outcome, CallsParked) else None

    async def _run(self, context: TurnContext, steps: Sequence[PlanStep]) -> list[str] | CallsParked:
        """Runs the checks; returns the output of each failed one."""
        failed = []
        for step in steps:
            command: Parameters = {"command": step.check}
            call = self._recorder.own_call(context, CHECK_WITH, command, Provenance(check=True), step=step.id)
            if not await self._toolrunner.passes_unasked(context, call):
                if context.progress:
                    context.progress.skip_check(step)
                continue
            await self._recorder.record_own_call(context, call, check=step.id)
            if isinstance(parked := await self._toolrunner.run(context), CallsParked):
                return parked
            call = context.calls.by_id(call.id)
            if call.result and call.result.status is not CallStatus.OK:
                failed.append(f"Step {step.id}, `{step.check}`: {call.result.content[-_MOST_SHOWN:].strip()}")
        return failed


def blocked_by(open_steps: Sequence[PlanStep]) -> str:
    """Returns the message for the person when the model stopped before the plan was finished."""
    return f"The plan is blocked: {_listed(open_steps)}. Continue the turn, send a message, or approve a new plan."


def _listed(open_steps: Sequence[PlanStep]) -> str:
    step_names = "; ".join(f"{step.id[:80]} ({step.action[:120]})" for step in open_steps[:_MOST_NAMED])
    more = f"; and {len(open_steps) - _MOST_NAMED} more" if len(open_steps) > _MOST_NAMED else ""
    if not open_steps:
        return "the plan is not finished"
    return f"{'step' if len(open_steps) == 1 else 'steps'} {step_names}{more} {'is' if len(open_steps) == 1 else 'are'} open"


def _was_informed(context: TurnContext) -> bool:
    """Whether the model was told which steps are open, in this turn and since a person last continued it.

    In a turn that a person's message started after the plan had stopped, it may just answer: nobody asked it to go on.
    """
    if context.assignment.earlier_turns and all(call.plan_step is None for call in context.calls):
        return True
    for message in reversed(context.conversation.history):
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
