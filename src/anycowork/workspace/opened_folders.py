"""Opens read-only folders for as long as something is written in them, and remembers them on disk, so that the next start closes
those that a kill left open."""

import json
import os
import stat
from contextlib import suppress
from pathlib import Path

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.workspace.jail import AccessRefused, Jail, RefusedBySystem
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


class LastFolder:
    """Opens folders beneath a jail's root. A descriptor is valid until another folder is asked for."""

    __slots__ = ("_fd", "_flags", "_jail", "_open", "_path")

    def __init__(self, jail: Jail, *, flags: int = os.O_RDONLY) -> None:
        self._jail = jail
        self._flags = flags
        self._path: str | None = None
        self._open = jail.folder(WorkspacePath(()), flags=flags)
        self._fd = -1

    def at(self, path: str) -> int:
        """`path` is relative to the root, "" for the root itself. Raises: OutsideWorkspace, FileMissing, WrongKind, StateChanged."""
        if path == self._path:
            return self._fd
        self.close()
        self._open = self._jail.folder(WorkspacePath(tuple(path.split("/")) if path else ()), flags=self._flags)
        self._fd = self._open.__enter__()
        self._path = path
        return self._fd

    def close(self) -> None:
        """Call it at the end, and whenever a folder was moved or removed."""
        if self._path is not None:
            self._path = None
            self._open.__exit__(None, None, None)


class WritableFolders(LastFolder):
    """`closed` are the folders that were opened to us, with the modes that they had. `close_again` gives these back.

    A process that is killed in between leaves such a folder writable for its owner, until the next start reads `record`.
    """

    __slots__ = ("_checked", "_record", "closed")

    def __init__(self, jail: Jail, record: Path | None = None) -> None:
        super().__init__(jail)
        # Nothing leads to mounted layers after a kill.
        self._record = OpenedFolders(record, jail.root) if record is not None and not jail.mount_number else None
        self.closed: dict[str, int] = {}
        self._checked: set[str] = set()

    def at(self, path: str) -> int:
        if path == self._path:
            return self._fd
        fd = super().at(path)
        if path not in self._checked:
            self._checked.add(path)
            self._open_to_owner(fd, path)
        return fd

    def close_again(self) -> None:
        all_closed = True
        for path in sorted(self.closed, key=len, reverse=True):  # a folder before those above it
            try:
                os.fchmod(super().at(path), self.closed[path])
            except (AccessRefused, RefusedBySystem, OSError):
                all_closed = False
            except (ToolFault, OutsideWorkspace):
                continue  # it was removed or replaced
        if self.closed and self._record is not None and all_closed:
            self._record.clear()
        self.closed, self._checked = {}, set()

    def _open_to_owner(self, fd: int, path: str) -> None:
        status = os.fstat(fd)
        user = os.geteuid()
        mode = stat.S_IMODE(status.st_mode)
        if user == status.st_uid != 0 and mode & stat.S_IRWXU != stat.S_IRWXU:
            if self._record is not None:
                self._record.add(path, mode)
            os.fchmod(fd, mode | stat.S_IRWXU)
            self.closed[path] = mode
