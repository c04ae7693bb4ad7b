"""Provides the folders that hold the writes of commands and tasks: one in the data folder, and one of ours for commands of other users.

The copies and layers of a job's tasks are kept there across restarts, until they are dropped.
"""

import os
import secrets
import stat
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import value
from anycowork.workspace.remove_folder import remove_folder

RUNS = "runs"  # the folders of commands that run
_COPIES = "copies"
_ORIGIN = "origin"
_LOWER = "lower"  # in a task's folder that holds a layer: the folders beneath it
# In a task's folder, what names its root: a copy with all files, or an empty folder where a layer has them.
_COPY, _VIEW = "upper", "view"


@value
class Runner:
    """The user that a command runs as."""

    uid: int
    gid: int

    @property
    def is_us(self) -> bool:
        return self.uid == os.geteuid()


def runner_for(root: str) -> Runner:
    """Returns the workspace's owner if we are root, else ourselves."""
    status = Path(root).stat()
    if os.geteuid() == 0 and status.st_uid != 0:
        return Runner(status.st_uid, status.st_gid)
    return Runner(os.geteuid(), os.getegid())


class StagingFolders:
    """Creates and lists them. A `shared` one can be entered by the users that commands run as. Blocking."""

    def __init__(self, private: Path, shared: Path | None) -> None:
        self.private = private
        # One for each data folder: a server treats what it finds there as its own, and sweeps it.
        data = sha256(os.fsencode(private.absolute())).hexdigest()[:12]
        self.shared = shared or Path(f"/var/tmp/anycowork-{os.geteuid()}-{data}")
        self._made: set[Runner] = set()

    def base(self, runner: Runner) -> Path:
        """Returns the folder for commands of this user; creates it if necessary. Raises: ToolFault if it belongs to somebody else."""
        base, mode = (self.private, 0o700) if runner.is_us else (self.shared, 0o711)
        if runner in self._made and base.is_dir():
            return base
        base.mkdir(mode=mode, parents=True, exist_ok=True)
        if not _is_ours(base):
            raise ToolFault(f"'{base}' belongs to somebody else, so no command can use it. Remove it and try again.")
        base.chmod(mode)
        self._made.add(runner)
        return base

    def ours(self) -> list[Path]:
        """Returns those that exist and belong to us."""
        return [base for base in (self.private, self.shared) if _is_ours(base)]

    def entries(self, name: str) -> list[Path]:
        """Returns what is in the subfolder `name` of each."""
        return [entry for base in self.ours() for entry in _inside(base / name)]


def give(path: Path, runner: Runner) -> None:
    """Makes it belong to the user that commands run as."""
    if not runner.is_us:
        os.chown(path, runner.uid, runner.gid)


def remove_tree(folder: Path) -> None:
    """Removes everything, whatever modes a command gave its folders.

    Follows no links; what cannot be removed is left for the next sweep.
    """
    remove_folder(str(folder), ignoring=(OSError,))


def _inside(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _is_ours(base: Path) -> bool:
    try:
        status = base.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


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
