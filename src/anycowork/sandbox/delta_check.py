"""Decides whether a delta may be committed: by path class, by role, and by concurrent changes. Changes nothing."""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path

from anycowork.domain.control_files import is_control_name, leads_to_control_file
from anycowork.domain.roles import Permission
from anycowork.domain.values import value
from anycowork.sandbox.delta import LINK, Delta, PathChange
from anycowork.sandbox.git_changes import GitChanges
from anycowork.sandbox.named_changes import named_always
from anycowork.workspace.paths import WorkspacePath, is_git_control, shown

_NEEDED = {
    "created": Permission.CREATE_FILES,
    "modified": Permission.WRITE_FILES,
    "deleted": Permission.DELETE_FILES,
}
CHANGING = frozenset(_NEEDED.values())
_MOST_NAMED = 10


class CommitBlockerKind(StrEnum):
    NEVER = "never_path"
    ROLE = "forbidden_by_role"
    CONFLICT = "conflict"
    NEEDS_APPROVAL = "needs_a_persons_word"


@value
class CommitBlocker:
    """Why nothing of the delta is committed; `message` names the paths, the reason and the way out.

    `asks` is the text for the person who could overrule it.
    """

    why: CommitBlockerKind
    paths: tuple[str, ...]
    message: str
    asks: str = ""


def find_blocker(
    delta: Delta,
    *,
    permissions: frozenset[Permission],
    whose: str = "This role",
    named: Callable[[str], bool],
    mounted_at: int,
    upper: Path,
    root: str,
) -> CommitBlocker | None:
    """Returns the first blocker, the most serious kind first. `named` tells whether an approved plan or a rule names this exact path.

    A person can overrule the last kind, `NEEDS_APPROVAL`; nobody can overrule the others.
    """
    in_git = GitChanges(delta, upper, root)
    return (
        _never(in_git)
        or _role(delta, permissions, whose)
        or _conflict(delta, mounted_at)
        or _needs_approval(delta, named)
        or _changes_git(in_git, named)
        or _loses_history(in_git, named)
    )


def may_change_nothing(permissions: frozenset[Permission]) -> bool:
    return not permissions & CHANGING


def _never(in_git: GitChanges) -> CommitBlocker | None:
    found = in_git.never()
    if found is None:
        return None
    message = (
        f"'{shown(found.place.path)}' may not be changed by a command: {found.reason}. "
        "Nothing that the command changed was kept."
    )
    return CommitBlocker(CommitBlockerKind.NEVER, (found.place.path,), message)


def _role(delta: Delta, permissions: frozenset[Permission], whose: str) -> CommitBlocker | None:
    if permissions >= CHANGING:
        return None
    lacking = [change for change in delta.changes if not _needed(change) <= permissions]
    if not lacking:
        return None
    first = lacking[0]
    missing = ", ".join(sorted(_needed(first) - permissions))
    listed = _list_paths([change.place for change in lacking])
    message = (
        f"{whose} lacks {missing}, so the command's changes were dropped, all of them ({first.verb}: {listed}). "
        "Switch to a role that may, or let the command do without."
    )
    return CommitBlocker(CommitBlockerKind.ROLE, tuple(change.place.path for change in lacking), message)


def _conflict(delta: Delta, mounted_at: int) -> CommitBlocker | None:
    touched = [change.place for change in delta.changes if change.newest >= mounted_at]
    if not touched:
        return None
    message = (
        f"While the command ran, somebody else changed what it changed too: {_list_paths(touched)}. Nothing was overwritten: "
        "none of the command's changes was made. Look at the files and run it again."
    )
    return CommitBlocker(CommitBlockerKind.CONFLICT, tuple(place.path for place in touched), message)


def _needs_approval(delta: Delta, named: Callable[[str], bool]) -> CommitBlocker | None:
    asked = [place for place in _control_files(delta) if not named(place.path)]
    if not asked:
        return None
    message = (
        f"{_list_paths(asked)}: such a file steers tools, editors or agents, and needs a person's word before a command changes it. "
        "None of the command's changes was kept. Change it with the tools for files, where a person is asked, "
        "or run the command as a step of an approved plan that names the file in its paths."
    )
    asks = f"It changed what steers tools, editors or agents: {_list_paths(asked)}."
    return CommitBlocker(CommitBlockerKind.NEEDS_APPROVAL, tuple(place.path for place in asked), message, asks)


def _control_files(delta: Delta) -> Iterator[WorkspacePath]:
    """Yields control files, and links that would bring one in from elsewhere."""
    named = {id(change) for change in named_always(delta)}
    for change in delta.changes:
        is_link = change.after is not None and change.after.kind == LINK
        if not (is_link or change.below or id(change) in named):
            continue
        for place in (change.place, *change.below):
            leads = is_link and place is change.place and leads_to_control_file(place.parts)
            if (leads or is_control_name(place.parts)) and not is_git_control(place.parts):
                yield place


def _changes_git(in_git: GitChanges, named: Callable[[str], bool]) -> CommitBlocker | None:
    asked = [found for found in in_git.asked() if not named(found.place.path)]
    if not asked:
        return None
    listed = _list_paths(found.place for found in asked)
    reason = asked[0].reason
    message = (
        f"{listed}: {reason}, so a person must allow the change. None of the command's changes was kept. "
        "Let a person do this with git, outside of a command."
    )
    return CommitBlocker(
        CommitBlockerKind.NEEDS_APPROVAL,
        tuple(found.place.path for found in asked),
        message,
        f"It changed {listed}: {reason}.",
    )


def _loses_history(in_git: GitChanges, named: Callable[[str], bool]) -> CommitBlocker | None:
    """Restoring does not touch git's files, so commits that git has stored cannot be brought back."""
    lost = [place for place in in_git.stored() if not named(place.path)]
    if not lost:
        return None
    message = (
        f"{_list_paths(lost)}: there git keeps commits, and no undo brings them back, so removing or changing them needs a person's word. "
        "None of the command's changes was kept. Leave tidying up to a person ('git gc')."
    )
    asks = f"It removed or changed commits that git keeps, which no undo brings back: {_list_paths(lost)}."
    return CommitBlocker(CommitBlockerKind.NEEDS_APPROVAL, tuple(place.path for place in lost), message, asks)


def _needed(change: PathChange) -> frozenset[Permission]:
    return frozenset({_NEEDED[change.verb], *([Permission.DELETE_FILES] if change.below else [])})


def _list_paths(places: Iterable[WorkspacePath]) -> str:
    paths = [f"'{shown(place.path)}'" for place in places]
    more = len(paths) - _MOST_NAMED
    return ", ".join(paths[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
