"""Keeps what a task sees through its layer when somebody is about to change the folders beneath it.

The old version goes into the task's own layer: a file is copied there, a path that does not exist gets a whiteout. So the task goes on with the
workspace that it started from, and reads nothing that is half written. Blocking.
"""

import os
import secrets
import stat
from collections.abc import Iterable

from anycowork.workspace.jail import Jail
from anycowork.workspace.move_folder import move_anything
from anycowork.workspace.paths import WorkspacePath

_OPAQUE = "user.overlay.opaque"


def hold_versions(view: Jail, paths: Iterable[str]) -> None:
    """`view` is the mounted tree of the task. Raises: OSError, ToolFault, OutsideWorkspace."""
    versions = _Versions(view)
    for path in sorted(paths):
        versions.hold(_place(path))


def hide_new(view: Jail, paths: Iterable[str]) -> None:
    """Hides what somebody has just made beneath the layer, unless the task has made the same. Raises: as above."""
    versions = _Versions(view)
    for path in paths:
        versions.hide(_place(path))


def folders_beneath(view: Jail, paths: Iterable[str]) -> list[WorkspacePath]:
    """Returns those paths that are folders which the task sees from beneath its layer, without those inside another. Raises: as above."""
    versions = _Versions(view)
    found: list[WorkspacePath] = []
    for place in map(_place, sorted(paths)):
        if not any(folder.holds(place) for folder in found) and versions.is_beneath(place):
            found.append(place)
    return found


def take_folder(view: Jail, place: WorkspacePath) -> None:
    """Makes a folder from beneath the layer one of the layer alone: the kernel cannot list one of which a part was removed beneath it.

    Call it only while the task does nothing: in between, the folder is not there. Raises: as above.
    """
    temporary = f".anycowork-{secrets.token_hex(8)}.tmp"
    with view.folder(place.parent, flags=os.O_RDONLY) as parent:
        move_anything(place.name, parent, temporary, parent)
        os.rename(temporary, place.name, src_dir_fd=parent, dst_dir_fd=parent)


def _place(path: str) -> WorkspacePath:
    return WorkspacePath(tuple(path.split("/")))


class _Versions:
    def __init__(self, view: Jail) -> None:
        self._view = view
        *self._lower, self._upper = map(Jail, view.layers)

    def is_beneath(self, place: WorkspacePath) -> bool:
        seen = self._view.stat(place)
        if seen is None or not stat.S_ISDIR(seen.st_mode):
            return False
        above = (WorkspacePath(place.parts[:depth]) for depth in range(1, len(place.parts) + 1))
        return not any(self._is_opaque(step) for step in above) and self._is_in_lower(place)

    def hold(self, place: WorkspacePath) -> None:
        for depth in range(1, len(place.parts) + 1):
            if self._is_held(WorkspacePath(place.parts[:depth]), is_last=depth == len(place.parts)):
                return

    def _is_held(self, place: WorkspacePath, *, is_last: bool) -> bool:
        """Returns whether nothing beneath the task's layer shows at this path or below it any more; for the last one, sees to that."""
        own = self._upper.stat(place)
        if own is not None and not stat.S_ISDIR(own.st_mode):
            return True  # its own file, or a whiteout
        if own is not None:
            return self._is_alone(place)
        seen = self._view.stat(place)
        if seen is None:
            self.hide(place)
            return True
        if is_last or not stat.S_ISDIR(seen.st_mode):
            self._copy_up(place, seen)
            return True
        return False

    def _is_alone(self, place: WorkspacePath) -> bool:
        """A folder that only the task has: one that comes beneath it later must not show through."""
        if self._is_opaque(place):
            return True
        if self._is_in_lower(place):
            return False
        with self._upper.folder(place, flags=os.O_RDONLY) as folder:
            os.setxattr(folder, _OPAQUE, b"y")
        return True

    def _is_in_lower(self, place: WorkspacePath) -> bool:
        found = (layer.stat(place) for layer in self._lower)
        return any(one is not None and stat.S_ISDIR(one.st_mode) for one in found)

    def _is_opaque(self, place: WorkspacePath) -> bool:
        own = self._upper.stat(place)
        if own is None or not stat.S_ISDIR(own.st_mode):
            return False
        with self._upper.folder(place, flags=os.O_RDONLY) as folder:
            return _OPAQUE in os.listxattr(folder)

    def _copy_up(self, place: WorkspacePath, seen: os.stat_result) -> None:
        """Sets the times that it has: the kernel copies an entry into the upper layer before it changes anything of it."""
        times = (seen.st_atime_ns, seen.st_mtime_ns)
        if place.is_root:
            return  # every layer has a root
        with self._view.folder(place.parent) as parent:
            os.utime(place.name, ns=times, dir_fd=parent, follow_symlinks=False)

    def hide(self, place: WorkspacePath) -> None:
        above = self._view.stat(place.parent)
        if above is None:
            return  # the task has removed the folder meanwhile
        self._copy_up(place.parent, above)
        with self._upper.folder(place.parent, flags=os.O_RDONLY) as parent:
            before = os.fstat(parent)
            try:
                os.mknod(place.name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=parent)
            except FileExistsError:
                return  # the task has just made it
            # A new entry would look like a change of the folder by somebody else to a command that runs meanwhile.
            os.utime(parent, ns=(before.st_atime_ns, before.st_mtime_ns))
