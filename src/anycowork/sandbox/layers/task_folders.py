"""Keeps the private copies and the layers of a job's tasks, across restarts, until they are dropped."""

import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

from anycowork.sandbox.layers.staging_folders import RUNS, Runner, StagingFolders, give, remove_tree

_COPIES = "copies"
_ORIGIN = "origin"
_LOWER = "lower"  # in a task's folder that holds a layer: the folders beneath it
# In a task's folder, what names its root: a copy with all files, or an empty folder where a layer has them.
_COPY, _VIEW = "upper", "view"


class TaskFolders:
    """Creates, finds and removes the folders of tasks. Blocking."""

    def __init__(self, folders: StagingFolders) -> None:
        self._folders = folders

    def keep_copy(self, folder: Path, origin: str) -> Path:
        """Keeps the private copy of the workspace `origin` in a stage's folder until `drop_copy`. Returns its root. Raises: OSError."""
        copies = folder.parent.parent / _COPIES
        copies.mkdir(mode=0o711, exist_ok=True)
        (folder / _ORIGIN).write_bytes(os.fsencode(origin))
        remove_tree(folder / "work")
        return folder.rename(copies.resolve() / folder.name) / _COPY

    def keep_layer(self, runner: Runner, origin: str, lower: Sequence[str], like: os.stat_result) -> Path:
        """Makes a layer over the folders `lower`, whose root is `like` this; keeps it until `drop_copy`. Returns what names its root.

        Only the layer itself belongs to the user that commands run as: nobody but us says what lies beneath it. Raises: OSError, ToolFault.
        """
        base = self._folders.base(runner)
        copies, folder = base / _COPIES, base / RUNS / secrets.token_hex(8)
        for parent in (copies, folder.parent):
            parent.mkdir(mode=0o711, exist_ok=True)
        folder.mkdir()
        try:
            folder.chmod(0o711)
            (folder / "work").mkdir(mode=0o700)
            for name in (_VIEW, "upper"):
                (folder / name).mkdir(mode=0o700)
                give(folder / name, runner)
            if os.geteuid() == 0:
                os.chown(folder / "upper", like.st_uid, like.st_gid)
            (folder / "upper").chmod(stat.S_IMODE(like.st_mode))
            (folder / _ORIGIN).write_bytes(os.fsencode(origin))
            (folder / _LOWER).write_bytes(b"\0".join(map(os.fsencode, lower)))
            return folder.rename(copies.resolve() / folder.name) / _VIEW
        except OSError:
            remove_tree(folder)
            raise

    def lower_of(self, root: str) -> tuple[str, ...] | None:
        """Returns the folders beneath a task's layer, the topmost last; None if this is the root of no layer. Raises: OSError."""
        if not self._is_copy(root) or Path(root).name != _VIEW:
            return None
        return tuple(map(os.fsdecode, (Path(root).parent / _LOWER).read_bytes().split(b"\0")))

    def origin_of(self, root: str) -> str | None:
        """Returns the workspace of which this folder is a private copy; None if it is none of ours."""
        if not self._is_copy(root):
            return None
        try:
            return os.fsdecode((Path(root).parent / _ORIGIN).read_bytes())
        except OSError:
            return None

    def is_of_another(self, root: str) -> bool:
        """Tells whether this folder is a copy or a layer in another data folder. A layer looks empty to everybody but its own server."""
        path = Path(root)
        has_shape = path.name in (_COPY, _VIEW) and path.parent.parent.name == _COPIES
        return has_shape and not self._is_copy(root) and (path.parent / _ORIGIN).is_file()

    def drop_copy(self, root: str) -> None:
        """Removes the copy, also one that a killed server left half removed."""
        if self._is_copy(root):
            remove_tree(Path(root).parent)

    def copies(self) -> list[str]:
        """Returns the roots of all private copies and layers."""
        folders = [folder for base in self._copy_folders() for folder in base.glob("*")]
        return [str(folder / (_VIEW if (folder / _VIEW).is_dir() else _COPY)) for folder in folders]

    def _is_copy(self, root: str) -> bool:
        return Path(root).parent.parent in self._copy_folders() and Path(root).name in (_COPY, _VIEW)

    def _copy_folders(self) -> list[Path]:
        return [(base / _COPIES).resolve() for base in self._folders.ours()]
