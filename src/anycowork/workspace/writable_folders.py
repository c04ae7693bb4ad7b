"""Opens folders to write in them, also those that their owner may not write to: some programs close what they made, and open it to work."""

import os
import stat
from pathlib import Path

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.workspace.jail import AccessRefused, Jail, RefusedBySystem
from anycowork.workspace.opened_folders import OpenedFolders
from anycowork.workspace.paths import WorkspacePath


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
