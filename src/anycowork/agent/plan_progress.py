"""Tracks the progress of an approved plan by its recorded calls: the step of each call, the dependencies, and every step's status.

Everything that `statuses` returns follows from the recorded calls and the turn's end, so a restart, the audit and an export see the same.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from anycowork.agent.step_states import (
    StepRecord,
    changed_files,
    outdates,
    state_at_end,
    state_in_turn,
    succeeded,
    was_tried,
)
from anycowork.domain import event_factory
from anycowork.domain.chats import EndReason, Turn
from anycowork.domain.errors import StepNotReady
from anycowork.domain.events import NewEvent
from anycowork.domain.plan import Plan, PlanStep, StepStatus, StepStatuses, plan_status
from anycowork.domain.tools import Call, CallStatus, ToolSpec
from anycowork.domain.values import replace
from anycowork.permissions.patterns import path_matches
from anycowork.permissions.plan_steps import StepMatcher

_ENDED_WELL = (EndReason.ANSWERED, EndReason.TERMINATED)
_FINISHED = tuple(status for status in StepStatus if status.finished)
_EMPTY = StepRecord()


class PlanProgress:
    """The progress of one plan; mutable. `calls` are the calls of its turns so far, oldest first."""

    def __init__(self, plan: Plan, specs: Iterable[ToolSpec], root: str, calls: Iterable[Call] = ()) -> None:
        self.plan = plan
        self._steps = {step.id: step for step in plan.steps}
        self._matcher = StepMatcher(plan, specs, root)
        self._calls: dict[str, dict[str, Call]] = {step.id: {} for step in plan.steps}
        self._records: dict[str, StepRecord] = {
            step.id: _EMPTY if step.check is None else replace(_EMPTY, has_check=True) for step in plan.steps
        }
        self._claims: frozenset[str] | None = None  # computed when it is needed
        self._not_checkable: set[str] = set()  # steps whose check would ask a person
        self._changes: dict[str, Call] = {}  # that changed files or ran, except checks
        self._checks: dict[str, dict[str, Call]] = {}  # runs of each check, by its command
        self._checked_by: dict[str, list[PlanStep]] = {}
        for step in plan.steps:
            if step.check is not None:
                self._checked_by.setdefault(step.check, []).append(step)
        for call in calls:
            self.record(self.bound(call) if self._bound_later(call) else call)
        self._published = self.statuses()

    def bound(self, call: Call) -> Call:
        """Returns the call with its plan step set, if it belongs to one."""
        step = self._step_for(call)
        return replace(call, plan_step=step.id) if step else call

    def bound_by_changes(self, call: Call) -> Call:
        """Returns a settled call with the step whose files it changed, if it belonged to none when it was made."""
        if call.plan_step is not None or call.provenance.check or not (paths := changed_files(call)):
            return call
        steps = [step for step in self._matcher.at_changed(paths) if not self._blocked(step)]
        step = next((step for step in steps if self._lacks(step, call)), steps[-1] if steps else None)
        return replace(call, plan_step=step.id) if step else call

    def record(self, call: Call) -> None:
        """Records a call, or its new state. A check that ran before the work belongs to no step."""
        if call.provenance.baseline:
            return
        step = self._steps.get(call.plan_step or "")
        if step is not None:
            self._calls[step.id][call.id] = call
        stale = self._record_effect(call)
        for changed_step in ([step] if step else []) + stale:
            self._records[changed_step.id] = self._evaluate(changed_step)
        self._claims = None

    def _record_effect(self, call: Call) -> list[PlanStep]:
        """Records what the call changed or checked; returns the steps with a check that it may concern."""
        checked = self._checked_by.get(str(call.parameters.get("command")), [])
        if checked and call.result is not None and was_tried(call):
            self._checks.setdefault(str(call.parameters["command"]), {})[call.id] = call
            return checked
        if checked or not succeeded(call) or not self._matcher.changes(call):
            return []
        self._changes[call.id] = call
        return [
            step for steps in self._checked_by.values() for step in steps if self._records[step.id].proof is not None
        ]

    def events_for(self, turn: Turn, *calls: Call) -> tuple[NewEvent, ...]:
        """Records these calls; returns a progress event if the status of a step has changed since the last event."""
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
        return event_factory.plan_progress(turn.plan_id or "", turn.id, plan_status(now, finished=False), now)

    def calls_of(self, step_id: str) -> list[Call]:
        return list(self._calls[step_id].values())

    def statuses(self, *, is_ended: bool = False, reason: EndReason | None = None) -> StepStatuses:
        """Returns every step's status, in the order of the plan. `is_ended`: the turn has ended, for this reason."""
        now = {step_id: self._status(step_id) for step_id in self._steps}
        return self._at_the_end(now, reason) if is_ended else now

    def unfinished(self) -> list[PlanStep]:
        """Returns the steps that still need work, or the model's word. Where a check passed, or could not be run, nothing is left to do."""
        now = self.statuses()
        working_steps = [
            step for step in self.plan.steps if now[step.id] not in _FINISHED and self._matcher.names_work(step)
        ]
        return [
            step for step in working_steps if not self._records[step.id].is_unproved and not self.check_passed(step.id)
        ]

    def left_open(self) -> list[PlanStep]:
        """Returns the steps that stay unfinished if the turn ends as blocked now."""
        statuses = self.statuses(is_ended=True, reason=EndReason.BLOCKED)
        return [step for step in self.plan.steps if statuses[step.id] not in _FINISHED]

    def is_refuted(self, step: PlanStep) -> bool:
        """Whether the step's check failed, or a person denied what it last tried."""
        return self._records[step.id].is_refuted

    def cut_short(self) -> list[PlanStep]:
        """Returns the unfinished steps whose last call a crash interrupted before anything of them succeeded."""
        return [step for step in self.unfinished() if self._records[step.id].is_cut_short]

    def check_passed(self, step_id: str) -> bool:
        """Whether the step has a check that passed after the last change of its files."""
        proof = self._records[step_id].proof
        return proof is not None and succeeded(proof)

    def checks_to_run(self) -> list[PlanStep]:
        """Returns the steps whose check was not run to its end, or was outdated since."""
        return [step for step in self.plan.steps if step.check and _was_not_run(self._records[step.id].proof)]

    def count_finished(self) -> int:
        statuses = list(self.statuses().values())
        return sum(statuses.count(status) for status in _FINISHED)

    def current(self) -> PlanStep | None:
        """Returns the step in progress, or the next one."""
        now = self.statuses()
        unfinished = [step for step in self.plan.steps if now[step.id] not in _FINISHED]
        begun = (step for step in unfinished if now[step.id] is not StepStatus.OPEN)
        return next(begun, next(iter(unfinished), None))

    def unfinished_dependencies(self, call: Call, *, expected: Collection[str] = ()) -> list[PlanStep]:
        """Returns the steps that must be finished before this call, except those `expected` to be finished by then."""
        step = self._steps.get(call.plan_step or "")
        if step is None:
            return []
        return [
            dependency
            for dependency in self._waits_for(step)
            if dependency.id not in expected and dependency.id not in self._not_checkable
        ]

    def unproved_dependencies(self, call: Call) -> list[PlanStep]:
        """Returns the dependencies of this call's step that lack only the run of their check."""
        return [step for step in self.unfinished_dependencies(self.bound(call)) if self._lacks_its_check(step)]

    def skip_check(self, step: PlanStep) -> None:
        """Lets later steps begin although the check of this one would ask a person."""
        self._not_checkable.add(step.id)

    # --- which step

    def _step_for(self, call: Call) -> PlanStep | None:
        """Finds the step of a call: first a ready step that lacks such a call, then a ready step that already had it, then any other."""
        candidates = self._matcher.candidates(call)
        groups = (candidates.by_resource, candidates.by_tool)
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
        calls = [earlier_call for earlier_call in self._calls[step.id].values() if not was_deferred(earlier_call)]
        if call.parameters.get("command") == step.check and step.check is not None:
            return True
        if any(earlier_call.result is None and self._matcher.completes(step, earlier_call) for earlier_call in calls):
            return False
        if not self._status(step.id).finished:
            return True
        return self._matcher.changes(call) and not any(
            succeeded(earlier_call) and self._matcher.changes(earlier_call) for earlier_call in calls
        )

    def _bound_later(self, call: Call) -> bool:
        """Whether to match the call now: earlier releases recorded the step only if it granted the call, not for reads or failures."""
        if call.plan_step is not None or call.provenance.reference or call.provenance.baseline:
            return False
        took_effect = call.intent is not None and (call.result is None or call.result.status is CallStatus.INTERRUPTED)
        return not self._matcher.changes(call) or not (took_effect or succeeded(call))

    # --- what waits for what

    def _waits_for(self, step: PlanStep) -> list[PlanStep]:
        """Returns the unfinished steps that it depends on. A step that cannot be proved is replaced by its own dependencies."""
        waiting: dict[str, PlanStep] = {}
        seen, ahead = set(step.dependencies), list(step.dependencies)
        while ahead:
            dependency = self._steps[ahead.pop()]
            if self.check_passed(dependency.id) or self._status(dependency.id).finished:
                continue
            if self._matcher.names_work(dependency):
                waiting[dependency.id] = dependency
            else:
                ahead += [step_id for step_id in dependency.dependencies if step_id not in seen]
                seen.update(dependency.dependencies)
        return list(reversed(waiting.values()))

    def _blocked(self, step: PlanStep) -> bool:
        """Whether a dependency is unfinished and has no call in progress; a call in progress will finish first anyway."""
        return any(not self._under_way(dependency) for dependency in self._waits_for(step))

    def _under_way(self, step: PlanStep) -> bool:
        return any(call.result is None for call in self._calls[step.id].values())

    def _claimed(self) -> frozenset[str]:
        """Returns the steps that only the model claims, by going on with a step that depends on them.

        It may do so if no call could show them, or after it has said why they need nothing: else its call was not made.
        """
        if self._claims is None:
            begun = [step for step in self.plan.steps if self._calls[step.id]]
            worked_on = [step for step in begun if any(map(succeeded, self._calls[step.id].values()))]
            self._claims = frozenset(self._before(worked_on, self._is_open))
            tried = [step for step in begun if not all(map(was_deferred, self._calls[step.id].values()))]
            ready = [step for step in tried if not self._waits_for(step)]
            self._claims |= self._before(ready, lambda step: not self._matcher.names_work(step))
        return self._claims

    def _before(self, steps: Iterable[PlanStep], counts: Callable[[PlanStep], bool]) -> set[str]:
        """Returns the dependencies of these steps that count, and the dependencies of those."""
        ahead, seen = [step_id for step in steps for step_id in step.dependencies], set[str]()
        while ahead:
            dependency = self._steps[ahead.pop()]
            if dependency.id not in seen and counts(dependency):
                seen.add(dependency.id)
                ahead += dependency.dependencies
        return seen

    def _is_open(self, step: PlanStep) -> bool:
        """Whether neither a call nor a check says anything final about the step."""
        record = self._records[step.id]
        return not (state_in_turn(record).finished or record.is_refuted or record.worked or record.under_way)

    # --- the status of one step

    def _status(self, step_id: str) -> StepStatus:
        record = self._records[step_id]
        status = state_in_turn(record)
        if status is StepStatus.RUNNING and record.under_way:
            # A call that comes too early does not start the step.
            return StepStatus.OPEN if self._waits_for(self._steps[step_id]) else status
        if status.finished or record.is_refuted or record.worked:
            return status
        return StepStatus.CLAIMED if step_id in self._claimed() else status

    def _evaluate(self, step: PlanStep) -> StepRecord:
        calls = list(self._calls[step.id].values())
        settled = [call for call in calls if call.result is not None and not was_deferred(call)]
        work = [call for call in settled if self._matcher.completes(step, call) and not self._is_check(call, step)]
        checks = list(self._checks.get(step.check, {}).values()) if step.check is not None else []
        return StepRecord(
            work=work,
            checks=checks,
            proof=self._proof(step, work, checks),
            has_check=step.check is not None,
            under_way=len(calls) > sum(call.result is not None for call in calls),
            read=any(map(succeeded, settled)),
            follows_work=bool(checks) and self._follows_work(step, checks[-1]),
        )

    def _is_check(self, call: Call, step: PlanStep) -> bool:
        """Whether the call only checked the step. A check that the step names as its own command is its work, if the model ran it."""
        if call.provenance.check:
            return True
        command = call.parameters.get("command")
        return step.check is not None and command == step.check and command not in step.commands

    def _proof(self, step: PlanStep, work: Sequence[Call], checks: Sequence[Call]) -> Call | None:
        """Returns the newest run of its check, unless a later change touched what it is about. What checks write never does."""
        if not checks:
            return None
        proof = checks[-1]
        later = [change for change in self._changes.values() if change.ordinal > proof.ordinal]
        if not later:
            return proof
        own_files = [path for call in work for path in changed_files(call)]
        about = self._checked_files(step)
        return None if any(outdates(change, step, own_files, about) for change in later) else proof

    def _follows_work(self, step: PlanStep, check: Call) -> bool:
        """Whether a file that the check is about was changed before it ran."""
        about = self._checked_files(step)
        earlier = [change for change in self._changes.values() if change.ordinal < check.ordinal]
        return any(
            path_matches(pattern, path) for change in earlier for path in changed_files(change) for pattern in about
        )

    def _checked_files(self, step: PlanStep) -> tuple[str, ...]:
        """Returns the patterns of the files that a step's check is about: its own or, if it has none, those that its dependencies name."""
        if step.paths:
            return step.paths
        seen, ahead, paths = set(step.dependencies), list(step.dependencies), list[str]()
        while ahead:
            dependency = self._steps[ahead.pop()]
            paths += dependency.paths
            ahead += [step_id for step_id in dependency.dependencies if step_id not in seen]
            seen.update(dependency.dependencies)
        return tuple(paths)

    def _lacks_its_check(self, step: PlanStep) -> bool:
        record = self._records[step.id]
        if step.check is None or record.under_way:
            return False
        only_its_check = not (step.paths or step.commands or step.tools_needed or step.calls)
        return record.is_unproved or (only_its_check and record.proof is None)

    def _at_the_end(self, now: StepStatuses, reason: EndReason | None) -> StepStatuses:
        """Returns the final statuses. Steps that depend on a failed one never started."""
        well = reason in _ENDED_WELL
        statuses = {
            step_id: state_at_end(self._records[step_id], status, ended_well=well, is_blocked=False)
            for step_id, status in now.items()
        }
        for step_id in self._dependants(step_id for step_id, status in statuses.items() if status is StepStatus.FAILED):
            statuses[step_id] = state_at_end(self._records[step_id], now[step_id], ended_well=well, is_blocked=True)
        return statuses

    def _dependants(self, step_ids: Iterable[str]) -> set[str]:
        """Returns the steps that depend on one of these, directly or through others."""
        ahead, dependants = set(step_ids), set[str]()
        if not ahead:
            return dependants
        needed_by: dict[str, list[str]] = {}
        for step in self.plan.steps:
            for dependency in step.dependencies:
                needed_by.setdefault(dependency, []).append(step.id)
        while ahead:
            new = set(needed_by.get(ahead.pop(), ())) - dependants
            dependants |= new
            ahead |= new
        return dependants


def plan_ended(turn: Turn, progress: PlanProgress | None) -> tuple[NewEvent, ...]:
    """The event that tells how the plan of an ended turn stands; none if it had no plan."""
    if progress is None or turn.plan_id is None or turn.task_id is not None:
        return ()
    steps = progress.statuses(is_ended=True, reason=turn.reason)
    return (event_factory.plan_progress(turn.plan_id, turn.id, plan_status(steps, finished=True), steps),)


def not_ready(call: Call, before: list[PlanStep]) -> StepNotReady:
    """Returns the error for a call whose step is not ready."""
    step_names = ", ".join(f"step {step.id[:80]} ({step.action[:120]})" for step in before[:5])
    return StepNotReady(
        f"Not done: this call belongs to step {(call.plan_step or '')[:80]} of the approved plan, which comes after {step_names}. "
        "Do that first, then make this call again. If it needs nothing more, say so with its id and the reason, and make the call again."
    )


def was_deferred(call: Call) -> bool:
    """Whether the call was not made because its step was not ready."""
    return call.result is not None and call.result.error is not None and call.result.error.code == StepNotReady.code


def _was_not_run(check: Call | None) -> bool:
    return check is None or check.result is None or check.result.status is CallStatus.INTERRUPTED
