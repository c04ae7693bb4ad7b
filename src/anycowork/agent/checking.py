"""The checks that an approved plan names: the house runs them itself before it takes "done" for done. What a check is worth
is its exit code, not what the model says of it."""

from anycowork.agent.moment import Moment
from anycowork.agent.recorder import Recorder
from anycowork.agent.toolrunner import Parked, ToolRunner
from anycowork.domain.plan import PlanStep
from anycowork.domain.tools import Parameters, Provenance, Status

CHECK_WITH = "execute_command"
_MOST_SHOWN = 300


class Checker:
    def __init__(self, *, recorder: Recorder, toolrunner: ToolRunner) -> None:
        self._recorder = recorder
        self._toolrunner = toolrunner

    async def objection(self, moment: Moment) -> str | Parked | None:
        """Runs each check that was not run since the last change; why the plan is not carried out yet, or None.

        A check that a person would have to be asked for is not run: nobody is disturbed for it, and the plan's audit says so.
        """
        failed = []
        for step in _unproved(moment):
            command: Parameters = {"command": step.check}
            call = self._recorder.own_call(moment, CHECK_WITH, command, Provenance(check=True), step=step.id)
            if not await self._toolrunner.passes_unasked(moment, call):
                continue
            await self._recorder.own(moment, call, check=step.id)
            if isinstance(parked := await self._toolrunner.run(moment), Parked):
                return parked
            call = moment.call(call.id)
            if call.result and call.result.status is not Status.OK:
                failed.append(f"Step {step.id}, `{step.check}`: {call.result.content[-_MOST_SHOWN:].strip()}")
        return f"Not done: a check of the approved plan failed. {' '.join(failed)}" if failed else None


def _unproved(moment: Moment) -> list[PlanStep]:
    """The steps with a check whose command has not run since something last changed."""
    ran = set()
    for call in reversed(moment.calls):
        if call.result is None or call.result.status is Status.INTERRUPTED:
            continue
        if call.tool == CHECK_WITH:
            ran.add(call.parameters.get("command"))
        if call.intent and call.intent.paths and call.result.status is Status.OK:
            break
    return [step for step in (moment.plan.steps if moment.plan else ()) if step.check and step.check not in ran]
