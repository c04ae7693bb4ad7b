"""The calls of one turn: in the order in which they were issued, and what their results tell about files and refusals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import overload

from anycowork.agent.plan_progress import was_deferred
from anycowork.domain.errors import RepeatedCall
from anycowork.domain.job_workers import WorkerGone, WorkspaceChanged
from anycowork.domain.messages import Json
from anycowork.domain.tools import Call, CallState, CallStatus, PathIntent
from anycowork.domain.values import replace, value


class TurnCalls(Sequence[Call]):
    """`not_shown` are ids of calls whose results a compaction left out: what they read must be read again."""

    def __init__(self, calls: Iterable[Call], not_shown: frozenset[str]) -> None:
        self.has_changed = False
        self._calls: list[Call] = []
        self._indexes: dict[str, int] = {}
        self._open: dict[str, Call] = {}
        self._refused: list[Call] = []
        self._read: dict[str, str] = {}
        self.read_files: Mapping[str, str] = MappingProxyType(self._read)
        """Files whose present content the model knows, with the hash of it."""
        self._not_shown = not_shown
        self.issue(calls)

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    def __reversed__(self) -> Iterator[Call]:
        return reversed(self._calls)

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> list[Call]: ...
    def __getitem__(self, index: int | slice) -> Call | list[Call]:
        return self._calls[index]

    def issue(self, calls: Iterable[Call]) -> None:
        """Appends newly issued calls."""
        for call in calls:
            self._indexes[call.id] = len(self._calls)
            self._calls.append(call)
            self.update(call)

    def update(self, call: Call) -> None:
        """Replaces the known state of the call."""
        self._calls[self._indexes[call.id]] = call
        if call.state is CallState.SETTLED:
            self._open.pop(call.id, None)
        else:
            self._open[call.id] = call
        self._learn(call)

    def by_id(self, call_id: str) -> Call:
        return self._calls[self._indexes[call_id]]

    def open(self) -> list[Call]:
        """Returns the open calls in the order in which they were issued."""
        return list(self._open.values())

    def last_failure(self) -> Call | None:
        """Returns the newest settled call of the turn, if it failed. A check that the server ran does not count as a step of the model."""
        settled = (call for call in reversed(self._calls) if call.state is CallState.SETTLED)
        last = next((call for call in settled if not call.provenance.check), None)
        failed = last is not None and last.result is not None and last.result.status is CallStatus.ERROR
        return last if failed else None

    def earlier_failure(self, call: Call) -> Call | None:
        """Returns the same call made earlier in this turn, if it was refused or nothing has succeeded since. Workflow steps are exempt,
        because their author wants them repeated, and checks, which may be flaky, and what another machine did not run to its end."""
        if call.provenance.workflow is not None or call.provenance.check:
            return None
        for earlier in reversed(self._calls):
            if earlier.id == call.id or earlier.result is None or was_a_repeat(earlier) or was_deferred(earlier):
                continue
            same = earlier.tool == call.tool and earlier.parameters == call.parameters
            status = earlier.result.status
            if same and status in (CallStatus.REFUSED, CallStatus.DENIED, CallStatus.ERROR):
                return None if earlier.result.was_model_fault or _did_not_run(earlier) else earlier
            if status is CallStatus.OK:
                return self._refused_before(call)
        return None

    @property
    def was_denied(self) -> bool:
        """Whether a person denied a call of this turn."""
        if not self._refused:  # the usual case
            return False
        return any(call.result is not None and call.result.status is CallStatus.DENIED for call in self._refused)

    def _refused_before(self, call: Call) -> Call | None:
        if not self._refused:  # the usual case
            return None
        same = (
            refused_call
            for refused_call in self._refused
            if (refused_call.tool, refused_call.parameters) == (call.tool, call.parameters)
        )
        return next(same, None)

    def _learn(self, call: Call) -> None:
        """Remember which files a settled call read or wrote, and whether it was refused."""
        if call.result is None:
            return
        self.has_changed = self.has_changed or made_changes(call)
        if call.result.status in (CallStatus.REFUSED, CallStatus.DENIED) and not was_a_repeat(call):
            self._refused.append(call)
        if call.result.status is CallStatus.OK and call.result.facts and call.id not in self._not_shown:
            self._learn_file(call.result.facts)

    def _learn_file(self, facts: Json) -> None:
        path, seen, after = facts.get("path"), facts.get("sha256"), facts.get("after")
        if not isinstance(path, str):
            return
        if facts.get("whole") is True and isinstance(seen, str):
            self._read[path] = seen
        elif isinstance(after, str) and (path in self._read or facts.get("before") is None):
            self._read[path] = after  # the content of a file that was read and changed, or created, is known


def _did_not_run(call: Call) -> bool:
    error = call.result.error if call.result is not None else None
    return error is not None and error.code in (WorkerGone.code, WorkspaceChanged.code)


_CIRCLE = 12  # calls: a model that repeats one of the last so many is going in circles


def repeated_tools(calls: Sequence[Call]) -> frozenset[str]:
    """Returns the tools called since the last change, if the newest call is a repetition; empty if the turn makes progress."""
    recent = calls[-_CIRCLE:]
    if recent and recent[-1].result is not None and not _may_repeat(recent):
        return frozenset()
    since: list[Call] = []
    for call in reversed(recent):
        if call.intent is not None and succeeded(call):
            break
        if call.result is not None:
            since.append(call)
    if not since or not (was_a_repeat(since[0]) or _is_repeated(since)):
        return frozenset()
    return frozenset(call.tool for call in since)


def was_a_repeat(call: Call) -> bool:
    """Whether the call was refused because it repeats an earlier one."""
    return call.result is not None and call.result.error is not None and call.result.error.code == RepeatedCall.code


def succeeded(call: Call) -> bool:
    return call.result is not None and call.result.status is CallStatus.OK


def _may_repeat(recent: Sequence[Call]) -> bool:
    """Whether the newest of these calls may repeat another one. Rarely: mostly their parameters differ."""
    newest = recent[-1]
    return was_a_repeat(newest) or [call.parameters for call in recent].count(newest.parameters) > 1


def _is_repeated(calls: list[Call]) -> bool:
    """Whether the first of these calls also occurs among the others."""
    first = calls[0]
    return any(call.tool == first.tool and call.parameters == first.parameters for call in calls[1:])


@value
class TurnChange:
    """What a turn did to one path: the hash before its first change and after its last one, whether a person allowed each change, and
    whether one changed nothing but the mode."""

    path: str
    before: str | None
    after: str | None
    allowed_by_person: bool
    has_other_mode: bool = False

    @property
    def is_net(self) -> bool:
        return self.before != self.after or self.has_other_mode


def made_changes(call: Call) -> bool:
    """Whether the call changed files. A command that failed may have changed some."""
    if call.state is not CallState.SETTLED or call.result is None or call.intent is None or not call.intent.paths:
        return False
    return call.result.status is CallStatus.OK or bool(call.result.facts.get("changed"))


def path_changes(calls: Sequence[Call]) -> list[TurnChange]:
    """Returns what the calls did to each path, in the order of the first change."""
    changes: dict[str, TurnChange] = {}
    for call in calls:
        if not made_changes(call) or call.intent is None:
            continue
        by_person = str(call.result.facts.get("allowed_by", "")).startswith("approval:") if call.result else False
        for item in call.intent.paths:
            changes[item.path] = _joined(changes.get(item.path), item, by_person=by_person)
    return list(changes.values())


def _joined(earlier: TurnChange | None, item: PathIntent, *, by_person: bool) -> TurnChange:
    other_mode = item.mode is not None and item.before == item.after  # nothing else of it can have changed
    if earlier is None:
        return TurnChange(item.path, item.before, item.after, by_person, other_mode)
    return replace(
        earlier,
        after=item.after,
        allowed_by_person=earlier.allowed_by_person and by_person,
        has_other_mode=earlier.has_other_mode or other_mode,
    )
