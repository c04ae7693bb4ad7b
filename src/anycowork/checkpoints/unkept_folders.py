"""Finds folders of generated files (`node_modules`, `.venv`) whose old contents are not kept: git ignores them and tracks nothing in them.

The ignore files and the index are read before a change is made: what a command itself writes into them does not count.
"""

import os
import stat
from collections.abc import Sequence
from fnmatch import fnmatchcase

from anycowork.domain.errors import FileMissing, OutsideWorkspace, ToolFault
from anycowork.domain.values import value
from anycowork.workspace.folder import Folder
from anycowork.workspace.git_index_file import NotAnIndex, tracked_paths
from anycowork.workspace.ignores import Ignores
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.walk import FolderWalk

_GIT, _INDEX = WorkspacePath((".git",)), WorkspacePath((".git", "index"))
_LARGEST_INDEX = 512 << 20  # bytes
_Parts = tuple[str, ...]


@value
class _FolderState:
    """`kept`: everything below is kept, whatever its name, because it belongs to another repository or to none."""

    kept: bool = False
    ignored: bool = False
    unkept: bool = False
    rules: Ignores = Ignores()


_KEPT = _FolderState(kept=True)


class UnkeptFolders:
    """`names` are those that such a folder may have; one of them may contain wildcards. For one change: it remembers what it has read."""

    def __init__(self, folder: Folder, names: Sequence[str]) -> None:
        self._jail = folder.jail
        self._names = tuple(names)
        self._walk = FolderWalk(folder.jail)
        self._tracked: frozenset[bytes] | None = None
        self._states: dict[_Parts, _FolderState] = {(): self._root()}

    def covers(self, path: WorkspacePath, *, is_folder: bool) -> bool:
        """Tells whether the entry lies in such a folder, or is one."""
        return self._state(path.parts if is_folder else path.parts[:-1]).unkept

    def _root(self) -> _FolderState:
        status = self._jail.stat(_GIT) if self._names else None
        if status is None or not stat.S_ISDIR(status.st_mode):
            return _KEPT
        return _FolderState(rules=self._walk.with_own_rules(WorkspacePath(()), Ignores()))

    def _state(self, parts: _Parts) -> _FolderState:
        state = self._states.get(parts)
        if state is None:
            try:
                state = self._below(self._state(parts[:-1]), WorkspacePath(parts))
            except (ToolFault, OutsideWorkspace):
                state = _KEPT
            self._states[parts] = state
        return state

    def _below(self, above: _FolderState, path: WorkspacePath) -> _FolderState:
        if above.kept or self._jail.stat(path.child(".git")) is not None:
            return _KEPT
        ignored = above.ignored or above.rules.ignored(path.parts, is_folder=True)
        unkept = above.unkept or (ignored and self._is_named(path.name) and not self._is_tracked(path))
        rules = above.rules if ignored else self._walk.with_own_rules(path, above.rules)
        return _FolderState(ignored=ignored, unkept=unkept, rules=rules)

    def _is_named(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._names)

    def _is_tracked(self, path: WorkspacePath) -> bool:
        """Tells whether git tracks something in the folder, or might."""
        if self._tracked is None:
            try:
                self._tracked = self._tracked_folders()
            except NotAnIndex:
                self._names, self._tracked = (), frozenset()  # nobody knows what is tracked, so everything is kept
        return not self._names or os.fsencode(path.path) in self._tracked

    def _tracked_folders(self) -> frozenset[bytes]:
        """Returns the folders with one of the names in which git tracks something, or which are submodules. Raises: NotAnIndex."""
        index = _read_index(self._jail)
        is_unkept_name: dict[bytes, bool] = {}
        tracked_folders: set[bytes] = set()
        for path in tracked_paths(index) if index is not None else ():
            parts = path.split(b"/")
            for depth, part in enumerate(parts, 1):
                if part not in is_unkept_name:
                    is_unkept_name[part] = self._is_named(os.fsdecode(part))
                if is_unkept_name[part]:
                    tracked_folders.add(b"/".join(parts[:depth]))
        return frozenset(tracked_folders)


def _read_index(jail: Jail) -> bytes | None:
    """Returns None if there is none: then nothing is tracked. Raises: NotAnIndex if it cannot be read whole."""
    try:
        with jail.regular_file(_INDEX) as (fd, status):
            if status.st_size > _LARGEST_INDEX:
                raise NotAnIndex("it is too large")
            with open(fd, "rb", closefd=False) as file:
                return file.read()
    except FileMissing:
        return None
    except (ToolFault, OutsideWorkspace) as fault:
        raise NotAnIndex(fault.message) from None
