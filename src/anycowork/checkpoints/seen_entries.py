"""Recognises a file that was looked at before, by its inode and times, without reading it again."""

import os
import stat
import time

from anycowork.domain.snapshots import PathImage, PathKind, SeenEntry, Undo

# ns, more than the step of a file system's clock: a file this young may change without a new time.
_CLOCK_STEP = 50_000_000


def seen_entry(status: os.stat_result | None, image: PathImage, content: bytes | None) -> SeenEntry | None:
    """Returns how to recognise the file again whose content was read after `status`; None if its times cannot tell a later change."""
    if status is None or image.kind is not PathKind.FILE or image.hash is None or is_young(status):
        return None
    return SeenEntry(status.st_ino, status.st_ctime_ns, image.hash, content)


def is_as_seen(undo: Undo, now: os.stat_result | None) -> bool:
    """Tells whether the expected file is still there, without reading it again."""
    seen, expected = undo.seen, undo.expected
    if seen is None or expected is None or now is None or not stat.S_ISREG(now.st_mode):
        return False
    same_file = (seen.inode, seen.ctime) == (now.st_ino, now.st_ctime_ns)
    return same_file and (expected.kind, expected.hash, expected.mode) == (
        PathKind.FILE,
        seen.hash,
        stat.S_IMODE(now.st_mode),
    )


def was_seen_as_expected(undo: Undo) -> bool:
    """Tells whether the file that was seen is the one that is expected; then inode and ctime alone tell whether it still is."""
    seen, expected = undo.seen, undo.expected
    return seen is not None and expected is not None and (expected.kind, expected.hash) == (PathKind.FILE, seen.hash)


def is_young(status: os.stat_result) -> bool:
    return time.time_ns() - status.st_ctime_ns < _CLOCK_STEP


def stat_entry(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def identity_of(status: os.stat_result | None) -> tuple[int, int] | None:
    return None if status is None else (status.st_ino, status.st_ctime_ns)
