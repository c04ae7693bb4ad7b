"""Decides the state of a plan's step. This is the only place that does: events, audit, exports and every screen show what it returns.

A step is done by a successful call that belongs to it or, if it has a check, by a check that passed after this work. Pure.
"""

from collections.abc import Iterable, Sequence

from anycowork.domain.plan import PlanStep, StepStatus
from anycowork.domain.tools import Call, CallStatus
from anycowork.domain.values import value
from anycowork.permissions.patterns import path_matches, plain

_NOT_TRIED = (CallStatus.REFUSED, CallStatus.DENIED)
IGNORED_FACT = "ignored"
"""The fact of a result that lists the topmost changed entries which git ignores, or which hold generated files."""


@value
class StepRecord:
    """What the journal says about one step. `work` are its settled calls that could complete it, `checks` the runs of its check,
    both oldest first; `proof` is the newest run that nothing has outdated.

    `read`: a call of it succeeded, but it only looked. `follows_work`: a file that its check is about was changed before the check ran.
    """

    work: Sequence[Call] = ()
    checks: Sequence[Call] = ()
    proof: Call | None = None
    has_check: bool = False
    under_way: bool = False
    read: bool = False
    follows_work: bool = False

    @property
    def worked(self) -> bool:
        return any(map(succeeded, self.work))

    @property
    def is_unproved(self) -> bool:
        """Whether its work succeeded and its check has not been run since."""
        return self.has_check and not self.under_way and self.proof is None and self.worked

    @property
    def is_refuted(self) -> bool:
        """Whether its check failed, or a person denied what it last tried: no word of the model changes that."""
        if self.proof is not None:
            return not succeeded(self.proof)
        return not self.worked and bool(self.work) and _was_denied(self.work[-1]) and not self._is_repeat_denied

    @property
    def is_cut_short(self) -> bool:
        """Whether a crash interrupted what it last tried, and nothing of it succeeded."""
        return not self.worked and bool(self.work) and (_was_interrupted(self.work[-1]) or self._is_repeat_denied)

    @property
    def _is_repeat_denied(self) -> bool:
        """Whether a person denied to make an interrupted call once more: it may have had its effect before."""
        *earlier, last = self.work
        return _was_denied(last) and any(_was_interrupted(call) and _is_same(call, last) for call in earlier)


def state_in_turn(record: StepRecord) -> StepStatus:
    """Returns the step's state while the turn runs, by its own calls alone."""
    if record.under_way:
        return StepStatus.RUNNING
    if record.proof is not None:
        if not succeeded(record.proof):
            return StepStatus.FAILED
        return StepStatus.DONE if _is_earned(record) else StepStatus.OPEN
    if record.worked:
        return StepStatus.RUNNING if record.has_check else StepStatus.DONE
    if record.work:
        return StepStatus.FAILED
    return StepStatus.RUNNING if record.read else StepStatus.OPEN


def state_at_end(record: StepRecord, now: StepStatus, *, ended_well: bool, is_blocked: bool) -> StepStatus:
    """Returns the step's final state. `now` is its state in the turn; `is_blocked`: it depends on a step that failed.

    A turn ends well only after the model has named the steps that no call shows, and why: then they are claimed.
    """
    if now.finished:
        return now
    if record.under_way:
        return StepStatus.FAILED
    if record.is_unproved:
        return StepStatus.CLAIMED
    if record.is_refuted:
        return StepStatus.FAILED
    if is_blocked and not record.work:
        return StepStatus.SKIPPED
    if ended_well:
        return StepStatus.CLAIMED
    return StepStatus.FAILED if now is StepStatus.FAILED else StepStatus.OPEN


def _is_earned(record: StepRecord) -> bool:
    """Whether a passing check shows the step's own work: it did not pass before, or a call of the step did something."""
    return record.worked or record.follows_work or not all(map(succeeded, record.checks))


def outdates(change: Call, step: PlanStep, own_files: Iterable[str], checked_files: Sequence[str]) -> bool:
    """Whether a later change touches a file that the step's check is about. Ignored and generated files never do.

    `own_files` are those that the step changed itself; `checked_files` are patterns for the files of its check. If neither is known,
    every file counts.
    """
    changed = changed_files(change)
    own_paths = {plain(path) for path in own_files}
    if change.plan_step == step.id or not (own_paths or checked_files):
        return bool(changed)
    return any(
        plain(path) in own_paths or any(path_matches(pattern, path) for pattern in checked_files) for path in changed
    )


def changed_files(call: Call) -> list[str]:
    """Returns the files that the call changed, without ignored and generated ones."""
    return kept_paths(call) if succeeded(call) else []


def kept_paths(call: Call) -> list[str]:
    """Returns the paths of the call's intent, without ignored and generated ones."""
    if call.intent is None or call.result is None:
        return []
    ignored = call.result.facts.get(IGNORED_FACT)
    entries = [str(entry) for entry in ignored] if isinstance(ignored, list) else []
    paths = [item.path for item in call.intent.paths]
    return [path for path in paths if not any(path == entry or path.startswith(f"{entry}/") for entry in entries)]


def _is_same(call: Call, other: Call) -> bool:
    return (call.tool, call.parameters) == (other.tool, other.parameters)


def was_tried(call: Call) -> bool:
    return call.result is not None and call.result.status not in _NOT_TRIED


def succeeded(call: Call) -> bool:
    return call.result is not None and call.result.status is CallStatus.OK


def _was_denied(call: Call) -> bool:
    return call.result is not None and call.result.status is CallStatus.DENIED


def _was_interrupted(call: Call) -> bool:
    return call.result is not None and call.result.status is CallStatus.INTERRUPTED
