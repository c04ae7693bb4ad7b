"""Keeps what a task sees through its layer when somebody is about to change the folders beneath it.

The old version goes into the task's own layer: a file is copied there, a path that does not exist gets a whiteout. So the task goes on with the
workspace that it started from, and reads nothing that is half written. Blocking.
"""

import os
import secrets
import stat
from collections.abc import Iterable

from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.remove_folder import move_anything

_OPAQUE = "user.overlay.opaque"


def hold_versions(view: Jail, paths: Iterable[str]) -> None:
    """`view` is the mounted tree of the task. Raises: OSError, ToolFault, OutsideWorkspace."""
    versions = _Versions(view)
    for path in sorted(paths):
        versions.hold(_workspace_path(path))


def hide_new(view: Jail, paths: Iterable[str]) -> None:
    """Hides what somebody has just made beneath the layer, unless the task has made the same. Raises: as above."""
    versions = _Versions(view)
    for path in paths:
        versions.hide(_workspace_path(path))


def folders_beneath(view: Jail, paths: Iterable[str]) -> list[WorkspacePath]:
    """Returns those paths that are folders which the task sees from beneath its layer, without those inside another. Raises: as above."""
    versions = _Versions(view)
    folders: list[WorkspacePath] = []
    for path in map(_workspace_path, sorted(paths)):
        if not any(folder.holds(path) for folder in folders) and versions.is_beneath(path):
            folders.append(path)
    return folders


def take_folder(view: Jail, path: WorkspacePath) -> None:
    """Makes a folder from beneath the layer one of the layer alone: the kernel cannot list one of which a part was removed beneath it.

    Call it only while the task does nothing: in between, the folder is not there. Raises: as above.
    """
    temporary = f".anycowork-{secrets.token_hex(8)}.tmp"
    with view.folder(path.parent, flags=os.O_RDONLY) as parent:
        move_anything(path.name, parent, temporary, parent)
        os.rename(temporary, path.name, src_dir_fd=parent, dst_dir_fd=parent)


def _workspace_path(path: str) -> WorkspacePath:
    return WorkspacePath(tuple(path.split("/")))


class _Versions:
    def __init__(self, view: Jail) -> None:
        self._view = view
        *self._lower, self._upper = map(Jail, view.layers)

    def is_beneath(self, path: WorkspacePath) -> bool:
        seen = self._view.stat(path)
        if seen is None or not stat.S_ISDIR(seen.st_mode):
            return False
        above = (WorkspacePath(path.parts[:depth]) for depth in range(1, len(path.parts) + 1))
        return not any(self._is_opaque(step) for step in above) and self._is_in_lower(path)

    def hold(self, path: WorkspacePath) -> None:
        for depth in range(1, len(path.parts) + 1):
            if self._is_held(WorkspacePath(path.parts[:depth]), is_last=depth == len(path.parts)):
                return

    def _is_held(self, path: WorkspacePath, *, is_last: bool) -> bool:
        """Returns whether nothing beneath the task's layer shows at this path or below it any more; for the last one, sees to that."""
        upper_status = self._upper.stat(path)
        if upper_status is not None and not stat.S_ISDIR(upper_status.st_mode):
            return True  # its own file, or a whiteout
        if upper_status is not None:
            return self._is_alone(path)
        seen = self._view.stat(path)
        if seen is None:
            self.hide(path)
            return True
        if is_last or not stat.S_ISDIR(seen.st_mode):
            self._copy_up(path, seen)
            return True
        return False

    def _is_alone(self, path: WorkspacePath) -> bool:
        """A folder that only the task has: one that comes beneath it later must not show through."""
        if self._is_opaque(path):
            return True
        if self._is_in_lower(path):
            return False
        with self._upper.folder(path, flags=os.O_RDONLY) as folder:
            os.setxattr(folder, _OPAQUE, b"y")
        return True

    def _is_in_lower(self, path: WorkspacePath) -> bool:
        lower_statuses = (layer.stat(path) for layer in self._lower)
        return any(status is not None and stat.S_ISDIR(status.st_mode) for status in lower_statuses)

    def _is_opaque(self, path: WorkspacePath) -> bool:
        upper_status = self._upper.stat(path)
        if upper_status is None or not stat.S_ISDIR(upper_status.st_mode):
            return False
        with self._upper.folder(path, flags=os.O_RDONLY) as folder:
            return _OPAQUE in os.listxattr(folder)

    def _copy_up(self, path: WorkspacePath, seen: os.stat_result) -> None:
        """Sets the times that it has: the kernel copies an entry into the upper layer before it changes anything of it."""
        times = (seen.st_atime_ns, seen.st_mtime_ns)
        if path.is_root:
            return  # every layer has a root
        with self._view.folder(path.parent) as parent:
            os.utime(path.name, ns=times, dir_fd=parent, follow_symlinks=False)

    def hide(self, path: WorkspacePath) -> None:
        above = self._view.stat(path.parent)
        if above is None:
            return  # the task has removed the folder meanwhile
        self._copy_up(path.parent, above)
        with self._upper.folder(path.parent, flags=os.O_RDONLY) as parent:
            before = os.fstat(parent)
            try:
                os.mknod(path.name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=parent)
            except FileExistsError:
                return  # the task has just made it
            # A new entry would look like a change of the folder by somebody else to a command that runs meanwhile.
            os.utime(parent, ns=(before.st_atime_ns, before.st_mtime_ns))
