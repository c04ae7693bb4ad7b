"""Decides whether a delta may be committed: by path class, by role, and by concurrent changes. Changes nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from itertools import groupby
from pathlib import Path

from anycowork.domain.path_class import (
    CHANGES_CONTROL_FILES,
    folder_looks_secret,
    folder_may_be_control,
    is_control_name,
    is_git_control,
    leads_to_control_file,
    looks_secret,
    name_looks_secret,
    name_may_be_control,
)
from anycowork.domain.path_summary import FolderCount, counts_of_folders
from anycowork.domain.roles import Permission
from anycowork.domain.values import value
from anycowork.sandbox.commit.delta import LINK, Delta, PathChange
from anycowork.sandbox.commit.git_changes import GitChanges
from anycowork.workspace.paths import WorkspacePath, shown

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

    kind: CommitBlockerKind
    paths: tuple[str, ...]
    message: str
    asks: str = ""


def find_blocker(
    delta: Delta,
    *,
    permissions: frozenset[Permission],
    whose: str = "This role",
    is_named: Callable[[str], bool],
    mounted_at: int,
    upper: Path,
    root: str,
) -> CommitBlocker | None:
    """Returns the first blocker, the most serious kind first. `is_named` tells whether an approved plan or a rule names this exact path.

    A person can overrule the last kind, `NEEDS_APPROVAL`; nobody can overrule the others.
    """
    in_git = GitChanges(delta, upper, root)
    return (
        _never(in_git)
        or _role(delta, permissions, whose)
        or _conflict(delta, mounted_at)
        or _needs_approval(delta, is_named)
        or _changes_git(in_git, is_named)
        or _loses_history(in_git, is_named)
    )


def may_change_nothing(permissions: frozenset[Permission]) -> bool:
    return not permissions & CHANGING


def _never(in_git: GitChanges) -> CommitBlocker | None:
    finding = in_git.never()
    if finding is None:
        return None
    message = (
        f"'{shown(finding.place.path)}' may not be changed by a command: {finding.reason}. "
        "Nothing that the command changed was kept."
    )
    return CommitBlocker(CommitBlockerKind.NEVER, (finding.place.path,), message)


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
    return CommitBlocker(CommitBlockerKind.CONFLICT, tuple(path.path for path in touched), message)


def _needs_approval(delta: Delta, is_named: Callable[[str], bool]) -> CommitBlocker | None:
    unapproved = [path for path in _control_files(delta) if not is_named(path.path)]
    if not unapproved:
        return None
    message = (
        f"{_list_paths(unapproved)}: such a file steers tools, editors or agents, and needs a person's word before a command changes it. "
        "None of the command's changes was kept. Change it with the tools for files, where a person is asked, "
        "or run the command as a step of an approved plan that names the file in its paths."
    )
    asks = f"{CHANGES_CONTROL_FILES}: {_list_paths(unapproved)}."
    return CommitBlocker(CommitBlockerKind.NEEDS_APPROVAL, tuple(path.path for path in unapproved), message, asks)


def _control_files(delta: Delta) -> Iterator[WorkspacePath]:
    """Yields control files, and links that would bring one in from elsewhere."""
    named_ids = {id(change) for change in named_always(delta)}
    for change in delta.changes:
        is_link = change.after is not None and change.after.kind == LINK
        if not (is_link or change.below or id(change) in named_ids):
            continue
        for path in (change.place, *change.below):
            leads = is_link and path is change.place and leads_to_control_file(path.parts)
            if (leads or is_control_name(path.parts)) and not is_git_control(path.parts):
                yield path


def _changes_git(in_git: GitChanges, is_named: Callable[[str], bool]) -> CommitBlocker | None:
    unapproved = [finding for finding in in_git.asked() if not is_named(finding.place.path)]
    if not unapproved:
        return None
    listed = _list_paths(finding.place for finding in unapproved)
    reason = unapproved[0].reason
    message = (
        f"{listed}: {reason}, so a person must allow the change. None of the command's changes was kept. "
        "Let a person do this with git, outside of a command."
    )
    return CommitBlocker(
        CommitBlockerKind.NEEDS_APPROVAL,
        tuple(finding.place.path for finding in unapproved),
        message,
        f"It changed {listed}: {reason}.",
    )


def _loses_history(in_git: GitChanges, is_named: Callable[[str], bool]) -> CommitBlocker | None:
    """Restoring does not touch git's files, so commits that git has stored cannot be brought back."""
    lost = [path for path in in_git.stored() if not is_named(path.path)]
    if not lost:
        return None
    message = (
        f"{_list_paths(lost)}: there git keeps commits, and no undo brings them back, so removing or changing them needs a person's word. "
        "None of the command's changes was kept. Leave tidying up to a person ('git gc')."
    )
    asks = f"It removed or changed commits that git keeps, which no undo brings back: {_list_paths(lost)}."
    return CommitBlocker(CommitBlockerKind.NEEDS_APPROVAL, tuple(path.path for path in lost), message, asks)


def _needed(change: PathChange) -> frozenset[Permission]:
    return frozenset({_NEEDED[change.verb], *([Permission.DELETE_FILES] if change.below else [])})


def _list_paths(paths: Iterable[WorkspacePath]) -> str:
    quoted = [f"'{shown(path.path)}'" for path in paths]
    more = len(quoted) - _MOST_NAMED
    return ", ".join(quoted[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def is_named_always(path: WorkspacePath) -> bool:
    return is_control_name(path.parts) or looks_secret(path.path)


def named_always(delta: Delta) -> list[PathChange]:
    """Several steps of a commit ask, so the answer is remembered with the delta."""
    if delta.named_changes is None or delta.named_changes[0] is not delta.changes:
        delta.named_changes = (delta.changes, _named_in(delta.changes))
    return delta.named_changes[1]


def _named_in(changes: Iterable[PathChange]) -> list[PathChange]:
    """Thousands of files lie in far fewer folders, and a folder's own parts are looked at once."""
    named_changes: list[PathChange] = []
    last: list[str] | None = None
    may_be_in = False
    for change in changes:
        *above, name = change.place.parts
        if above != last:
            last = above
            may_be_in = folder_may_be_control(tuple(above)) or (bool(above) and folder_looks_secret("/".join(above)))
        if (may_be_in or name_may_be_control(name) or name_looks_secret(name)) and is_named_always(change.place):
            named_changes.append(change)
    return named_changes


def count_by_folder(changes: Iterable[PathChange]) -> list[FolderCount]:
    """Changes in one folder stand together: they are counted before their folder is looked up."""
    counted: Counter[tuple[tuple[str, ...], str]] = Counter()
    for (above, verb), alike in groupby((change.place.parts[:-1], change.verb) for change in changes):
        counted[above, verb] += sum(1 for _ in alike)
    return counts_of_folders(counted)
