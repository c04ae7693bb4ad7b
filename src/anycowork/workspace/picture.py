"""A delta as people see it: one diff over all its files, within bounds, and the lines it adds and takes away."""

import os
from pathlib import Path
from typing import TypeGuard

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.values import value
from anycowork.workspace.delta import FILE, FOLDER, LINK, Delta, PathChange, State
from anycowork.workspace.diffs import LARGEST_DIFFED, LONGEST_DIFF, diff
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import Place, shown

MOST_DRAWN = 200


@value
class Picture:
    """`drawn` is how many of the changed paths the text shows; the counts are of those alone."""

    text: str
    additions: int
    deletions: int
    drawn: int


def picture(delta: Delta, upper: Path, root: Jail) -> Picture:
    """Before the commit: both sides are still where they were."""
    staged = Jail(str(upper))
    text, additions, deletions, drawn = "", 0, 0, 0
    for change in delta.changes:
        if drawn >= MOST_DRAWN or len(text) > LONGEST_DIFF:
            text += f"… and {len(delta.changes) - drawn} more changed paths.\n"
            break
        piece, added, gone = _drawn(change, staged, root)
        text, additions, deletions, drawn = text + piece, additions + added, deletions + gone, drawn + 1
    return Picture(text, additions, deletions, drawn)


def content(jail: Jail, place: Place, state: State | None) -> bytes | None:
    """As much of it as is compared; empty where it is no regular file, or no longer there."""
    if state is None:
        return None
    try:
        with jail.regular_file(place) as (fd, _), os.fdopen(os.dup(fd), "rb") as file:
            return file.read(LARGEST_DIFFED)
    except (ToolFault, OutsideWorkspace):
        return b""


def _drawn(change: PathChange, staged: Jail, root: Jail) -> tuple[str, int, int]:
    path = shown(change.place.path)
    before, after = change.before, change.after
    if is_file(before) and is_file(after) and before.mark == after.mark:
        return f"mode of {path}: {before.mode:o} → {after.mode:o}\n", 0, 0
    if (before is None or is_file(before)) and (after is None or is_file(after)):
        if (before.size if before else 0) + (after.size if after else 0) > LARGEST_DIFFED:
            return f"{path}: {_said(before)} → {_said(after)}, too large to be compared line by line\n", 0, 0
        found = diff(content(root, change.place, before), content(staged, change.place, after), path)
        return found.text, found.additions, found.deletions
    below = f" with {len(change.below)} paths in it" if change.below else ""
    return f"{path}: {_said(before)} → {_said(after)}{below}\n", 0, 0


def is_file(state: State | None) -> TypeGuard[State]:
    return state is not None and state.kind == FILE


def _said(state: State | None) -> str:
    if state is None:
        return "nothing"
    names = {FOLDER: "folder", LINK: "symbolic link"}
    return names.get(state.kind, f"file of {state.size:,} bytes")
