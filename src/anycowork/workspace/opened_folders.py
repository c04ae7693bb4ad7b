"""Remembers on disk which read-only folders were opened to write in them, so that the next start closes those that a kill left open."""

import json
import os
import stat
from contextlib import suppress
from pathlib import Path

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

OPENED_FOLDERS = "opened-folders"  # the list of a commit, in its stage; of a restore, in the folder of the pack
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class OpenedFolders:
    """A list of folders with their modes in `file`, for a workspace. There is no file while the list is empty.

    It is not synced: it outlives a kill, but not a power cut.
    """

    def __init__(self, file: Path, root: str) -> None:
        self._file = file
        self._root = root

    def add(self, path: str, mode: int) -> None:
        """Call it before the folder is opened. Raises: OSError."""
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._file, _FLAGS, 0o600)
        try:
            os.write(fd, json.dumps([self._root, path, mode]).encode() + b"\n")
        finally:
            os.close(fd)

    def clear(self) -> None:
        with suppress(OSError):
            self._file.unlink(missing_ok=True)


def close_left_open(file: Path) -> None:
    """Gives the listed folders their modes back, except those that somebody changed since. Then removes the list."""
    try:
        lines = file.read_text().splitlines()
    except (OSError, ValueError):
        return
    for line in reversed(lines):  # a folder before those above it
        with suppress(ValueError, TypeError, OSError, ToolFault, OutsideWorkspace):
            root, path, mode = json.loads(line)  # noqa: TID251  # our own process wrote it
            _close(root, path, mode)
    with suppress(OSError):
        file.unlink(missing_ok=True)


def _close(root: str, path: str, mode: int) -> None:
    workspace_path = WorkspacePath(tuple(path.split("/")) if path else ())
    with Jail(root).folder(workspace_path, flags=os.O_RDONLY) as fd:
        status = os.fstat(fd)
        if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == mode | stat.S_IRWXU:
            os.fchmod(fd, mode)
