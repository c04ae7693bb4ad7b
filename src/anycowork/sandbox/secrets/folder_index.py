"""Remembers what matters in each folder of a tree, so that the next search reads only folders that have changed.

Adding, removing or renaming an entry changes a folder's change time, and nobody can set that time. Blocking.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence

from anycowork.domain.values import leaf_value

# Packages bring keys for their own tests and public certificates; git's folder holds no files of the workspace.
NOT_ENTERED = frozenset({".git", "node_modules", "site-packages", "dist-packages"})
_NS = 1_000_000_000
_SETTLED = 2 * _NS  # a folder that changed less than this before it was read may have changed again in the same instant


@leaf_value
class SeenFolder:
    """`folders` are those to enter; `names` are the other entries that matter. `stamp` has three numbers for each layer."""

    stamp: tuple[int, ...]
    is_settled: bool
    folders: tuple[str, ...]
    names: tuple[str, ...]


Entries = Iterator["os.DirEntry[str]"]
Selection = tuple[list[str], list[str]]


def unchanged(paths: Sequence[str], known_folder: SeenFolder | None) -> SeenFolder | None:
    """Returns what is known of this folder if it is still true. `paths` are the folder in each layer of the tree.

    Raises: OSError if there is nothing at any of these paths.
    """
    if known_folder is None or not known_folder.is_settled:
        return None
    return known_folder if known_folder.stamp == _stamp(_each(paths)) else None


def read_folder(
    folder: int | str, select: Callable[[Entries], Selection], layers: Sequence[str] = ()
) -> SeenFolder | None:
    """Reads the folder; `select` returns the folders to enter and the names that matter. None if it is no folder. Raises: OSError.

    `layers` are the folder in each layer, if the tree has several: an entry that appears in a lower one changes no time of the folder.
    """
    now = os.fstat(folder) if isinstance(folder, int) else os.lstat(folder)
    if not stat.S_ISDIR(now.st_mode):
        return None
    statuses = _each(layers) if layers else [now]
    is_settled = time.time_ns() - max(status.st_ctime_ns for status in statuses) > _SETTLED
    with os.scandir(folder) as entries:
        folders, names = select(entries)
    return SeenFolder(_stamp(statuses), is_settled, tuple(sorted(folders)), tuple(sorted(names)))


def _each(paths: Sequence[str]) -> list[os.stat_result]:
    """Returns the stat of every path that exists. Raises: OSError if none does."""
    statuses: list[os.stat_result] = []
    for path in paths:
        try:
            statuses.append(os.lstat(path))
        except OSError:
            if len(paths) == 1:
                raise
    if not statuses:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), paths[0] if paths else "")
    return statuses


def _stamp(statuses: Sequence[os.stat_result]) -> tuple[int, ...]:
    return tuple(number for status in statuses for number in (status.st_dev, status.st_ino, status.st_ctime_ns))
