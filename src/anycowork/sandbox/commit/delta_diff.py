"""Shows a delta to people: one diff over all its files, control files first, and counts of added and removed lines.

It lists every changed path, and beyond some thousands folders with counts; control files and what looks like a secret have a line in any
case. For content without a line diff, it shows size, hash, first and last lines.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.path_class import is_control_name, is_git_control
from anycowork.domain.path_summary import FolderCount, folder_counts
from anycowork.domain.values import replace, value
from anycowork.domain.visible_text import UntrustedText, visible_line
from anycowork.sandbox.commit.delta import FILE, FOLDER, LINK, Delta, PathChange, PathState
from anycowork.sandbox.commit.delta_check import count_by_folder, is_named_always, named_always
from anycowork.workspace.diffs import EDGE_BYTES, LARGEST_DIFFED, LONGEST_DIFF, Diff, diff, summary
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

MOST_NAMED = 2_000  # paths without a line diff that are listed one by one


@value
class DeltaDiff:
    """`drawn` is how many of the changes have a line diff; the counts cover only those.

    `unseen` are control files whose new content is not shown as a whole; `undrawn_below` counts files of removed folders without a line diff.
    """

    text: str
    additions: int
    deletions: int
    drawn: int
    unseen: tuple[str, ...] = ()
    undrawn_below: int = 0


def delta_diff(delta: Delta, upper: Path, root: Jail, *, most_drawn: int | None = None) -> DeltaDiff:
    """Call it before the commit, while both sides are in place. `most_drawn` limits the line diffs, besides their length."""
    staged = Jail(str(upper))
    pieces: list[Diff] = []
    length, additions, deletions, drawn, drawn_below, undrawn_below = 0, 0, 0, 0, 0, 0
    named_changes = named_always(delta)
    always = {id(change) for change in named_changes}
    ordered = (
        [*named_changes, *(change for change in delta.changes if id(change) not in always)]
        if named_changes
        else delta.changes
    )
    for change in ordered[:most_drawn]:
        if length > LONGEST_DIFF:
            break
        piece, undrawn = _drawn(change, staged, root), 0
        if change.below:
            budget = None if most_drawn is None else most_drawn - drawn - 1 - drawn_below
            piece, undrawn = _with_removed_files(piece, change, root, most_drawn=budget, longest=LONGEST_DIFF - length)
            drawn_below += len(files_below(change)) - undrawn
        pieces.append(piece)
        length += len(piece.text)
        additions, deletions, drawn = additions + piece.additions, deletions + piece.deletions, drawn + 1
        undrawn_below += undrawn
    listed = _listed(ordered[drawn:], named_count=max(0, len(named_changes) - drawn))
    unseen = [change for change, piece in zip(ordered, pieces, strict=False) if not piece.is_whole]
    unseen += (change for change in named_changes[drawn:] if is_file(change.after))
    return DeltaDiff(
        "".join(piece.text for piece in pieces) + listed,
        additions,
        deletions,
        drawn,
        tuple(change.place.path for change in unseen if _is_control(change.place)),
        undrawn_below + sum(len(files_below(change)) for change in ordered[drawn:]),
    )


def files_below(change: PathChange) -> list[WorkspacePath]:
    """Returns what disappears with a removed folder, without the folders that hold it. An empty folder counts as a file."""
    folders = {path.parent.path for path in change.below}
    return [path for path in change.below if path.path not in folders]


def _is_control(path: WorkspacePath) -> bool:
    return is_control_name(path.parts) and not is_git_control(path.parts)


def _listed(changes: Sequence[PathChange], *, named_count: int) -> str:
    """Describes changes without a line diff: each by name, or very many by folder. The first `named_count` have a line in any case."""
    if len(changes) <= MOST_NAMED:
        return "".join(map(_named, changes))
    return "".join(map(_named, changes[:named_count])) + _by_folder(
        count_by_folder(changes[named_count:]), len(changes) - named_count
    )


def _by_folder(counts: Sequence[FolderCount], number: int) -> str:
    lines = [f"  {visible_line(UntrustedText(count.line()))}\n" for count in counts]
    return f"and {number:,} more, by folder:\n{''.join(lines)}"


def _with_removed_files(
    piece: Diff, change: PathChange, root: Jail, *, most_drawn: int | None, longest: int
) -> tuple[Diff, int]:
    """Adds the lines of the files that disappear with a folder, as far as the limits allow, and lists the others by name.

    Returns how many have no line diff, too. What may hold secrets, and what is not a small regular file, is listed only.
    """
    drawn: list[Diff] = []
    names: list[WorkspacePath] = []
    length = len(piece.text)
    for path in files_below(change):
        full = length > longest or (most_drawn is not None and len(drawn) >= most_drawn)
        removed = None if full or is_named_always(path) else _removed_file(root, path)
        if removed is None:
            names.append(path)
        else:
            drawn.append(removed)
            length += len(removed.text)
    listed = _names_below(names, "more files" if drawn else "files")
    return (
        Diff(
            f"{piece.text}{listed}{''.join(diff.text for diff in drawn)}",
            piece.additions,
            piece.deletions + sum(diff.deletions for diff in drawn),
            piece.is_whole,
        ),
        len(names),
    )


def _removed_file(root: Jail, path: WorkspacePath) -> Diff | None:
    status = root.stat(path)
    if status is None or not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_DIFFED:
        return None
    old = _read(root, path, LARGEST_DIFFED)
    return None if old is None else diff(old, None, _shown(path))


def _names_below(removed_paths: Sequence[WorkspacePath], noun: str = "files") -> str:
    """Lists what disappears with a removed folder."""
    if not removed_paths:
        return ""
    heading = f"with {len(removed_paths):,} {noun} in it:\n"
    if len(removed_paths) <= MOST_NAMED:
        return heading + "".join(f"  {_shown(path)}\n" for path in removed_paths)
    named_lines = "".join(f"  {_shown(path)}\n" for path in removed_paths if is_named_always(path))
    others = [(path.path, "deleted") for path in removed_paths if not is_named_always(path)]
    return heading + named_lines + _by_folder(folder_counts(others), len(others))


def content(jail: Jail, path: WorkspacePath, state: PathState | None) -> bytes | None:
    """Returns as much of the content as is compared; empty if it is not a regular file, or missing."""
    return None if state is None else _read(jail, path, LARGEST_DIFFED) or b""


def _drawn(change: PathChange, staged: Jail, root: Jail) -> Diff:
    before, after = change.before, change.after
    if is_file(before) and is_file(after) and before.mark == after.mark:
        return Diff(f"{_header(change)}mode {before.mode:o} → {after.mode:o}\n")
    if (before is None or is_file(before)) and (after is None or is_file(after)):
        return _files(change, staged, root)
    sides = f"{_describe(before, root, change.place)} → {_describe(after, staged, change.place)}\n"
    return Diff(f"{_header(change)}{sides}", is_whole=not is_file(after))


def _files(change: PathChange, staged: Jail, root: Jail) -> Diff:
    before, after = change.before, change.after
    modes = f"mode {before.mode:o} → {after.mode:o}\n" if before and after and before.mode != after.mode else ""
    if after is not None and before is None and after.mode & 0o111:
        modes = f"mode {after.mode:o}, a program\n"
    small = (before.size if before else 0) + (after.size if after else 0) <= LARGEST_DIFFED
    old = _read(root, change.place, LARGEST_DIFFED) if before and small else None
    new = _read(staged, change.place, LARGEST_DIFFED) if after and small else None
    if (before is None or old is not None) and (after is None or new is not None):
        line_diff = diff(old, new, _shown(change.place))
        header, _, remainder = line_diff.text.partition("\n")
        header_too, _, lines = remainder.partition("\n")
        return replace(line_diff, text=f"{header}\n{header_too}\n{modes}{lines}")
    reason = "could not be read" if small else "too large to be compared line by line"
    sides = [
        f"{name}:\n{_summary(jail, change.place, state)}" if state else f"{name}: nothing\n"
        for name, jail, state in (("before", root, before), ("after", staged, after))
    ]
    text = f"{_header(change)}{modes}{_describe(before)} → {_describe(after)}, {reason}\n{''.join(sides)}"
    return Diff(text, is_whole=after is None)


def _summary(jail: Jail, path: WorkspacePath, state: PathState) -> str:
    head = _read(jail, path, EDGE_BYTES)
    if head is None:
        return f"  {state.size:,} bytes, sha256 {state.mark}\n"
    tail = _read(jail, path, EDGE_BYTES, offset=max(0, state.size - EDGE_BYTES)) or b""
    return summary(state.size, state.mark, head, tail)


def _named(change: PathChange) -> str:
    """Describes a path beyond the limit of line diffs: its name and what identifies its content."""
    sides = " → ".join(
        f"{_describe(state)}{f', sha256 {state.mark}' if is_file(state) else ''}"
        for state in (change.before, change.after)
    )
    return f"{_header(change)}not drawn line by line: {sides}\n{_names_below(files_below(change))}"


def _header(change: PathChange) -> str:
    """Every part has its own header, so that no note seems to belong to the file before it."""
    path = _shown(change.place)
    old = "/dev/null" if change.before is None else f"a/{path}"
    new = "/dev/null" if change.after is None else f"b/{path}"
    return f"--- {old}\n+++ {new}\n"


def _read(jail: Jail, path: WorkspacePath, most: int, offset: int = 0) -> bytes | None:
    """Returns None if it is not a regular file, is missing, or may not be read."""
    try:
        with jail.regular_file(path) as (fd, status):
            return os.pread(fd, max(0, min(most, status.st_size - offset)), offset)
    except (ToolFault, OutsideWorkspace):
        return None


def _target(jail: Jail, path: WorkspacePath) -> str:
    try:
        with jail.folder(path.parent) as parent:
            target = os.readlink(path.name, dir_fd=parent)
    except (OSError, ToolFault, OutsideWorkspace):
        return "an unknown target"
    return f"'{visible_line(UntrustedText(os.fsencode(target).decode(errors='backslashreplace')))}'"


def is_file(state: PathState | None) -> TypeGuard[PathState]:
    return state is not None and state.kind == FILE


def _describe(state: PathState | None, jail: Jail | None = None, path: WorkspacePath | None = None) -> str:
    if state is None:
        return "nothing"
    if state.kind == LINK and jail is not None and path is not None:
        return f"symbolic link to {_target(jail, path)}"
    names = {FOLDER: "folder", LINK: "symbolic link"}
    return names.get(state.kind, f"file of {state.size:,} bytes")


def _shown(path: WorkspacePath) -> str:
    return visible_line(UntrustedText(path.path))
