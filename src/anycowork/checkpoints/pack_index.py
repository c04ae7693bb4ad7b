"""What a pack knows of its files: where each content lies, what is not synced yet, and the file that is appended to."""

import errno
import os
import weakref
from dataclasses import field
from pathlib import Path

from anycowork.domain.values import mutable_value
from anycowork.workspace.packfile import PackEntry

_NO_END = 1 << 63


@mutable_value
class PackIndex:
    """What is known of the files; loaded on first use."""

    index: dict[str, PackEntry] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    current: str | None = None
    unsynced: dict[str, int] = field(default_factory=dict)  # file: from which byte on

    def is_unsynced(self, digest: str | None) -> bool:
        entry = self.index.get(digest or "")
        return entry is not None and entry.offset >= self.unsynced.get(entry.file, _NO_END)


class AppendFile:
    """Keeps the file that is appended to open between contents."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, int] = {}
        weakref.finalize(self, close_all, self._held)

    def on(self, file: str) -> int:
        if file not in self._held:
            self.close()
            self._held[file] = os.open(self._folder / file, os.O_WRONLY | os.O_CLOEXEC)
        return self._held[file]

    def close(self) -> None:
        close_all(self._held)


def require_named(fd: int, file: str) -> None:
    """Checks that the file still has a name: if somebody removed the folder, written data would vanish with the descriptor.

    Raises: OSError.
    """
    if os.fstat(fd).st_nlink == 0:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)


def close_all(descriptors: dict[str, int]) -> None:
    while descriptors:
        os.close(descriptors.popitem()[1])
