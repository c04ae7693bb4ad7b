"""Remembers what matters in each folder of a tree, so that the next search reads only folders that have changed.

Adding, removing or renaming an entry changes a folder's change time, and nobody can set that time. Blocking.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence

from anycowork.domain.values import leaf_value

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


def unchanged(paths: Sequence[str], known: SeenFolder | None) -> SeenFolder | None:
    """Returns what is known of this folder if it is still true. `paths` are the folder in each layer of the tree.

    Raises: OSError if there is nothing at any of these paths.
    """
    if known is None or not known.is_settled:
        return None
    return known if known.stamp == _stamp(_each(paths)) else None


def read_folder(
    folder: int | str, select: Callable[[Entries], Selection], layers: Sequence[str] = ()
) -> SeenFolder | None:
    """Reads the folder; `select` returns the folders to enter and the names that matter. None if it is no folder. Raises: OSError.

    `layers` are the folder in each layer, if the tree has several: an entry that appears in a lower one changes no time of the folder.
    """
    now = os.fstat(folder) if isinstance(folder, int) else os.lstat(folder)
    if not stat.S_ISDIR(now.st_mode):
        return None
    found = _each(layers) if layers else [now]
    is_settled = time.time_ns() - max(one.st_ctime_ns for one in found) > _SETTLED
    with os.scandir(folder) as entries:
        folders, names = select(entries)
    return SeenFolder(_stamp(found), is_settled, tuple(sorted(folders)), tuple(sorted(names)))


def _each(paths: Sequence[str]) -> list[os.stat_result]:
    """Returns the stat of every path that exists. Raises: OSError if none does."""
    found: list[os.stat_result] = []
    for path in paths:
        try:
            found.append(os.lstat(path))
        except OSError:
            if len(paths) == 1:
                raise
    if not found:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), paths[0] if paths else "")
    return found


def _stamp(found: Sequence[os.stat_result]) -> tuple[int, ...]:
    return tuple(number for one in found for number in (one.st_dev, one.st_ino, one.st_ctime_ns))
