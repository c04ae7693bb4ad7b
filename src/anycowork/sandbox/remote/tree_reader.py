"""Reads a workspace as a manifest, again for each command that runs on a worker.

What was read is remembered by folder: where the kernel says that nothing changed, the next reading costs a stat for each path that travels.
"""

import os
import stat
import time
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import field
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.path_class import is_key_file
from anycowork.domain.values import mutable_value
from anycowork.sandbox.remote.tree_manifest import (
    FILE,
    FOLDER,
    LARGEST_FILE,
    LINK,
    MOST_ENTRIES,
    WALK_SECONDS,
    CannotTravel,
    TreeEntry,
    is_utf8,
    travel_walk,
)
from anycowork.workspace.ignores import Ignores
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.walk import FolderWalk

_PIECE = 1 << 20
_MOST_REMEMBERED = 400_000
_RECENT_NS = 2_000_000_000  # some file systems count whole seconds
_IGNORE_FILE = ".gitignore"

State = tuple[int, ...]


@mutable_value
class _SeenFolder:
    """What was in a folder. It is shared with later readings, so it never changes.

    `stamp` has three numbers of the folder in each layer. `states` are of all that travels or decides what travels. Neither is there for
    what changed so lately that it could change again within the same tick of the clock.
    """

    stamp: State | None
    above: Ignores
    rules: Ignores
    states: dict[str, State | None] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    entries: dict[str, TreeEntry] = field(default_factory=dict)


_NOTHING = _SeenFolder(None, Ignores(), Ignores())


class TreeReader:
    """Remembers trees and hashes. For several threads; blocking."""

    def __init__(self) -> None:
        self._hashes: dict[State, str] = {}
        self._trees: dict[tuple[str, frozenset[WorkspacePath], tuple[str, ...]], dict[WorkspacePath, _SeenFolder]] = {}

    def read(
        self, jail: Jail, covered: Collection[WorkspacePath] = (), leave_out: Sequence[str] = ()
    ) -> dict[str, TreeEntry]:
        """Returns what of the workspace travels, by path: not what git ignores, unless `leave_out` decides otherwise, not `.git`, no key file,
        and nothing that is `covered`.

        Raises: CannotTravel.
        """
        # The tasks of a job see the same workspace below their layers: what one of them has read spares the others most.
        key = (jail.origin, frozenset(covered), tuple(leave_out))
        reading = _Reading(jail, key[1], travel_walk(jail, leave_out), self._hashes, self._trees.get(key, {}))
        entries = reading.entries()
        self._trees.pop(key, None)
        self._trees[key] = reading.folders
        self._forget_oldest()
        return entries

    def _forget_oldest(self) -> None:
        if len(self._hashes) > _MOST_REMEMBERED:
            self._hashes.clear()
        sizes = {key: sum(len(folder.states) for folder in tree.values()) for key, tree in [*self._trees.items()]}
        while len(sizes) > 1 and sum(sizes.values()) > _MOST_REMEMBERED:
            oldest = next(iter(sizes))
            del sizes[oldest]
            self._trees.pop(oldest, None)


@mutable_value
class _Reading:
    """One reading of a tree. `known` is what an earlier one saw; `folders` is what this one sees."""

    jail: Jail
    covered: frozenset[WorkspacePath]
    walk: FolderWalk
    hashes: dict[State, str]
    known: dict[WorkspacePath, _SeenFolder]
    folders: dict[WorkspacePath, _SeenFolder] = field(default_factory=dict)
    device: int | None = None
    ends: float = field(default_factory=lambda: time.monotonic() + WALK_SECONDS)
    newest: int = field(default_factory=lambda: time.time_ns() - _RECENT_NS)
    count: int = 0

    def entries(self) -> dict[str, TreeEntry]:
        """Raises: CannotTravel; FileMissing or WrongKind if the workspace is no folder."""
        if self.jail.mount_number:
            # A mount's own device number lasts only as long as the mount; what it shows are the files of the workspace.
            self.device = Path(self.jail.layers[0]).stat().st_dev
        entries: dict[str, TreeEntry] = {}
        waiting = deque([(WorkspacePath(()), Ignores())])
        while waiting:
            path, rules = waiting.popleft()
            try:
                folder = self._folder(path, rules)
            except CannotTravel:
                raise
            except ToolFault:
                if path.is_root:
                    raise
                continue  # it cannot be read, or is gone
            self.folders[path] = folder
            entries.update(folder.entries)
            waiting.extend((path.child(name), folder.rules) for name in folder.folders)
        return entries

    def _folder(self, path: WorkspacePath, above: Ignores) -> _SeenFolder:
        known_folder = self.known.get(path, _NOTHING)
        with self.jail.folder(path) as fd:
            stamp = self._stamp(path, fd)
            if stamp is not None and stamp == known_folder.stamp and above == known_folder.above:
                changed = _changed(fd, known_folder.states)
                if changed is not None and _IGNORE_FILE not in changed:
                    self._count(len(known_folder.states))
                    return self._with_changes(path, fd, known_folder, changed)
            return self._read(path, fd, known_folder, _SeenFolder(stamp, above, above))

    def _stamp(self, path: WorkspacePath, fd: int) -> State | None:
        """What appears in a lower layer changes no time of the folder that the layers show, so each layer is asked."""
        layers = self.jail.layers
        statuses = [os.fstat(fd)] if len(layers) == 1 else _statuses([f"{layer}/{path.path}" for layer in layers])
        if max((status.st_ctime_ns for status in statuses), default=self.newest) >= self.newest:
            return None
        return tuple(number for status in statuses for number in (status.st_dev, status.st_ino, status.st_ctime_ns))

    def _with_changes(self, path: WorkspacePath, fd: int, known_folder: _SeenFolder, changed: list[str]) -> _SeenFolder:
        """Returns the folder with these names read again; the same ones are there."""
        if not changed:
            return known_folder
        folder = _SeenFolder(
            known_folder.stamp,
            known_folder.above,
            known_folder.rules,
            {**known_folder.states},
            known_folder.folders,
            {**known_folder.entries},
        )
        for name in changed:
            status = _status(name, fd)
            if status is not None and name in known_folder.states:
                self._note(folder, path.child(name), status, known_folder)
        return folder

    def _read(self, path: WorkspacePath, fd: int, known_folder: _SeenFolder, folder: _SeenFolder) -> _SeenFolder:
        names = self.jail.names(path)
        folder.rules = self.walk.with_own_rules(path, folder.above, names)
        for name in names:
            status = _status(name, fd)
            if status is None:
                continue  # deleted since it was listed
            child, is_folder = path.child(name), stat.S_ISDIR(status.st_mode)
            if is_folder and name in self.walk.leave_out:
                continue
            if self.walk.is_ignored(folder.rules, child.parts, is_folder=is_folder):
                if name == _IGNORE_FILE:
                    folder.states[name] = self._state(status)
                continue
            self._count(1)
            if is_folder:
                folder.folders.append(name)
            self._note(folder, child, status, known_folder)
        return folder

    def _note(
        self, folder: _SeenFolder, path: WorkspacePath, status: os.stat_result, known_folder: _SeenFolder
    ) -> None:
        state, known_state = self._state(status), known_folder.states.get(path.name)
        entry = known_folder.entries.get(path.path)
        if state is None or state != known_state or path.name == _IGNORE_FILE:  # which may have been ignored itself
            read = self._entry(path, status)
            entry = entry if entry == read else read
        folder.states[path.name] = state
        if entry is None:
            folder.entries.pop(path.path, None)
        else:
            folder.entries[path.path] = entry

    def _state(self, status: os.stat_result) -> State | None:
        return _state_of(status) if status.st_ctime_ns < self.newest else None

    def _count(self, number: int) -> None:
        self.count += number
        if self.count > MOST_ENTRIES or time.monotonic() > self.ends:
            raise CannotTravel(
                f"The workspace has more than {MOST_ENTRIES:,} paths, or could not be read within {WALK_SECONDS:.0f} seconds. Add generated"
                " folders to its .gitignore."
            )

    def _entry(self, path: WorkspacePath, status: os.stat_result) -> TreeEntry | None:
        """Returns None for what stays at home, and for pipes, sockets and devices."""
        mode = stat.S_IMODE(status.st_mode)
        if is_key_file(path.path) or any(mask.holds(path) for mask in self.covered):
            return None
        if not is_utf8(path.path):
            raise CannotTravel(
                f"'{shown(path.path)}' has a name that is not UTF-8, so this workspace cannot travel. Rename it."
            )
        if stat.S_ISDIR(status.st_mode):
            return TreeEntry(path.path, FOLDER, mode)
        if stat.S_ISLNK(status.st_mode):
            with self.jail.folder(path.parent) as folder:
                return TreeEntry(path.path, LINK, target=os.readlink(path.name, dir_fd=folder))
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > LARGEST_FILE:
            raise CannotTravel(f"'{shown(path.path)}' is larger than {LARGEST_FILE:,} bytes. Add it to .gitignore.")
        if (known_hash := self.hashes.get(self._content_state(status))) is not None:
            return TreeEntry(path.path, FILE, mode, known_hash, status.st_size)
        with self.jail.regular_file(path) as (fd, opened):
            return TreeEntry(path.path, FILE, stat.S_IMODE(opened.st_mode), self._hash(fd, opened), opened.st_size)

    def _hash(self, fd: int, status: os.stat_result) -> str:
        """Hashes the file. One that changed just now can change again within the same tick of the clock, so it is not remembered."""
        is_recent = status.st_ctime_ns >= time.time_ns() - _RECENT_NS
        content_hash = hash_of_file(fd)
        if not is_recent:
            self.hashes[self._content_state(status)] = content_hash
        return content_hash

    def _content_state(self, status: os.stat_result) -> State:
        return self.device or status.st_dev, status.st_mtime_ns, *_state_of(status)


def hash_of_file(fd: int) -> str:
    digest = sha256()
    os.lseek(fd, 0, os.SEEK_SET)
    while piece := os.read(fd, _PIECE):
        digest.update(piece)
    return digest.hexdigest()


def _changed(folder: int, states: dict[str, State | None]) -> list[str] | None:
    """Returns the names whose state is another one, or was never remembered; None if one is gone."""
    changed: list[str] = []
    try:
        for name, state in states.items():
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if (status.st_ino, status.st_size, status.st_ctime_ns) != state:
                changed.append(name)
    except OSError:
        return None
    return changed


def _state_of(status: os.stat_result) -> State:
    """Every change of a file, its mode or its times moves its ctime, which nobody can set."""
    return status.st_ino, status.st_size, status.st_ctime_ns


def _statuses(paths: Sequence[str]) -> list[os.stat_result]:
    """Returns the stat of each path that exists."""
    statuses: list[os.stat_result] = []
    for path in paths:
        try:
            statuses.append(os.lstat(path))
        except OSError:
            continue
    return statuses


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
