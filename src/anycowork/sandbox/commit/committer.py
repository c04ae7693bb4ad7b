"""Commits a command's changes: renames them into the workspace, after the caller has sealed and recorded them.

A folder that the command made is renamed whole; everything else path by path, sorted by folder. The manifest records each path's state before
and after, so that the same walk finishes an interrupted commit: a path in its final state is skipped, one in its old state is changed, and
any other state is somebody else's change and stays.
"""

import errno
import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Self

from anycowork.domain.errors import FileMissing, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.domain.tools import PathIntent
from anycowork.domain.values import mutable_value
from anycowork.sandbox.commit import entries
from anycowork.sandbox.commit.delta import FILE, FOLDER, LINK, TREE, Delta, changes_kind, new_folders
from anycowork.sandbox.commit.entry_marks import names_in, state_mark, tree_mark
from anycowork.workspace.jail import AccessRefused, Jail, RefusedBySystem
from anycowork.workspace.opened_folders import OPENED_FOLDERS, LastFolder, WritableFolders
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.syscalls import sync_file_system

_FEW = 32  # up to this number each file and folder is synced; beyond it, the whole file system once
_CARRIER = ".anycowork-{}-carried.tmp"  # in the workspace, whose only writer we are meanwhile
_FEW_NEW = 8  # a new folder with fewer paths in it is made path by path
# Errors of an entry that was there a moment ago.
_REPLACED_MEANWHILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL)
# The folder is gone or closed, or a link or a file is there now.
_ANOTHER_FOLDER = (FileMissing, WrongKind, StateChanged, AccessRefused, OutsideWorkspace)


class NothingCommitted(OSError):
    """The disk refused before anything of a commit was moved."""


@mutable_value
class CommitOutcome:
    """`conflicts` are paths in neither their old nor their final state; they were left alone."""

    done: int = 0
    conflicts: list[str] = field(default_factory=list)


def apply(stage: Path, jail: Jail, intents: Iterable[PathIntent], *, delta: Delta | None = None) -> CommitOutcome:
    """Moves the staged changes into place. `delta` is what was found in the stage, and `intents` is its manifest.

    Without `delta`, an interrupted commit is finished.

    Raises: NothingCommitted if the system refuses before the first change, OSError if it refuses later: calling it again finishes the rest.
    """
    has_changed = delta is None
    try:
        with _Committer(stage, jail, list(intents), delta) as committer:
            try:
                return committer.run()
            finally:
                has_changed = has_changed or committer.has_changed
    except (OSError, RefusedBySystem) as refused:
        error = refused.error if isinstance(refused, RefusedBySystem) else refused
        if has_changed:
            raise error from None
        raise NothingCommitted(error.errno, error.strerror) from None


class _Committer:
    def __init__(self, stage: Path, jail: Jail, intents: list[PathIntent], delta: Delta | None) -> None:
        self._id = stage.name
        self._jail = jail
        # Missing if the commit was complete and only its result was lost: then there is nothing left to move.
        self._upper = Jail(str(stage / "upper")) if (stage / "upper").is_dir() else None
        self._intents = intents
        self._resumed = delta is None
        changes = list(zip(intents, delta.changes, strict=True)) if delta else []
        self._seen = {item.path: change.before for item, change in changes if change.before is not None}
        self._plain = {item.path for item, change in changes if change.after is not None and change.after.plain}
        self._outcome = CommitOutcome()
        self._touched: set[str] = set()
        # The command could open a folder too, and close it again.
        self._target_folders = WritableFolders(jail, stage / OPENED_FOLDERS if self._upper else None)
        self._staged = WritableFolders(self._upper) if self._upper else LastFolder(jail)
        self._carried: dict[str, str] = {}
        self._carrier = -1
        self._has_removed = False

    @property
    def has_changed(self) -> bool:
        return self._has_removed or bool(self._touched)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._target_folders.close_again()
        self._target_folders.close()
        self._staged.close()

    def run(self) -> CommitOutcome:
        intents = self._intents
        removals = [item for item in intents if item.after is None]
        folders = [item for item in intents if item.after == FOLDER]
        others = [item for item in intents if item.after not in (None, FOLDER)]
        with self._copied_ahead(others):
            for item in removals:
                self._make(item)
            moved = self._move_new_folders(intents)
            for item in folders:
                if item.path not in moved:
                    self._make(item)
            for item in sorted(others, key=_folder_of):
                if item.path not in moved and not self._replaced_at_once(item):
                    self._make(item)
        self._target_folders.close_again()
        for item in reversed(folders):
            self._set_folder_mode(item)
        self._sync()
        return self._outcome

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Numbers for temporary names, the same when the commit is resumed. Few commits need one."""
        kinds = {None: 0, FOLDER: 1}
        ordered = sorted(self._intents, key=lambda item: kinds.get(item.after, 2))
        return {item.path: number for number, item in enumerate(ordered, start=1)}

    # --- copying to another file system

    @contextmanager
    def _copied_ahead(self, items: list[PathIntent]) -> Iterator[None]:
        """For another file system, copies everything before anything moves: if the disk fills up, the workspace stays as it was."""
        name = _CARRIER.format(self._id)
        with self._jail.folder(WorkspacePath(()), flags=os.O_RDONLY) as root:
            if self._upper is None or not self._can_copy_ahead(name, root, self._upper):
                yield
                return
            try:
                with entries.opened(name, root) as self._carrier:
                    self._copy_all_ahead(items)
                    yield
            finally:
                self._carried = {}
                entries.remove(name, root)

    def _can_copy_ahead(self, name: str, root: int, upper: Jail) -> bool:
        """Returns False if the workspace's folder is not writable: then each file is copied in its turn."""
        if not entries.lies_elsewhere(upper.root, self._jail.process_path):
            return False
        try:
            for leftover in fnmatch.filter(names_in(root), _CARRIER.format("*")):
                entries.remove(leftover, root)  # from a commit that was interrupted, or whose disk refused to remove it
            os.mkdir(name, 0o700, dir_fd=root)
        except PermissionError:
            return False
        except OSError as error:
            raise NothingCommitted(error.errno, error.strerror) from None
        return True

    def _copy_all_ahead(self, items: list[PathIntent]) -> None:
        few = len(items) <= _FEW
        try:
            for item in sorted(items, key=_folder_of):
                self._copy_ahead(item, synced=few)
            if not few:
                sync_file_system(self._carrier)
        except OSError as error:
            raise NothingCommitted(error.errno, error.strerror) from None

    def _copy_ahead(self, item: PathIntent, *, synced: bool) -> None:
        folder, _, name = item.path.rpartition("/")
        number = str(len(self._carried))
        try:
            staged = self._staged.at(folder)
            self._prepare(item, name, staged)
            entries.copy(name, staged, number, self._carrier, item, synced=synced)
        except (FileNotFoundError, *_ANOTHER_FOLDER):
            return  # no longer staged
        self._carried[item.path] = number

    # --- new folders, whole

    def _move_new_folders(self, intents: list[PathIntent]) -> set[str]:
        """Renames folders that the command made, each with everything in it. Returns the paths that are now in place."""
        moved: set[str] = set()
        if self._upper is None or self._carried:
            return moved
        for items in new_folders(intents):
            if len(items) >= _FEW_NEW and self._move_whole(items):
                moved.update(item.path for item in items)
        self._outcome.done += len(moved)
        return moved

    def _move_whole(self, items: list[PathIntent]) -> bool:
        """Returns False if it must be made path by path: something is there already, or the stage holds more than the manifest names."""
        folder, _, name = items[0].path.rpartition("/")
        try:
            if entries.look(name, self._target_folders.at(folder)) is not None or not self._is_staged_exactly(items):
                return False
            for item in items:
                if item.after != FOLDER:
                    inner, _, file = item.path.rpartition("/")
                    self._prepare(item, file, self._staged.at(inner))
            entries.move_in(name, self._staged.at(folder), self._target_folders.at(folder))
        except (OSError, ToolFault, OutsideWorkspace):
            self._staged.close()
            return False
        self._staged.close()
        self._touched.add(folder)
        return True

    def _is_staged_exactly(self, items: list[PathIntent]) -> bool:
        """Tells whether the staged folder holds nothing but these: no pipes, sockets or whiteouts. Opens its folders to us."""
        entry_count = 0
        for item in items:
            if item.after == FOLDER:
                fd = self._staged.at(item.path)
                entry_count += len(names_in(fd))
                if item.path not in self._plain:
                    entries.remove_overlay_attributes(fd)
                if os.fstat(fd).st_mode & stat.S_IRWXU != stat.S_IRWXU:
                    os.fchmod(fd, stat.S_IRWXU)  # its mode is set when everything is in place
        return entry_count == len(items) - 1

    # --- path by path

    def _make(self, item: PathIntent) -> None:
        folder, _, name = item.path.rpartition("/")
        try:
            done = self._commit_path(item, name, self._target_folders.at(folder), folder)
        except FileMissing:
            done = item.after is None
        except _ANOTHER_FOLDER:
            done = False
        if done:
            self._outcome.done += 1
            self._touched.add(folder)
        else:
            self._outcome.conflicts.append(item.path)

    def _replaced_at_once(self, item: PathIntent) -> bool:
        """Renames a staged file over the very file that was scanned: two system calls. Returns False if that is not the case."""
        path = item.path
        scanned = self._seen.get(path)
        if scanned is None or scanned.kind != FILE or item.kind != FILE or path not in self._plain or self._carried:
            return False
        folder, _, name = path.rpartition("/")
        try:
            parent, staged = self._target_folders.at(folder), self._staged.at(folder)
            now = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if scanned.ctime != now.st_ctime_ns or scanned.inode != now.st_ino:
                return False
            os.rename(name, name, src_dir_fd=staged, dst_dir_fd=parent)
        except (OSError, ToolFault, OutsideWorkspace):
            return False
        self._outcome.done += 1
        self._touched.add(folder)
        return True

    def _commit_path(self, item: PathIntent, name: str, parent: int, folder: str) -> bool:
        """Returns whether the path is now in its final state."""
        temporary = f".anycowork-{self._id}-{self._numbers[item.path]}.tmp"
        if self._resumed:
            entries.remove(temporary, parent)  # from an interrupted commit
        now = entries.look(name, parent)
        if self._is_final(item, name, parent, now):
            return True
        if not self._is_unchanged(item, name, parent, now):
            return False
        if now is not None and (item.after is None or changes_kind(item)):
            aside = entries.put_aside(name, parent, temporary)
            self._has_removed = True
            entries.remove_or_put_back(aside, parent, name)
            now = None
        if item.after is None:
            return True
        if item.after == FOLDER:
            return self._make_folder(item, name, parent, now)
        return self._put(item, name, parent, folder, temporary, replacing=now is not None)

    def _is_final(self, item: PathIntent, name: str, parent: int, now: os.stat_result | None) -> bool:
        if now is None or item.after is None:
            return now is None and item.after is None
        if item.after == FOLDER:
            return stat.S_ISDIR(now.st_mode)
        if item.kind != LINK and stat.S_IMODE(now.st_mode) != item.mode:
            return False
        if item.path in self._seen and self._seen[item.path].inode == now.st_ino:
            return False  # still the same file that was checked before
        return state_mark(name, parent, now) == item.after

    def _is_unchanged(self, item: PathIntent, name: str, parent: int, now: os.stat_result | None) -> bool:
        if now is None:
            return item.before is None or changes_kind(item)
        if item.before is None:
            return False
        scanned = self._seen.get(item.path)
        try:
            if item.before.startswith(TREE):  # its own times tell nothing of what is deeper in it
                return stat.S_ISDIR(now.st_mode) and self._is_unchanged_tree(item.before, name, parent)
            if scanned is not None and (scanned.inode, scanned.ctime) == (now.st_ino, now.st_ctime_ns):
                return True
            if scanned is not None and scanned.kind == FILE and scanned.mode != now.st_mode & 0o777:
                return False  # what is kept for undo has the mode that was scanned
            if scanned is not None and scanned.kind == FILE and scanned.mtime != now.st_mtime_ns:
                return False  # written since it was looked at, perhaps before it was read: then the scan took that for the old content
            return state_mark(name, parent, now) == item.before
        except OSError as error:
            if error.errno not in _REPLACED_MEANWHILE:
                raise
            return False

    def _is_unchanged_tree(self, before: str, name: str, parent: int) -> bool:
        if self._resumed and self._jail.mount_number:
            return True  # only this commit can have removed a part of it: nobody else writes in a task's layer
        return before == TREE + tree_mark(name, parent)

    def _make_folder(self, item: PathIntent, name: str, parent: int, now: os.stat_result | None) -> bool:
        if now is not None:
            return stat.S_ISDIR(now.st_mode)
        if self._upper is None:
            return False
        os.mkdir(name, 0o700, dir_fd=parent)
        self._touched.add(item.path.rpartition("/")[0])
        with self._upper.folder(WorkspacePath(tuple(item.path.split("/")))) as staged:
            entries.give_like(os.fstat(staged), name, parent)
        return True

    def _put(self, item: PathIntent, name: str, parent: int, folder: str, temporary: str, *, replacing: bool) -> bool:
        if self._upper is None:
            return False
        try:
            if item.path in self._carried and self._moved_in(item, name, parent, replacing=replacing):
                return True
            staged = self._staged.at(folder)
            self._prepare(item, name, staged)
            try:
                entries.rename(name, staged, name, parent, replacing=replacing)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                entries.copy_over(name, staged, temporary, parent, item, replacing=replacing)
        except (FileNotFoundError, FileExistsError, *_ANOTHER_FOLDER):
            return False  # no longer staged, or somebody else created it first
        return True

    def _prepare(self, item: PathIntent, name: str, staged: int) -> None:
        if item.path not in self._plain:
            entries.prepare(name, staged, item)

    def _moved_in(self, item: PathIntent, name: str, parent: int, *, replacing: bool) -> bool:
        """Returns False if that folder of the workspace is a separate mount."""
        try:
            entries.rename(self._carried[item.path], self._carrier, name, parent, replacing=replacing)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return False
        return True

    def _set_folder_mode(self, item: PathIntent) -> None:
        try:
            with self._jail.folder(WorkspacePath(tuple(item.path.split("/"))), flags=os.O_RDONLY) as fd:
                if item.mode is not None and stat.S_IMODE(os.fstat(fd).st_mode) != item.mode:
                    os.fchmod(fd, item.mode)
                    self._touched.add(item.path)
        except _ANOTHER_FOLDER:
            pass  # already reported where it was created

    def _sync(self) -> None:
        if len(self._touched) > _FEW:
            with self._jail.folder(WorkspacePath(()), flags=os.O_RDONLY) as fd:
                sync_file_system(fd)
            return
        for folder in self._touched:
            try:
                with self._jail.folder(WorkspacePath(tuple(filter(None, folder.split("/")))), flags=os.O_RDONLY) as fd:
                    os.fsync(fd)
            except _ANOTHER_FOLDER:
                continue  # removed by a later step


def _folder_of(item: PathIntent) -> str:
    return item.path.rpartition("/")[0]
