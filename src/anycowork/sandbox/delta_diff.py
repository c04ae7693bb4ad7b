"""Shows a delta to people: one diff over all its files, control files first, and counts of added and removed lines.

It lists every changed path, and beyond some thousands folders with counts; control files and what looks like a secret have a line in any
case. For content without a line diff, it shows size, hash, first and last lines.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.path_summary import FolderCount, folder_counts
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible_line
from anycowork.sandbox.delta import FILE, FOLDER, LINK, Delta, PathChange, PathState
from anycowork.sandbox.named_changes import count_by_folder, is_named_always, named_always
from anycowork.workspace.content_summary import EDGE_BYTES, summary
from anycowork.workspace.diffs import LARGEST_DIFFED, LONGEST_DIFF, diff
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

MOST_NAMED = 2_000  # paths without a line diff that are listed one by one


@value
class DeltaDiff:
    """`drawn` is how many of the changed paths have a line diff; the counts cover only those."""

    text: str
    additions: int
    deletions: int
    drawn: int


def delta_diff(delta: Delta, upper: Path, root: Jail, *, most_drawn: int | None = None) -> DeltaDiff:
    """Call it before the commit, while both sides are in place. `most_drawn` limits the line diffs, besides their length."""
    staged = Jail(str(upper))
    pieces: list[str] = []
    length, additions, deletions, drawn = 0, 0, 0, 0
    named = named_always(delta)
    always = {id(change) for change in named}
    ordered = [*named, *(change for change in delta.changes if id(change) not in always)] if named else delta.changes
    for change in ordered[:most_drawn]:
        if length > LONGEST_DIFF:
            break
        piece, added, gone = _drawn(change, staged, root)
        pieces.append(piece)
        length += len(piece)
        additions, deletions, drawn = additions + added, deletions + gone, drawn + 1
    listed = _listed(ordered[drawn:], named=max(0, len(named) - drawn))
    return DeltaDiff("".join(pieces) + listed, additions, deletions, drawn)


def _listed(changes: Sequence[PathChange], *, named: int) -> str:
    """Describes changes without a line diff: each by name, or very many by folder. The first `named` have a line in any case."""
    if len(changes) <= MOST_NAMED:
        return "".join(map(_named, changes))
    return "".join(map(_named, changes[:named])) + _by_folder(count_by_folder(changes[named:]), len(changes) - named)


def _by_folder(counts: Sequence[FolderCount], number: int) -> str:
    lines = [f"  {visible_line(UntrustedText(count.line()))}\n" for count in counts]
    return f"and {number:,} more, by folder:\n{''.join(lines)}"


def _names_below(change: PathChange) -> str:
    """Lists what disappears with a removed folder."""
    if len(change.below) <= MOST_NAMED:
        return "".join(f"  {_shown(place)}\n" for place in change.below)
    named = "".join(f"  {_shown(place)}\n" for place in change.below if is_named_always(place))
    others = [(place.path, "deleted") for place in change.below if not is_named_always(place)]
    return named + _by_folder(folder_counts(others), len(others))


def content(jail: Jail, place: WorkspacePath, state: PathState | None) -> bytes | None:
    """Returns as much of the content as is compared; empty if it is not a regular file, or missing."""
    return None if state is None else _read(jail, place, LARGEST_DIFFED) or b""


def _drawn(change: PathChange, staged: Jail, root: Jail) -> tuple[str, int, int]:
    before, after = change.before, change.after
    if is_file(before) and is_file(after) and before.mark == after.mark:
        return f"{_header(change)}mode {before.mode:o} → {after.mode:o}\n", 0, 0
    if (before is None or is_file(before)) and (after is None or is_file(after)):
        return _files(change, staged, root)
    sides = f"{_describe(before, root, change.place)} → {_describe(after, staged, change.place)}\n"
    below = _names_below(change)
    return (
        f"{_header(change)}{sides}{f'with {len(change.below)} paths in it:' + chr(10) + below if below else ''}",
        0,
        0,
    )


def _files(change: PathChange, staged: Jail, root: Jail) -> tuple[str, int, int]:
    before, after = change.before, change.after
    modes = f"mode {before.mode:o} → {after.mode:o}\n" if before and after and before.mode != after.mode else ""
    if after is not None and before is None and after.mode & 0o111:
        modes = f"mode {after.mode:o}, a program\n"
    small = (before.size if before else 0) + (after.size if after else 0) <= LARGEST_DIFFED
    old = _read(root, change.place, LARGEST_DIFFED) if before and small else None
    new = _read(staged, change.place, LARGEST_DIFFED) if after and small else None
    if (before is None or old is not None) and (after is None or new is not None):
        found = diff(old, new, _shown(change.place))
        header, _, rest = found.text.partition("\n")
        header_too, _, lines = rest.partition("\n")
        return f"{header}\n{header_too}\n{modes}{lines}", found.additions, found.deletions
    why = "could not be read" if small else "too large to be compared line by line"
    sides = [
        f"{name}:\n{_summary(jail, change.place, state)}" if state else f"{name}: nothing\n"
        for name, jail, state in (("before", root, before), ("after", staged, after))
    ]
    return f"{_header(change)}{modes}{_describe(before)} → {_describe(after)}, {why}\n{''.join(sides)}", 0, 0


def _summary(jail: Jail, place: WorkspacePath, state: PathState) -> str:
    head = _read(jail, place, EDGE_BYTES)
    if head is None:
        return f"  {state.size:,} bytes, sha256 {state.mark}\n"
    tail = _read(jail, place, EDGE_BYTES, at=max(0, state.size - EDGE_BYTES)) or b""
    return summary(state.size, state.mark, head, tail)


def _named(change: PathChange) -> str:
    """Describes a path beyond the limit of line diffs: its name and what identifies its content."""
    sides = " → ".join(
        f"{_describe(state)}{f', sha256 {state.mark}' if is_file(state) else ''}"
        for state in (change.before, change.after)
    )
    below = _names_below(change)
    return f"{_header(change)}not drawn line by line: {sides}\n{below}"


def _header(change: PathChange) -> str:
    """Every part has its own header, so that no note seems to belong to the file before it."""
    path = _shown(change.place)
    old = "/dev/null" if change.before is None else f"a/{path}"
    new = "/dev/null" if change.after is None else f"b/{path}"
    return f"--- {old}\n+++ {new}\n"


def _read(jail: Jail, place: WorkspacePath, most: int, at: int = 0) -> bytes | None:
    """Returns None if it is not a regular file, is missing, or may not be read."""
    try:
        with jail.regular_file(place) as (fd, found):
            return os.pread(fd, max(0, min(most, found.st_size - at)), at)
    except (ToolFault, OutsideWorkspace):
        return None


def _target(jail: Jail, place: WorkspacePath) -> str:
    try:
        with jail.folder(place.parent) as parent:
            found = os.readlink(place.name, dir_fd=parent)
    except (OSError, ToolFault, OutsideWorkspace):
        return "an unknown target"
    return f"'{visible_line(UntrustedText(os.fsencode(found).decode(errors='backslashreplace')))}'"


def is_file(state: PathState | None) -> TypeGuard[PathState]:
    return state is not None and state.kind == FILE


def _describe(state: PathState | None, jail: Jail | None = None, place: WorkspacePath | None = None) -> str:
    if state is None:
        return "nothing"
    if state.kind == LINK and jail is not None and place is not None:
        return f"symbolic link to {_target(jail, place)}"
    names = {FOLDER: "folder", LINK: "symbolic link"}
    return names.get(state.kind, f"file of {state.size:,} bytes")


def _shown(place: WorkspacePath) -> str:
    return visible_line(UntrustedText(place.path))
