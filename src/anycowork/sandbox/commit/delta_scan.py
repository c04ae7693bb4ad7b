"""Finds what a command changed: compares the overlay's upper layer with the workspace beneath it. Reads only, follows no link.

The result is relative to the current workspace, so that opaque folders, whiteouts and replaced folders are the same thing: a path with a
state before and another one after.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from anycowork.domain.values import leaf_value, replace
from anycowork.sandbox.commit.delta import (
    FILE,
    FOLDER,
    LARGEST_REMEMBERED,
    LINK,
    Delta,
    PathChange,
    PathState,
    UnusableDelta,
    hash_of_bytes,
    read_small,
)
from anycowork.sandbox.commit.entry_marks import (
    TO_FOLDER,
    TO_READ,
    entries_below,
    hash_of,
    listing_mark,
    look,
    mark_of,
    names_in,
)
from anycowork.workspace.paths import DEEPEST, LONGEST_PATH, WorkspacePath, shown

MOST_PATHS = 100_000
MOST_BYTES = 16 << 30  # apparent size: a sparse file is read like any other
# Attributes of staged files that are removed before they are committed.
DROPPED_ATTRIBUTES = ("user.overlay.", "trusted.overlay.", "security.capability")
_OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")


def scan(upper: str, root: str) -> Delta:
    """Raises: UnusableDelta if it holds too much, or names that cannot be recorded."""
    return Scanner().scanned(upper, root)


@leaf_value
class FolderPair:
    """A folder of the layer and the one beneath it, both open. `prefix` begins the paths of its entries.

    `plain_names`: no path of an entry can be too long or not UTF-8.
    """

    above: int
    below: int | None
    place: WorkspacePath
    opaque: bool
    prefix: str
    plain_names: bool

    def child(self, name: str) -> WorkspacePath:
        return WorkspacePath((*self.place.parts, name))


class Scanner:
    """Reads an overlay's upper layer. Other kinds of layers override how removed and untouched paths are found."""

    def __init__(self) -> None:
        self.delta = Delta()
        self._seen = 0
        self._bytes = 0

    def scanned(self, upper: str, root: str) -> Delta:
        """Raises: UnusableDelta."""
        try:
            with _opened(upper) as above, _opened(root) as below:
                self.folder(above, below, WorkspacePath(()), opaque=False)
        except OSError as error:
            where = f": '{shown(error.filename)}'" if isinstance(error.filename, str) else ""
            raise UnusableDelta(
                f"What the command changed could not be read ({error.strerror}{where}); none of it was kept."
            ) from None
        return self.delta

    def folder(self, above: int, below: int | None, path: WorkspacePath, *, opaque: bool) -> None:
        if len(path.parts) > DEEPEST:
            raise UnusableDelta(f"The command made folders more than {DEEPEST} deep; none of its changes was kept.")
        names = names_in(above)
        if below is not None:
            for name in self.vanished(path, names, below, opaque=opaque):
                self._removed(name, below, path.child(name))
        prefix = f"{path.path}/" if path.parts else ""
        longest = len(prefix) + max(map(len, names), default=0)
        plain_names = longest <= LONGEST_PATH and prefix.isascii() and all(map(str.isascii, names))
        pair = FolderPair(above, below, path, opaque, prefix, plain_names)
        for name in names:
            self.entry(name, pair)

    def vanished(self, path: WorkspacePath, names: list[str], below: int, *, opaque: bool) -> list[str]:
        """Returns entries of the workspace's folder that the layer no longer shows, besides those with a whiteout."""
        return sorted(set(names_in(below)) - set(names)) if opaque else []

    def entry(self, name: str, pair: FolderPair) -> None:
        self._count()
        if not pair.plain_names:
            _require_recordable(pair.prefix + name)
        if self._file_on_both_sides(name, pair):
            return
        above, below, path = pair.above, pair.below, pair.child(name)
        status = os.stat(name, dir_fd=above, follow_symlinks=False)
        lower = None if below is None else look(name, below)
        if _is_whiteout(status):
            if lower is not None and below is not None:
                self._removed(name, below, path)
        elif stat.S_ISDIR(status.st_mode):
            self.folder_entry(name, above, below, path, status, lower, opaque=pair.opaque)
        elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            self._file_entry(name, above, below, path, status, lower)
        else:
            self.delta.skipped.append(path)

    def _file_on_both_sides(self, name: str, pair: FolderPair) -> bool:
        """Compares two regular files, each opened once: what a command changes by the thousand. Returns False for everything else.

        One function, and the cheapest calls: a third of the scan was the interpreter's.
        """
        below = pair.below
        if below is None:
            return False
        staged = lower = -1
        try:
            beneath = os.lstat(name, dir_fd=below)
            if not stat.S_ISREG(beneath.st_mode):
                return False  # opening a pipe or a device of the workspace would have effects
            staged = os.open(name, TO_READ, dir_fd=pair.above)
            lower = os.open(name, TO_READ, dir_fd=below)
        except OSError:
            if staged >= 0:
                os.close(staged)
            return False
        try:
            status = os.fstat(staged)
            mode, size, old_size = status.st_mode, status.st_size, beneath.st_size
            if not stat.S_ISREG(mode):
                return False
            self._add_bytes(size if old_size == size else size + old_size)
            dropped = _drop_attributes(staged)
            new_mark, mark, content = _both_marks(staged, size, lower, old_size)
            # Reading a large file takes long, and whoever writes to it meanwhile must not be taken for the state before the command.
            newest = beneath.st_ctime_ns if content is not None else os.fstat(lower).st_ctime_ns
        finally:
            os.close(staged)
            os.close(lower)
        old_mode, kept_mode = beneath.st_mode & 0o777, mode & 0o777
        if mark == new_mark and old_mode == kept_mode:
            return True  # copied up without being changed
        path, links = WorkspacePath((*pair.place.parts, name)), beneath.st_nlink
        if content is not None:
            self.delta.replaced.add(pair.prefix + name, beneath, mark, content)
        if links > 1:
            self.delta.split.append(path)
        before = PathState(
            FILE, old_mode, old_size, mark, beneath.st_ino, beneath.st_ctime_ns, links, mtime=beneath.st_mtime_ns
        )
        after = PathState(
            FILE, kept_mode, size, new_mark, 0, 0, status.st_nlink, dropped and kept_mode == mode & 0o7777
        )
        self.delta.changes.append(PathChange(path, before, after, (), newest))
        return True

    def folder_entry(
        self,
        name: str,
        above: int,
        below: int | None,
        path: WorkspacePath,
        status: os.stat_result,
        lower: os.stat_result | None,
        *,
        opaque: bool,
    ) -> None:
        with _opened(name, above, ours=True) as inner:
            if lower is None or below is None or not stat.S_ISDIR(lower.st_mode):
                plain = not _has_dropped_attributes(inner)
                self._changed(name, below, path, lower, PathState(FOLDER, _mode(status), plain=plain))
                self.folder(inner, None, path, opaque=False)
                return
            if _mode(lower) != _mode(status):
                before = PathState(FOLDER, _mode(lower), inode=lower.st_ino, ctime=lower.st_ctime_ns)
                change = PathChange(path, before, PathState(FOLDER, _mode(status)), newest=lower.st_ctime_ns)
                self.delta.changes.append(change)
            with _opened(name, below) as under:
                self.folder(inner, under, path, opaque=opaque or _is_opaque(inner))

    def _file_entry(
        self,
        name: str,
        above: int,
        below: int | None,
        path: WorkspacePath,
        status: os.stat_result,
        lower: os.stat_result | None,
    ) -> None:
        self._add_size(status)
        after = _staged_state(name, above, status)
        if lower is None or below is None or stat.S_IFMT(lower.st_mode) != stat.S_IFMT(status.st_mode):
            self._changed(name, below, path, lower, after)
            return
        if lower.st_size != status.st_size:
            self._add_size(lower)
        mark, content, newest = _lower_content(name, below, lower)
        if mark == after.mark and (after.kind == LINK or _mode(lower) == after.mode):
            return  # copied up without being changed
        self.delta.replaced.add(path.path, lower, mark, content)
        self._replaced(path, PathChange(path, _lower_state(lower, mark), after, newest=newest))

    def _changed(
        self, name: str, below: int | None, path: WorkspacePath, lower: os.stat_result | None, after: PathState
    ) -> None:
        if lower is None or below is None:
            # Something created or removed beside it meanwhile may have been at this same path.
            newest = 0 if below is None else _entries_changed_at(os.fstat(below))
            self.delta.changes.append(PathChange(path, None, after, newest=newest))
            return
        self._replaced(path, replace(self._removal(name, below, path, lower), after=after))

    def _replaced(self, path: WorkspacePath, change: PathChange) -> None:
        if change.before is not None and change.before.kind == FILE and change.before.links > 1:
            self.delta.split.append(path)
        self.delta.changes.append(change)

    def _removed(self, name: str, below: int, path: WorkspacePath) -> None:
        self._count()
        _require_recordable(path.path)
        lower = os.stat(name, dir_fd=below, follow_symlinks=False)
        self.delta.changes.append(self._removal(name, below, path, lower))

    def _removal(self, name: str, below: int, path: WorkspacePath, lower: os.stat_result) -> PathChange:
        if not stat.S_ISDIR(lower.st_mode):
            self._add_size(lower)
            readable = stat.S_ISREG(lower.st_mode) or stat.S_ISLNK(lower.st_mode)
            mark, content, newest = _lower_content(name, below, lower) if readable else ("", None, lower.st_ctime_ns)
            self.delta.replaced.add(path.path, lower, mark, content)
            return PathChange(path, _lower_state(lower, mark), None, newest=newest)
        listing = []
        for inner, status in entries_below(name, below, path):
            self._count()
            _require_recordable(inner.path)
            listing.append((inner, status))
        mark = listing_mark(listing, depth=len(path.parts))
        newest = max([lower.st_ctime_ns, *(status.st_ctime_ns for _, status in listing)])
        return PathChange(path, _lower_state(lower, mark), None, tuple(inner for inner, _ in listing), newest)

    def _add_size(self, status: os.stat_result) -> None:
        """Counts its size before it is read."""
        self._add_bytes(status.st_size if stat.S_ISREG(status.st_mode) else 0)

    def _add_bytes(self, size: int) -> None:
        self._bytes += size
        if self._bytes > MOST_BYTES:
            raise UnusableDelta(
                f"What the command changed has more than {MOST_BYTES:,} bytes, too many to be looked at; none of its changes was kept. "
                "Let it do less at a time."
            )

    def _count(self) -> None:
        self._seen += 1
        if self._seen > MOST_PATHS:
            raise UnusableDelta(
                f"The command changed more than {MOST_PATHS:,} paths; none of its changes was kept. Let it do less at a time."
            )


def _require_recordable(path: str) -> None:
    """Raises: UnusableDelta if the path is too long, or not UTF-8."""
    try:
        size = len(path) if path.isascii() else len(path.encode())
    except UnicodeEncodeError:
        raise UnusableDelta(
            f"The command made, changed or removed '{shown(path)}', whose name is not valid UTF-8 and cannot be recorded; "
            "none of its changes was kept."
        ) from None
    if size > LONGEST_PATH:
        raise UnusableDelta(
            f"The command made a path of more than {LONGEST_PATH} bytes ('{shown(path, 60)}'); "
            "none of its changes was kept."
        )


# --- reading, always from an open folder, never through a link


@contextmanager
def _opened(name: str, folder: int | None = None, *, ours: bool = False) -> Iterator[int]:
    try:
        fd = os.open(name, TO_FOLDER, dir_fd=folder)
    except PermissionError:
        # A command may remove its owner's access to a folder; we may reopen those of the upper layer.
        if not ours:
            raise
        os.chmod(name, 0o700, dir_fd=folder)
        fd = os.open(name, TO_FOLDER, dir_fd=folder)
    try:
        yield fd
    finally:
        os.close(fd)


def _staged_state(name: str, folder: int, status: os.stat_result) -> PathState:
    """Reads a file or link of the upper layer. Makes a file readable that the command closed; the state keeps its intended mode.

    Removes the overlay's own attributes from it: nothing mounts the layer again.
    """
    if stat.S_ISLNK(status.st_mode):
        return PathState(
            LINK, _mode(status), status.st_size, mark_of(name, folder, status), links=status.st_nlink, plain=True
        )
    closed = not status.st_mode & stat.S_IRUSR and os.geteuid() != 0
    if closed:
        os.chmod(name, stat.S_IMODE(status.st_mode) | stat.S_IRUSR, dir_fd=folder)
    fd = os.open(name, TO_READ, dir_fd=folder)
    try:
        mode, mark = _mode(status), hash_of(fd, status.st_size)
        plain = not closed and mode == stat.S_IMODE(status.st_mode) and _drop_attributes(fd)
    finally:
        os.close(fd)
    return PathState(FILE, mode, status.st_size, mark, links=status.st_nlink, plain=plain)


def _lower_content(name: str, folder: int, status: os.stat_result) -> tuple[str, bytes | None, int]:
    """Returns what identifies the content of a file or link of the workspace, the content itself if the file is small, and the ctime after
    it was read: whoever writes to a large file meanwhile must not be taken for the state before the command."""
    if not stat.S_ISREG(status.st_mode):
        mark = mark_of(name, folder, status)
        return mark, None, os.stat(name, dir_fd=folder, follow_symlinks=False).st_ctime_ns
    fd = os.open(name, TO_READ, dir_fd=folder)
    try:
        mark, content = read_small(fd, status.st_size) or (hash_of(fd, status.st_size), None)
        return mark, content, os.fstat(fd).st_ctime_ns
    finally:
        os.close(fd)


def _entries_changed_at(folder: os.stat_result) -> int:
    """Returns when an entry of the folder was made or removed, at the latest. Anybody can set the one time, also to a future one."""
    return min(folder.st_mtime_ns, folder.st_ctime_ns)


def _lower_state(status: os.stat_result, mark: str) -> PathState:
    return PathState(
        _kind(status.st_mode),
        _mode(status),
        status.st_size,
        mark,
        inode=status.st_ino,
        ctime=status.st_ctime_ns,
        links=status.st_nlink,
        mtime=status.st_mtime_ns,
    )


def _has_dropped_attributes(fd: int) -> bool:
    return any(name.startswith(DROPPED_ATTRIBUTES) for name in os.listxattr(fd))


def _drop_attributes(fd: int) -> bool:
    """Removes what a commit would remove, while the file is open anyway. Returns whether nothing of it is left."""
    try:
        for name in os.listxattr(fd):
            if name.startswith(DROPPED_ATTRIBUTES):
                os.removexattr(fd, name)
    except OSError:
        return False
    return True


def _both_marks(staged: int, size: int, lower: int, old_size: int) -> tuple[str, str, bytes | None]:
    """Returns the hashes of the new and the old content, and the old content itself if the file is small."""
    if size < LARGEST_REMEMBERED and old_size < LARGEST_REMEMBERED:
        new, old = os.pread(staged, size + 1, 0), os.pread(lower, old_size + 1, 0)
        if len(new) == size and len(old) == old_size:
            return hash_of_bytes(new), hash_of_bytes(old), old
    mark, content = read_small(lower, old_size) or (hash_of(lower, old_size), None)
    return hash_of(staged, size), mark, content


def _is_whiteout(status: os.stat_result) -> bool:
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def _is_opaque(folder: int) -> bool:
    try:
        names = os.listxattr(folder)
        return any(name in names and os.getxattr(folder, name) == b"y" for name in _OPAQUE)
    except OSError:
        return False


def _kind(mode: int) -> str:
    return FOLDER if stat.S_ISDIR(mode) else LINK if stat.S_ISLNK(mode) else FILE


def _mode(status: os.stat_result) -> int:
    """Drops the bits that would let a program run as its owner; on folders only the group's bit means something else."""
    kept_bits = 0o3777 if stat.S_ISDIR(status.st_mode) else 0o777
    return stat.S_IMODE(status.st_mode) & kept_bits
