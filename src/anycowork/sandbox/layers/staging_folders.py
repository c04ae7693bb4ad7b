"""Provides the folders that hold the writes of commands and tasks: one in the data folder, and one of ours for commands of other users."""

import os
import stat
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import value
from anycowork.workspace.remove_folder import remove_folder

RUNS = "runs"  # the folders of commands that run


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
        return [folder for base in self.ours() for folder in (base / name).glob("*")]


def give(path: Path, runner: Runner) -> None:
    """Makes it belong to the user that commands run as."""
    if not runner.is_us:
        os.chown(path, runner.uid, runner.gid)


def remove_tree(folder: Path) -> None:
    """Removes everything, whatever modes a command gave its folders.

    Follows no links; what cannot be removed is left for the next sweep.
    """
    remove_folder(str(folder), ignoring=(OSError,))


def _is_ours(base: Path) -> bool:
    try:
        status = base.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
