"""Remembers what matters in each folder of a tree, so that the next search reads only folders that have changed.

Adding, removing or renaming an entry changes a folder's change time, and nobody can set that time. Blocking.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator

from anycowork.domain.values import leaf_value

_NS = 1_000_000_000
_SETTLED = 2 * _NS  # a folder that changed less than this before it was read may have changed again in the same instant


@leaf_value
class SeenFolder:
    """`folders` are those to enter; `names` are the other entries that matter."""

    stamp: tuple[int, int, int]
    is_settled: bool
    folders: tuple[str, ...]
    names: tuple[str, ...]


Entries = Iterator["os.DirEntry[str]"]
Selection = tuple[list[str], list[str]]


def unchanged(path: str, known: SeenFolder | None) -> SeenFolder | None:
    """Returns what is known of this folder if it is still true. Raises: OSError if there is nothing at this path."""
    if known is None or not known.is_settled:
        return None
    return known if known.stamp == _stamp(os.lstat(path)) else None


def read_folder(folder: int | str, select: Callable[[Entries], Selection]) -> SeenFolder | None:
    """Reads the folder; `select` returns the folders to enter and the names that matter. None if it is no folder. Raises: OSError."""
    now = os.fstat(folder) if isinstance(folder, int) else os.lstat(folder)
    if not stat.S_ISDIR(now.st_mode):
        return None
    is_settled = time.time_ns() - now.st_ctime_ns > _SETTLED
    with os.scandir(folder) as entries:
        folders, names = select(entries)
    return SeenFolder(_stamp(now), is_settled, tuple(sorted(folders)), tuple(sorted(names)))


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_dev, found.st_ino, found.st_ctime_ns
