"""What a command changed: each path with its state before and after, and the manifest of a commit. Values; `delta_scan.py` finds them."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from hashlib import sha256

from anycowork.domain.errors import ToolFault
from anycowork.domain.snapshots import ReplacedFile
from anycowork.domain.tools import PathIntent
from anycowork.domain.values import leaf_value, mutable_value
from anycowork.workspace.paths import WorkspacePath

FILE, FOLDER, LINK = "file", "folder", "link"
TREE = "tree:"


class UnusableDelta(ToolFault):
    """The changes cannot be inspected or recorded exactly, so none of them is made."""

    code = "changes_dropped"


@leaf_value
class PathState:
    """The current state of one path.

    `mark` identifies its content: a file's hash, a link's target, a tree's listing (before its removal). `plain`: a staged entry has the
    mode that it shall have, and no attribute that a commit removes.
    """

    kind: str
    mode: int
    size: int = 0
    mark: str = ""
    inode: int = 0
    ctime: int = 0
    links: int = 1
    plain: bool = False
    mtime: int = 0


@leaf_value
class PathChange:
    """`below` are the paths that disappear with a removed or replaced folder; `newest` is the latest ctime that decides about a conflict."""

    place: WorkspacePath
    before: PathState | None
    after: PathState | None
    below: tuple[WorkspacePath, ...] = ()
    newest: int = 0

    @property
    def verb(self) -> str:
        if self.before is None:
            return "created"
        return "deleted" if self.after is None else "modified"


LARGEST_REMEMBERED = 1 << 16  # bytes of one file
MOST_REMEMBERED = 64 << 20  # bytes of all; what does not fit is read again
_EMPTY = sha256()
# ns, more than the step of a file system's clock: a younger file may change without a new time.
_CLOCK_STEP = 50_000_000


class ReplacedFiles:
    """Of one scan. Files that changed within the last 50 ms before it are not remembered: their times cannot tell a later change."""

    def __init__(self) -> None:
        self._files: dict[str, ReplacedFile] = {}
        self._left = MOST_REMEMBERED
        self._newest = time.time_ns() - _CLOCK_STEP

    @property
    def files(self) -> Mapping[str, ReplacedFile]:
        return self._files

    def add(self, path: str, status: os.stat_result, digest: str, content: bytes | None) -> None:
        """`content` is None if it was not read whole."""
        if content is None or status.st_ctime_ns >= self._newest or len(content) > self._left:
            return
        self._left -= len(content)
        self._files[path] = ReplacedFile(digest, content, status.st_mode & 0o7777, status.st_mtime_ns)


def read_small(fd: int, size: int) -> tuple[str, bytes] | None:
    """Returns hash and content of a small file; None if it is large, or no longer has its `size`. Raises: OSError."""
    if size >= LARGEST_REMEMBERED:
        return None
    content = os.pread(fd, size + 1, 0)
    if len(content) != size:
        return None
    return hash_of_bytes(content), content


def hash_of_bytes(content: bytes) -> str:
    digest = _EMPTY.copy()  # cheaper than a new one
    digest.update(content)
    return digest.hexdigest()


@mutable_value
class Delta:
    """Folders come before their content. `skipped` are pipes, sockets and devices; `split` had other names (hard links) and lose them.

    `replaced` are contents of the workspace's files that the scan has read anyway. `delta_check.py` caches in `named_changes` what it found.
    """

    changes: list[PathChange] = field(default_factory=list)
    skipped: list[WorkspacePath] = field(default_factory=list)
    split: list[WorkspacePath] = field(default_factory=list)
    replaced: ReplacedFiles = field(default_factory=ReplacedFiles)
    named_changes: tuple[list[PathChange], list[PathChange]] | None = None

    def __bool__(self) -> bool:
        return bool(self.changes)

    def paths(self) -> Iterator[WorkspacePath]:
        """Yields every path that would differ afterwards, including those in removed folders."""
        for change in self.changes:
            yield change.place
            yield from change.below


def manifest(delta: Delta) -> tuple[PathIntent, ...]:
    """Returns each path's state before and after; folders come before their content."""
    return tuple([_intent(change) for change in delta.changes])


def changes_kind(item: PathIntent) -> bool:
    """Tells whether a folder replaces a file, or the reverse: then the old entry must be removed first."""
    if item.before is None or item.after is None:
        return False
    return (item.after == FOLDER) != (item.before == FOLDER or item.before.startswith(TREE))


def new_folders(intents: Iterable[PathIntent]) -> list[list[PathIntent]]:
    """Returns the folders that were not there before, each with everything in it. A new folder in another one is part of that one."""
    folders: list[list[PathIntent]] = []
    inside = "/"  # no path starts with it
    for item in intents:
        if item.path.startswith(inside):
            folders[-1].append(item)
        elif item.before is None and item.after == FOLDER:
            folders.append([item])
            inside = f"{item.path}/"
    return folders


def _intent(change: PathChange) -> PathIntent:
    before, after = change.before, change.after
    if before is not None and after is not None and before.kind == after.kind == FILE:  # of these there are thousands
        return PathIntent(change.place.path, before.mark, after.mark, FILE, after.mode)
    either = after or before
    assert either is not None  # a change has at least one side
    return PathIntent(
        path=change.place.path,
        before=_state_text(before, tree=after is None or after.kind != FOLDER),
        after=_state_text(after, tree=False),
        kind=either.kind,
        mode=after.mode if after else None,
    )


def _state_text(state: PathState | None, *, tree: bool) -> str | None:
    if state is None:
        return None
    if state.kind == FOLDER:
        return TREE + state.mark if tree else FOLDER
    return f"link:{state.mark}" if state.kind == LINK else state.mark
