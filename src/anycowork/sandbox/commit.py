"""Commits a command's changes: seals them first, then, after the caller has recorded them, renames them into the workspace one by one.

The manifest records each path's state before and after, so that the same walk finishes an interrupted commit: a path in its final state is
skipped, one in its old state is changed, and any other state is somebody else's change and stays.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from anycowork.domain.errors import FileMissing, OutsideWorkspace, ToolFault
from anycowork.domain.tools import PathIntent
from anycowork.sandbox import entries
from anycowork.sandbox.delta import FILE, FOLDER, LINK, Delta, PathChange, State, mark_of, tree_mark
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.syscalls import sync_file_system

_FEW = 32  # up to this number each file and folder is synced; beyond it, the whole file system once
_TREE = "tree:"


class NothingMade(OSError):
    """The disk refused before anything of a commit was moved."""


@dataclass(slots=True)
class Applied:
    """`conflicts` are paths in neither their old nor their final state; they were left alone."""

    done: int = 0
    conflicts: list[str] = field(default_factory=list)


def manifest(delta: Delta) -> tuple[PathIntent, ...]:
    """Returns each path's state before and after, to be recorded before anything moves."""
    return tuple(_intent(change) for change in delta.changes)


def seal(upper: Path, delta: Delta) -> None:
    """Makes everything in the upper layer durable. Raises: OSError."""
    jail = Jail(str(upper))
    new = [change.place for change in delta.changes if change.after is not None]
    if len(new) > _FEW:
        with entries.opened(upper) as fd:
            sync_file_system(fd)
        return
    for change in delta.changes:
        if change.after is not None and change.after.kind == FILE:
            with jail.regular_file(change.place) as (fd, _found):
                os.fsync(fd)
    for parent in {WorkspacePath(place.parts[:depth]) for place in new for depth in range(len(place.parts))}:
        with jail.folder(parent, flags=os.O_RDONLY) as fd:
            os.fsync(fd)


def apply(
    stage: Path, jail: Jail, intents: Iterable[PathIntent], *, seen: Mapping[str, State] | None = None
) -> Applied:
    """Moves the staged changes into place. `seen` are the states that the changes were checked against, where still known.

    Raises: NothingMade if the disk has no space, OSError if it refuses later: calling it again finishes the rest.
    """
    return _Committer(stage, jail, dict(seen or {})).run(list(intents))


class _Committer:
    def __init__(self, stage: Path, jail: Jail, seen: dict[str, State]) -> None:
        self._id = stage.name
        self._jail = jail
        # Missing if the commit was complete and only its result was lost: then there is nothing left to move.
        self._upper = Jail(str(stage / "upper")) if (stage / "upper").is_dir() else None
        self._seen = seen
        self._outcome = Applied()
        self._touched: set[WorkspacePath] = set()
        self._number = 0
        self._carried: dict[str, str] = {}
        self._carrier = -1

    def run(self, intents: list[PathIntent]) -> Applied:
        gone = [item for item in intents if item.after is None]
        folders = [item for item in intents if item.after == FOLDER]
        others = [item for item in intents if item.after not in (None, FOLDER)]
        with self._copied_ahead(others):
            for item in [*gone, *folders, *others]:
                self._number += 1
                self._make(item)
        for item in reversed(folders):
            self._set_folder_mode(item)
        self._sync()
        return self._outcome

    @contextmanager
    def _copied_ahead(self, items: list[PathIntent]) -> Iterator[None]:
        """For another file system, copies everything before anything moves: if the disk fills up, the workspace stays as it was."""
        name = f".anycowork-{self._id}-carried.tmp"
        with self._jail.folder(WorkspacePath(()), flags=os.O_RDONLY) as root:
            if self._upper is None or not self._can_copy_ahead(name, root, self._upper):
                yield
                return
            try:
                with entries.opened(name, root) as self._carrier:
                    for item in items:
                        self._copy_ahead(item, self._upper)
                    yield
            finally:
                self._carried = {}
                entries.remove(name, root)

    def _can_copy_ahead(self, name: str, root: int, upper: Jail) -> bool:
        """Returns False if the workspace's folder is not writable: then each file is copied in its turn."""
        if not lies_elsewhere(upper.root, self._jail.root):
            return False
        try:
            entries.remove(name, root)  # from an interrupted commit
            os.mkdir(name, 0o700, dir_fd=root)
        except PermissionError:
            return False
        except OSError as error:
            raise NothingMade(error.errno, error.strerror) from None
        return True

    def _copy_ahead(self, item: PathIntent, upper: Jail) -> None:
        place = WorkspacePath(tuple(item.path.split("/")))
        number = str(len(self._carried))
        try:
            with upper.folder(place.parent, flags=os.O_RDONLY) as staged:
                entries.prepare(place.name, staged, item)
                entries.copy(place.name, staged, number, self._carrier, item)
        except (FileNotFoundError, ToolFault):
            return  # no longer staged
        except OSError as error:
            raise NothingMade(error.errno, error.strerror) from None
        self._carried[item.path] = number

    def _make(self, item: PathIntent) -> None:
        place = WorkspacePath(tuple(item.path.split("/")))
        try:
            with self._jail.folder(place.parent, flags=os.O_RDONLY) as parent:
                done = self._one(item, place, parent)
        except FileMissing:
            done = item.after is None
        except (ToolFault, OutsideWorkspace):  # a link or a file is now on the way
            done = False
        if done:
            self._outcome.done += 1
            self._touched.add(place.parent)
        else:
            self._outcome.conflicts.append(item.path)

    def _one(self, item: PathIntent, place: WorkspacePath, parent: int) -> bool:
        """Returns whether the path is now in its final state."""
        temporary = f".anycowork-{self._id}-{self._number}.tmp"
        entries.remove(temporary, parent)  # from an interrupted commit
        now = entries.look(place.name, parent)
        if self._is_final(item, place.name, parent, now):
            return True
        if not self._is_unchanged(item, place, parent, now):
            return False
        if now is not None and (item.after is None or _changes_kind(item)):
            entries.remove_atomically(place.name, parent, temporary)
            now = None
        if item.after is None:
            return True
        if item.after == FOLDER:
            return self._make_folder(place, parent, now)
        return self._put(item, place, parent, temporary, replacing=now is not None)

    def _is_final(self, item: PathIntent, name: str, parent: int, now: os.stat_result | None) -> bool:
        if now is None or item.after is None:
            return now is None and item.after is None
        if item.after == FOLDER:
            return stat.S_ISDIR(now.st_mode)
        if item.kind != LINK and stat.S_IMODE(now.st_mode) != item.mode:
            return False
        if item.path in self._seen and self._seen[item.path].inode == now.st_ino:
            return False  # still the same file that was checked before
        return _mark(name, parent, now) == item.after

    def _is_unchanged(self, item: PathIntent, place: WorkspacePath, parent: int, now: os.stat_result | None) -> bool:
        if now is None:
            return item.before is None or _changes_kind(item)
        if item.before is None:
            return False
        known = self._seen.get(item.path)
        if known is not None and (known.inode, known.ctime) == (now.st_ino, now.st_ctime_ns):
            return True
        if item.before.startswith(_TREE):
            return stat.S_ISDIR(now.st_mode) and item.before == _TREE + tree_mark(place.name, parent)
        return _mark(place.name, parent, now) == item.before

    def _make_folder(self, place: WorkspacePath, parent: int, now: os.stat_result | None) -> bool:
        if now is not None:
            return stat.S_ISDIR(now.st_mode)
        if self._upper is None:
            return False
        os.mkdir(place.name, 0o700, dir_fd=parent)
        with self._upper.folder(place) as staged:
            entries.give_like(os.fstat(staged), place.name, parent)
        return True

    def _put(self, item: PathIntent, place: WorkspacePath, parent: int, temporary: str, *, replacing: bool) -> bool:
        if self._upper is None:
            return False
        try:
            if item.path in self._carried and self._moved_in(item, place, parent, replacing=replacing):
                return True
            with self._upper.folder(place.parent, flags=os.O_RDONLY) as staged:
                entries.prepare(place.name, staged, item)
                try:
                    entries.rename(place.name, staged, place.name, parent, replacing=replacing)
                except OSError as error:
                    if error.errno != errno.EXDEV:
                        raise
                    entries.copy_over(place.name, staged, temporary, parent, item, replacing=replacing)
        except (FileNotFoundError, FileExistsError, ToolFault):
            return False  # no longer staged, or somebody else created it first
        return True

    def _moved_in(self, item: PathIntent, place: WorkspacePath, parent: int, *, replacing: bool) -> bool:
        """Returns False if that folder of the workspace is a separate mount."""
        try:
            entries.rename(self._carried[item.path], self._carrier, place.name, parent, replacing=replacing)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return False
        return True

    def _set_folder_mode(self, item: PathIntent) -> None:
        place = WorkspacePath(tuple(item.path.split("/")))
        try:
            with self._jail.folder(place, flags=os.O_RDONLY) as fd:
                if item.mode is not None and stat.S_IMODE(os.fstat(fd).st_mode) != item.mode:
                    os.fchmod(fd, item.mode)
                self._touched.add(place)
        except (ToolFault, OutsideWorkspace):
            pass  # already reported where it was created

    def _sync(self) -> None:
        if len(self._touched) > _FEW:
            with self._jail.folder(WorkspacePath(()), flags=os.O_RDONLY) as fd:
                sync_file_system(fd)
            return
        for place in self._touched:
            try:
                with self._jail.folder(place, flags=os.O_RDONLY) as fd:
                    os.fsync(fd)
            except (ToolFault, OutsideWorkspace):
                continue  # removed by a later step


def lies_elsewhere(staged: str | Path, root: str | Path) -> bool:
    """Tells whether a file cannot be renamed from one folder into the other. The kernel reports that before it looks for the file."""
    nothing = f".anycowork-{os.urandom(8).hex()}"
    try:
        Path(staged, nothing).rename(Path(root, nothing))
    except OSError as error:
        return error.errno == errno.EXDEV
    return False


# --- the manifest


def _intent(change: PathChange) -> PathIntent:
    told = change.after or change.before
    assert told is not None  # a change has at least one side
    return PathIntent(
        path=change.place.path,
        before=_told(change.before, tree=change.after is None or change.after.kind != FOLDER),
        after=_told(change.after, tree=False),
        kind=told.kind,
        mode=change.after.mode if change.after else None,
    )


def _told(state: State | None, *, tree: bool) -> str | None:
    if state is None:
        return None
    if state.kind == FOLDER:
        return _TREE + state.mark if tree else FOLDER
    return f"link:{state.mark}" if state.kind == LINK else state.mark


def _changes_kind(item: PathIntent) -> bool:
    """Tells whether a folder replaces a file, or the reverse: then the old entry must be removed first."""
    if item.before is None or item.after is None:
        return False
    return (item.after == FOLDER) != (item.before == FOLDER or item.before.startswith(_TREE))


def _mark(name: str, parent: int, now: os.stat_result) -> str:
    if stat.S_ISDIR(now.st_mode):
        return FOLDER
    if stat.S_ISLNK(now.st_mode):
        return f"link:{mark_of(name, parent, now)}"
    return mark_of(name, parent, now) if stat.S_ISREG(now.st_mode) else "other"
