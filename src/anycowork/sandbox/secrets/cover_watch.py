"""Notices when something that a running program may not read appears where the program could read it.

A cover is a mount over one entry of one folder. A file that is saved by renaming another one over it, or that did not exist when the program
started, is not covered. Nothing of the program is passed on after such a change. The kernel reports names within the system call that makes
them, so no name escapes that was there for a moment only.

An index remembers what matters in each folder of a tree, so that the next search reads only folders that have changed: adding, removing or renaming
an entry changes a folder's change time, and nobody can set that time. Blocking.
"""

import errno
import os
import select
import stat
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock, Thread

from anycowork.domain.errors import ToolFault
from anycowork.domain.path_class import is_key_file
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.values import leaf_value
from anycowork.workspace.paths import shown
from anycowork.workspace.syscalls import NotificationFlag, add_notification, open_notifications

# Packages bring keys for their own tests and public certificates; git's folder holds no files of the workspace.
NOT_ENTERED = frozenset({".git", "node_modules", "site-packages", "dist-packages"})
_NS = 1_000_000_000
_SETTLED = 2 * _NS  # a folder that changed less than this before it was read may have changed again in the same instant
Identity = tuple[int, int]
_EVENT = struct.Struct("iIII")
_PIECE = 1 << 20
_MOST_NEW_ENTRIES = 20_000  # in folders that came while the program ran
_FOLDER = int(
    NotificationFlag.CREATE | NotificationFlag.MOVED_TO | NotificationFlag.ONLY_FOLDER | NotificationFlag.NO_LINK
)
_FILE = int(NotificationFlag.MODIFY | NotificationFlag.NO_LINK)
_UNKNOWN = "a path that could not be followed"


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


class ConcealedPathAppeared(ToolFault):
    """A path that the program may not read came into its view."""

    code = "concealed_path_appeared"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"While it ran, '{shown(path)}' was written or replaced in the workspace, which it may not read. Nothing that it printed "
            "or changed since was kept. Run it again."
        )


class CoverWatch:
    """Watches the folders that hold or could hold covered paths. For several threads.

    `is_pinned`: the program sees an overlay, in which a cover stays when the file below it is replaced. `state` lists what is concealed now,
    for machines that have no notifications left: then it is compared at each check.
    """

    def __init__(
        self, hidden: HiddenPathRules, *, is_pinned: bool, state: Callable[[], Mapping[str, Identity]]
    ) -> None:
        self._hidden = hidden
        self._is_pinned = is_pinned
        self._state = state
        self._lock = Lock()
        self._watched: dict[int, tuple[str, str]] = {}
        self._covered: Mapping[str, Identity] = {}
        self._identities: frozenset[Identity] = frozenset()
        self._appeared: str | None = None
        self._fd = open_notifications()

    @property
    def descriptor(self) -> int | None:
        """Readable when something changed; None if the machine has no notifications left."""
        return self._fd

    def add_folder(self, root: str, folder: str) -> None:
        """Call it before the folder is read: what comes after that is reported."""
        self._add(root, folder, _FOLDER)

    def add_file(self, root: str, path: str) -> None:
        """For a file that holds no key yet but has the name of one that does."""
        self._add(root, path, _FILE)

    def covers(self, covered: Mapping[str, Identity]) -> None:
        """Call it before the program starts, with the path and the identity of everything that is covered."""
        self._covered, self._identities = covered, frozenset(covered.values())

    def appeared(self) -> str | None:
        """Returns the first path that appeared; once there is one, it stays. It never waits."""
        with self._lock:
            if self._appeared is None:
                self._appeared = self._compared() if self._fd is None else self._reported(self._fd)
            return self._appeared

    def require_nothing(self) -> None:
        """Raises: ConcealedPathAppeared."""
        if (path := self.appeared()) is not None:
            raise ConcealedPathAppeared(path)

    def close(self) -> None:
        """Call it when the program is gone. Nobody waits for the kernel, which lets its readers finish first."""
        with self._lock:
            fd, self._fd = self._fd, None
            self._appeared = self._appeared or _UNKNOWN
        if fd is not None:
            Thread(target=os.close, args=(fd,), daemon=True).start()

    def _add(self, root: str, path: str, flags: int) -> None:
        if self._fd is None:
            return
        try:
            number = add_notification(self._fd, f"{root}/{path}", flags)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return  # gone again, or closed to us and so to the program
        except OSError:  # no more of them: from now on everything is compared
            fd, self._fd = self._fd, None
            os.close(fd)
            return
        self._watched[number] = (root, path)

    def _compared(self) -> str | None:
        now = self._state()
        return next((path for path, identity in now.items() if self._covered.get(path) != identity), None)

    def _reported(self, fd: int) -> str | None:
        while _is_readable(fd):
            data, start = os.read(fd, _PIECE), 0
            while start < len(data):
                number, flags, _, length = _EVENT.unpack_from(data, start)
                name = os.fsdecode(data[start + _EVENT.size : start + _EVENT.size + length].rstrip(b"\0"))
                start += _EVENT.size + length
                if (path := self._judged(number, flags, name)) is not None:
                    return path
            if self._fd is None:
                return self._compared()
        return None

    def _judged(self, number: int, flags: int, name: str) -> str | None:
        """Returns the path that this event brought into view, if there is one."""
        if flags & (NotificationFlag.OVERFLOW | NotificationFlag.UNMOUNTED):
            return _UNKNOWN
        root, folder = self._watched.get(number, ("", ""))
        if not root or flags & NotificationFlag.IGNORED:
            return None
        if flags & NotificationFlag.MODIFY:
            return folder if folder not in self._covered else None  # written in place, it stays covered
        path = f"{folder}/{name}" if folder else name
        if flags & NotificationFlag.IS_FOLDER:
            return self._in_new_folder(root, path)
        return path if self._is_concealed(root, path) else None

    def _in_new_folder(self, root: str, folder: str) -> str | None:
        below = f"{folder}/"
        if not self._is_pinned and (folder in self._covered or any(path.startswith(below) for path in self._covered)):
            return folder
        waiting, read = [folder], 0
        while waiting:
            folder = waiting.pop()
            if folder.rpartition("/")[2] in NOT_ENTERED and not self._hidden.patterns and not self._hidden.asking:
                continue
            self.add_folder(root, folder)
            for name, is_folder in _entries(f"{root}/{folder}"):
                path, read = f"{folder}/{name}", read + 1
                if read > _MOST_NEW_ENTRIES:
                    return _UNKNOWN
                if is_folder:
                    waiting.append(path)
                elif self._is_concealed(root, path):
                    return path
        return None

    def _is_concealed(self, root: str, path: str) -> bool:
        if path in self._covered:
            return not self._is_pinned
        if self._hidden.covers(path) or (is_key_file(path) and self._hidden.withholds(path)):
            return True
        return _identity(f"{root}/{path}") in self._identities  # a new name of a covered file


def identities(roots: Sequence[str], paths: Iterable[str]) -> dict[str, Identity]:
    """Returns which file is at each of these paths, in the topmost of the layers that has it. Blocking."""
    identities_by_path: dict[str, Identity] = {}
    for path in paths:
        for root in reversed(roots):
            if (identity := _identity(f"{root}/{path}")) is not None:
                identities_by_path[path] = identity
                break
    return identities_by_path


def _identity(path: str) -> Identity | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if not stat.S_ISLNK(status.st_mode) else None


def _entries(folder: str) -> list[tuple[str, bool]]:
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return []


def _is_readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))
