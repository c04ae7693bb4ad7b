"""What the calls of a turn did to each path. Pure."""

from collections.abc import Sequence

from anycowork.domain.tools import Call, CallState, CallStatus, PathIntent
from anycowork.domain.values import replace, value


@value
class TurnChange:
    """What a turn did to one path: the hash before its first change and after its last one, and whether a person allowed each change."""

    path: str
    before: str | None
    after: str | None
    allowed_by_person: bool

    @property
    def is_net(self) -> bool:
        return self.before != self.after


def made_changes(call: Call) -> bool:
    """Whether the call changed files. A command that failed may have changed some."""
    if call.state is not CallState.SETTLED or call.result is None or call.intent is None or not call.intent.paths:
        return False
    return call.result.status is CallStatus.OK or bool(call.result.facts.get("changed"))


def path_changes(calls: Sequence[Call]) -> list[TurnChange]:
    """Return what the calls did to each path, in the order of the first change."""
    changes: dict[str, TurnChange] = {}
    for call in calls:
        if not made_changes(call) or call.intent is None:
            continue
        by_person = str(call.result.facts.get("allowed_by", "")).startswith("approval:") if call.result else False
        for item in call.intent.paths:
            changes[item.path] = _joined(changes.get(item.path), item, by_person=by_person)
    return list(changes.values())


def _joined(earlier: TurnChange | None, item: PathIntent, *, by_person: bool) -> TurnChange:
    if earlier is None:
        return TurnChange(item.path, item.before, item.after, by_person)
    return replace(earlier, after=item.after, allowed_by_person=earlier.allowed_by_person and by_person)
