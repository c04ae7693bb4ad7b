"""Remembers what a scan reads of the files that a commit will replace, so that keeping them for undo needs no second read."""

import os
import time
from collections.abc import Mapping
from hashlib import sha256

from anycowork.domain.snapshots import ReplacedFile

LARGEST_REMEMBERED = 1 << 16  # bytes of one file
MOST_REMEMBERED = 64 << 20  # bytes of all; what does not fit is read again
_EMPTY = sha256()
# ns, more than the step of a file system's clock: a younger file may change without a new time.
_CLOCK_STEP = 50_000_000


class ReplacedFiles:
    """Of one scan. Files that changed within the last 50 ms before it are not remembered: their times cannot tell a later change."""

    def __init__(self) -> None:
        self._files: dict[str, ReplacedFile] = {}
        self._left = MOST_REMEMBERED
        self._newest = time.time_ns() - _CLOCK_STEP

    @property
    def files(self) -> Mapping[str, ReplacedFile]:
        return self._files

    def add(self, path: str, status: os.stat_result, digest: str, content: bytes | None) -> None:
        """`content` is None if it was not read whole."""
        if content is None or status.st_ctime_ns >= self._newest or len(content) > self._left:
            return
        self._left -= len(content)
        self._files[path] = ReplacedFile(digest, content, status.st_mode & 0o7777, status.st_mtime_ns)


def read_small(fd: int, size: int) -> tuple[str, bytes] | None:
    """Returns hash and content of a small file; None if it is large, or no longer has its `size`. Raises: OSError."""
    if size >= LARGEST_REMEMBERED:
        return None
    content = os.pread(fd, size + 1, 0)
    if len(content) != size:
        return None
    return hash_of_bytes(content), content


def hash_of_bytes(content: bytes) -> str:
    digest = _EMPTY.copy()  # cheaper than a new one
    digest.update(content)
    return digest.hexdigest()
