"""Opens folders to write in them, also those that their owner may not write to: some programs close what they made, and open it to work."""

import os
import stat

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.workspace.jail import Jail
from anycowork.workspace.last_folder import LastFolder


class WritableFolders(LastFolder):
    """`closed` are the folders that were opened to us, with the modes that they had. `close_again` gives these back.

    A process that is killed in between leaves such a folder writable for its owner.
    """

    __slots__ = ("_checked", "closed")

    def __init__(self, jail: Jail) -> None:
        super().__init__(jail)
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
        for path in sorted(self.closed, key=len, reverse=True):  # a folder before those above it
            try:
                os.fchmod(super().at(path), self.closed[path])
            except (ToolFault, OutsideWorkspace, OSError):
                continue  # it was removed or replaced
        self.closed, self._checked = {}, set()

    def _open_to_owner(self, fd: int, path: str) -> None:
        found = os.fstat(fd)
        user = os.geteuid()
        mode = stat.S_IMODE(found.st_mode)
        if user == found.st_uid != 0 and mode & stat.S_IRWXU != stat.S_IRWXU:
            os.fchmod(fd, mode | stat.S_IRWXU)
            self.closed[path] = mode
