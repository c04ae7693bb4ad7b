"""Tracks the progress of an approved plan by its recorded calls: the step of each call, the dependencies, and every step's status.

A step without a check is done when its work succeeded; a step with a check is done when the check passed after its last change.
"""

from collections.abc import Collection, Iterable

from anycowork.domain import event_factory
from anycowork.domain.chats import EndReason, Turn
from anycowork.domain.errors import StepNotReady
from anycowork.domain.events import NewEvent
from anycowork.domain.plan import Plan, PlanStep
from anycowork.domain.plan_status import StepStatus, StepStatuses, plan_status
from anycowork.domain.tools import Call, CallStatus, ToolSpec
from anycowork.domain.values import replace
from anycowork.permissions.plan_steps import StepMatcher

_ENDED_WELL = (EndReason.ANSWERED, EndReason.TERMINATED)
_FINISHED = tuple(status for status in StepStatus if status.finished)
_NOT_TRIED = (CallStatus.REFUSED, CallStatus.DENIED)


class PlanProgress:
    """The progress of one plan in one turn; mutable. `calls` are the turn's calls so far, oldest first."""

    def __init__(self, plan: Plan, specs: Iterable[ToolSpec], root: str, calls: Iterable[Call] = ()) -> None:
        self.plan = plan
        self._steps = {step.id: step for step in plan.steps}
        self._matcher = StepMatcher(plan, specs, root)
        self._calls: dict[str, dict[str, Call]] = {step.id: {} for step in plan.steps}
        self._evidence: dict[str, StepStatus] = dict.fromkeys(self._steps, StepStatus.OPEN)
        self._passed_over: set[str] = set()
        self._checks: dict[str, Call] = {}  # by command, the newest run
        self._checked_by: dict[str, list[PlanStep]] = {}
        for step in plan.steps:
            if step.check is not None:
                self._checked_by.setdefault(step.check, []).append(step)
        for call in calls:
            self.record(self.bound(call) if self._bound_later(call) else call)
        self._published = self.statuses()

    def bound(self, call: Call) -> Call:
        """Return the call with its plan step set, if it belongs to one."""
        step = self._step_for(call)
        return replace(call, plan_step=step.id) if step else call

    def record(self, call: Call) -> None:
        """Record a call, or its new state."""
        step = self._steps.get(call.plan_step or "")
        if step is None:
            return
        self._calls[step.id][call.id] = call
        checked = self._checked_by.get(str(call.parameters.get("command")), []) if call.result is not None else []
        if checked:
            self._checks[str(call.parameters["command"])] = call
        for one in (step, *checked):
            self._evidence[one.id] = self._evaluate(one)
        if not was_deferred(call):
            self._pass_over(step)

    def events_for(self, turn: Turn, *calls: Call) -> tuple[NewEvent, ...]:
        """Record these calls; return a progress event if the status of a step has changed since the last event."""
        for call in calls:
            self.record(call)
        now = self.statuses()
        if now == self._published or turn.task_id is not None:  # a job tells of all its tasks
            return ()
        self._published = now
        return (self.standing(turn),)

    def standing(self, turn: Turn) -> NewEvent:
        """The event that tells the status of every step while the turn runs."""
        now = self.statuses()
        return event_factory.plan_progress(turn.plan_id or "", turn.id, plan_status(now, over=False), now)

    def calls_of(self, step_id: str) -> list[Call]:
        return list(self._calls[step_id].values())

    def statuses(self, *, over: bool = False, reason: EndReason | None = None) -> StepStatuses:
        """Return every step's status, in the order of the plan. `over`: the turn has ended, for this reason."""
        now = {step_id: self._status(step_id) for step_id in self._steps}
        return self._at_the_end(now, reason) if over else now

    def unfinished(self) -> list[PlanStep]:
        """Return the steps that still need work."""
        now = self.statuses()
        left = [step for step in self.plan.steps if now[step.id] not in _FINISHED and self._matcher.names_work(step)]
        return [step for step in left if not self._worked_unproved(step)]

    def count_finished(self) -> int:
        found = list(self.statuses().values())
        return sum(found.count(status) for status in _FINISHED)

    def current(self) -> PlanStep | None:
        """Return the step in progress, or the next one."""
        now = self.statuses()
        left = [step for step in self.plan.steps if now[step.id] not in _FINISHED]
        begun = (step for step in left if now[step.id] is not StepStatus.OPEN)
        return next(begun, next(iter(left), None))

    def unfinished_dependencies(self, call: Call, *, expected: Collection[str] = ()) -> list[PlanStep]:
        """Return the steps that must be finished before this call, except those `expected` to be finished by then."""
        step = self._steps.get(call.plan_step or "")
        return [] if step is None else [one for one in self._waits_for(step) if one.id not in expected]

    def unproved_dependencies(self, call: Call) -> list[PlanStep]:
        """Return the dependencies of this call's step that lack only the run of their check."""
        return [step for step in self.unfinished_dependencies(self.bound(call)) if self._lacks_its_check(step)]

    def pass_over(self, step: PlanStep) -> None:
        """Accept the step as claimed by the model, because it cannot be proved now."""
        self._passed_over.add(step.id)

    # --- which step

    def _step_for(self, call: Call) -> PlanStep | None:
        """Find the step of a call: first a ready step that lacks such a call, then a ready step that already had it, then any other."""
        found = self._matcher.candidates(call)
        groups = (found.by_place, found.by_tool)
        for steps in groups:
            if step := next((step for step in steps if self._lacks(step, call) and not self._blocked(step)), None):
                return step
        for steps in groups:
            if step := next((step for step in reversed(steps) if not self._blocked(step)), None):
                return step
        if not self._matcher.changes(call):
            return None  # reading ahead belongs to no step
        return next((step for steps in groups for step in steps), None)

    def _lacks(self, step: PlanStep, call: Call) -> bool:
        """Whether such a call would advance the step. Reading does not count as a change."""
        calls = [one for one in self._calls[step.id].values() if not was_deferred(one)]
        if call.parameters.get("command") == step.check and step.check is not None:
            return True
        if any(one.result is None and self._matcher.completes(step, one) for one in calls):
            return False
        if not self._status(step.id).finished:
            return True
        return self._matcher.changes(call) and not any(_ok(one) and self._matcher.changes(one) for one in calls)

    def _bound_later(self, call: Call) -> bool:
        """Whether to match the call now: earlier releases recorded the step only if it granted the call, not for reads or failures."""
        if call.plan_step is not None or call.provenance.reference:
            return False
        took_effect = call.intent is not None and (call.result is None or call.result.status is CallStatus.INTERRUPTED)
        return not self._matcher.changes(call) or not (took_effect or _ok(call))

    # --- what waits for what

    def _waits_for(self, step: PlanStep) -> list[PlanStep]:
        """Return the unfinished steps that it depends on. A step that cannot be proved is replaced by its own dependencies."""
        found: dict[str, PlanStep] = {}
        seen, ahead = set(step.dependencies), list(step.dependencies)
        while ahead:
            one = self._steps[ahead.pop()]
            if self._status(one.id).finished:
                continue
            if self._matcher.names_work(one):
                found[one.id] = one
            else:
                ahead += [step_id for step_id in one.dependencies if step_id not in seen]
                seen.update(one.dependencies)
        return list(reversed(found.values()))

    def _blocked(self, step: PlanStep) -> bool:
        """Whether a dependency is unfinished and has no call in progress; a call in progress will finish first anyway."""
        return any(not self._under_way(one) for one in self._waits_for(step))

    def _under_way(self, step: PlanStep) -> bool:
        return any(call.result is None for call in self._calls[step.id].values())

    def _pass_over(self, step: PlanStep) -> None:
        """Accept the unprovable dependencies of a step as claimed, because the model continues with this step."""
        ahead = list(step.dependencies)
        while ahead:
            one = self._steps[ahead.pop()]
            if one.id not in self._passed_over and not self._matcher.names_work(one):
                self._passed_over.add(one.id)
                ahead += one.dependencies

    # --- the status of one step

    def _status(self, step_id: str) -> StepStatus:
        found = self._evidence[step_id]
        if found is StepStatus.RUNNING and self._under_way(step := self._steps[step_id]):
            # A call that comes too early does not start the step.
            return StepStatus.OPEN if self._waits_for(step) else found
        is_open = found is StepStatus.OPEN or found is StepStatus.RUNNING
        return StepStatus.CLAIMED if is_open and step_id in self._passed_over else found

    def _evaluate(self, step: PlanStep) -> StepStatus:
        calls = list(self._calls[step.id].values())
        settled = [call for call in calls if call.result is not None and not was_deferred(call)]
        if any(call.result is None for call in calls):
            return StepStatus.RUNNING
        if (proof := self._proof(step, settled)) is not None:
            return StepStatus.DONE if _ok(proof) else StepStatus.FAILED
        work = [call for call in settled if self._matcher.completes(step, call) and not _is_check(call, step)]
        tried = [call for call in work if call.result and call.result.status not in _NOT_TRIED]
        if not tried:
            return StepStatus.FAILED if work else StepStatus.RUNNING if any(map(_ok, settled)) else StepStatus.OPEN
        if not _ok(tried[-1]):
            return StepStatus.FAILED
        return StepStatus.DONE if step.check is None else StepStatus.RUNNING

    def _proof(self, step: PlanStep, settled: list[Call]) -> Call | None:
        """Return the newest run of its check, unless the step changed something after it."""
        proof = self._checks.get(step.check) if step.check is not None else None
        changed = [call.ordinal for call in settled if _ok(call) and call.intent is not None and call.intent.paths]
        return proof if proof is not None and max(changed, default=-1) < proof.ordinal else None

    def _lacks_its_check(self, step: PlanStep) -> bool:
        if step.check is None or self._under_way(step):
            return False
        only_its_check = not (step.paths or step.commands or step.tools_needed)
        return self._worked_unproved(step) or (only_its_check and self._evidence[step.id] is StepStatus.OPEN)

    def _worked_unproved(self, step: PlanStep) -> bool:
        """Whether its work succeeded and its check has not been run since."""
        if step.check is None or self._evidence[step.id] is not StepStatus.RUNNING or self._under_way(step):
            return False
        return any(_ok(call) and self._matcher.completes(step, call) for call in self._calls[step.id].values())

    def _at_the_end(self, now: StepStatuses, reason: EndReason | None) -> StepStatuses:
        """Return the final statuses. Unprovable steps are claimed if the turn ended well; steps that could not start are skipped."""
        ended: dict[str, StepStatus] = {}
        well = reason in _ENDED_WELL
        failed = {step_id for step_id, status in now.items() if status in (StepStatus.FAILED, StepStatus.SKIPPED)}
        for step in self.plan.steps:
            status = now[step.id]
            if status is StepStatus.RUNNING and self._under_way(step):
                status = StepStatus.FAILED
            elif self._worked_unproved(step) or (well and not self._matcher.names_work(step) and not status.finished):
                status = StepStatus.CLAIMED
            elif status in (StepStatus.OPEN, StepStatus.RUNNING):
                needs_failed = bool(failed) and not failed.isdisjoint(step.dependencies)
                status = StepStatus.SKIPPED if well or needs_failed else StepStatus.OPEN
            ended[step.id] = status
        return ended


def plan_ended(turn: Turn, progress: PlanProgress | None) -> tuple[NewEvent, ...]:
    """The event that tells how the plan of an ended turn stands; none if it had no plan."""
    if progress is None or turn.plan_id is None or turn.task_id is not None:
        return ()
    steps = progress.statuses(over=True, reason=turn.reason)
    return (event_factory.plan_progress(turn.plan_id, turn.id, plan_status(steps, over=True), steps),)


def not_ready(call: Call, before: list[PlanStep]) -> StepNotReady:
    """Return the error for a call whose step is not ready."""
    named = ", ".join(f"step {step.id[:80]} ({step.action[:120]})" for step in before[:5])
    return StepNotReady(
        f"Not done: this call belongs to step {(call.plan_step or '')[:80]} of the approved plan, which comes after {named}. "
        "Do that first, then make this call again."
    )


def _is_check(call: Call, step: PlanStep) -> bool:
    return call.provenance.check or (step.check is not None and call.parameters.get("command") == step.check)


def was_deferred(call: Call) -> bool:
    """Whether the call was not made because its step was not ready."""
    return call.result is not None and call.result.error is not None and call.result.error.code == StepNotReady.code


def _ok(call: Call) -> bool:
    return call.result is not None and call.result.status is CallStatus.OK
