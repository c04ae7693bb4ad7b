"""Keeps the folder that was opened last open, for work that goes through many paths sorted by folder."""

import os

from anycowork.workspace.jail import Jail
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
