"""Keeps growing cache folders within a size: removes the least recently used first. Blocking.

Commands fill them, so nothing in them is trusted: a folder whose size cannot be measured counts as larger than any limit.
"""

import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from anycowork.domain.values import value
from anycowork.workspace.packfile import opened
from anycowork.workspace.remove_folder import remove_folder

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_DEEPEST = 100  # folders; real caches have a dozen
_BLOCK = 512  # the unit of st_blocks, whatever the file system's own is
_WORTH_SAVING = 0.05  # seconds; a faster measurement is simply repeated
_PAUSE = 20  # times the duration of the last measurement
_GOING = ".going-"
UNWEIGHABLE = 1 << 62


@value
class FolderSize:
    """`bytes` on disk; `used_at`, in ns, is when something in it was last written or read, as far as the file system records it."""

    bytes: int = 0
    used_at: int = 0


def folder_size(root: Path) -> FolderSize:
    """Measures a folder.

    Follows no links, and counts a file with several names once. Returns UNWEIGHABLE if it is too deep or unreadable.
    """
    total = used_at = 0
    names: set[tuple[int, int]] = set()
    waiting = [(str(root), 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            if depth > _DEEPEST:
                return FolderSize(UNWEIGHABLE, used_at)
            for entry, status in _scan(folder):
                if status.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                    if (status.st_dev, status.st_ino) in names:
                        continue
                    names.add((status.st_dev, status.st_ino))
                total += status.st_blocks * _BLOCK
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((f"{folder}/{entry.name}", depth + 1))
                else:
                    used_at = max(used_at, status.st_mtime_ns, status.st_atime_ns)
        except (FileNotFoundError, NotADirectoryError):
            continue  # just being removed; or not a folder, and its size is counted by the caller
        except OSError:
            return FolderSize(UNWEIGHABLE, used_at)
    return FolderSize(total, used_at)


def _scan(folder: str) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    with opened(Path(folder), _FOLDER) as fd, os.scandir(fd) as entries:
        for entry in entries:
            try:
                yield entry, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue


def keep_newest(folders: Iterable[Path], *, most: int) -> list[Path]:
    """Removes the oldest of these folders until the rest take at most `most` bytes; always keeps the newest.

    Returns the removed ones.
    """
    remaining = most
    removed: list[Path] = []
    for index, folder in enumerate(sorted(folders, key=_changed_at, reverse=True)):
        remaining -= folder_size(folder).bytes
        if remaining < 0 and index > 0:
            remove_folder(str(folder), ignoring=(OSError,))
            removed.append(folder)
    return removed


def _changed_at(path: Path) -> int:
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0


class Caches:
    """Keeps the cache folders of all workspaces together within `most` bytes.

    Removes a program's whole folder, never a part of it: programs tolerate a missing cache, but not one with holes. Leaves a cache alone
    while a command can see it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lent: Counter[Path] = Counter()
        self._known: dict[Path, dict[Path, FolderSize]] = {}
        self._again_at: dict[Path, float] = {}
        self._lock = threading.Lock()

    @contextmanager
    def lent(self, cache: Path) -> Iterator[Path]:
        """Protects the cache while a command sees it."""
        with self._lock:
            self._lent[cache] += 1
        with self._given_back(cache):
            yield cache

    @contextmanager
    def lent_alone(self, cache: Path) -> Iterator[Path | None]:
        """Protects the cache for one command; yields None if another command has it: an overlay's upper layer has one user."""
        with self._lock:
            is_free = cache not in self._lent
            self._lent[cache] += 1
        with self._given_back(cache):
            yield cache if is_free else None

    def trim(self, caches: Iterable[Path], *, anew: bool = False) -> int:
        """Removes the least recently used caches until the limit holds. Measures only what may have grown, unless `anew`, and slow
        folders rarely. Returns how many programs' caches were removed.
        """
        caches_by_folder = {cache: self._measured(cache, anew=anew) for cache in caches}
        total = sum(weight.bytes for programs in caches_by_folder.values() for weight in programs.values())
        oldest = sorted(
            (
                (weight, program, cache)
                for cache, programs in caches_by_folder.items()
                for program, weight in programs.items()
            ),
            # A folder that cannot be measured would push out everything else.
            key=lambda item: (item[0].bytes != UNWEIGHABLE, item[0].used_at, str(item[1])),
        )
        removed = 0
        for weight, program, cache in oldest:
            if total <= self._most:
                break
            if self._removed(program, cache):
                total -= weight.bytes
                removed += 1
        return removed

    @contextmanager
    def _given_back(self, cache: Path) -> Iterator[None]:
        try:
            yield
        finally:
            with self._lock:
                self._lent[cache] -= 1
                if not self._lent[cache]:
                    del self._lent[cache]
                if self._again_at.get(cache, 0.0) <= time.monotonic():
                    self._known.pop(cache, None)  # it may have grown

    def _measured(self, cache: Path, *, anew: bool) -> dict[Path, FolderSize]:
        with self._lock:
            known_sizes = self._known.get(cache)
            if cache in self._lent:
                return known_sizes or {}  # a command is using it, and could lead us anywhere meanwhile
        if known_sizes is not None and not anew:
            return known_sizes
        begun = time.monotonic()
        programs = {program: _with_itself(program) for program in _inside(cache)}
        took = time.monotonic() - begun
        with self._lock:
            self._known[cache] = programs
            if took > _WORTH_SAVING:
                self._again_at[cache] = time.monotonic() + took * _PAUSE
        return programs

    def _removed(self, program: Path, cache: Path) -> bool:
        """Moves the folder aside in one step first, so that no command ever sees half of it."""
        aside = cache.parent / f"{_GOING}{token_hex(8)}"
        with self._lock:
            if cache in self._lent:
                return False
            self._known.get(cache, {}).pop(program, None)
            try:
                _put_aside(program, aside)
            except OSError:
                return False
        _remove(aside)
        return True


def _put_aside(path: Path, aside: Path) -> None:
    """Also moves a folder that a command made read-only: moving a folder needs write access to it. Raises: OSError."""
    if stat.S_ISDIR(path.lstat().st_mode):
        path.chmod(0o700)
    path.rename(aside)


def is_leftover(path: Path) -> bool:
    """Tells whether a killed server had moved it aside and not removed it."""
    return path.name.startswith(_GOING)


def _inside(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _with_itself(path: Path) -> FolderSize:
    """Measures a program's folder, or a single file in its place."""
    try:
        status = path.lstat()
    except OSError:
        return FolderSize()
    inside = folder_size(path)
    if inside.bytes == UNWEIGHABLE:
        return inside
    return FolderSize(inside.bytes + status.st_blocks * _BLOCK, inside.used_at or status.st_mtime_ns)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_folder(str(path), ignoring=(OSError,))
    else:
        path.unlink(missing_ok=True)
