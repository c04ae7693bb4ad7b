"""Identifies the content of entries: a file by its hash, a link by its target, a folder by its listing. Reads only, follows no link."""

import os
import stat
from collections.abc import Iterator
from hashlib import sha256

from anycowork.sandbox.commit.delta import FOLDER, UnusableDelta
from anycowork.workspace.paths import DEEPEST, WorkspacePath

_CHUNK = 1 << 20
_EMPTY = sha256()
TO_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
TO_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def mark_of(name: str, folder: int, status: os.stat_result) -> str:
    """Identifies the content of a file or a link. Raises: OSError."""
    if stat.S_ISLNK(status.st_mode):
        return sha256(os.fsencode(os.readlink(name, dir_fd=folder))).hexdigest()
    fd = os.open(name, TO_READ, dir_fd=folder)
    try:
        return hash_of(fd, status.st_size)
    finally:
        os.close(fd)


def state_mark(name: str, folder: int, status: os.stat_result) -> str:
    """Identifies the state of any entry as a manifest records it. Raises: OSError."""
    if stat.S_ISDIR(status.st_mode):
        return FOLDER
    if stat.S_ISLNK(status.st_mode):
        return f"link:{mark_of(name, folder, status)}"
    return mark_of(name, folder, status) if stat.S_ISREG(status.st_mode) else "other"


def hash_of(fd: int, size: int) -> str:
    """Reads to the end. A file that still has its `size` takes one call: asking for one byte more returned exactly that many."""
    chunk = os.pread(fd, min(size + 1, _CHUNK), 0)
    digest = _EMPTY.copy()  # cheaper than a new one
    digest.update(chunk)
    if len(chunk) == size:
        return digest.hexdigest()
    offset = len(chunk)
    while chunk := os.pread(fd, _CHUNK, offset):
        digest.update(chunk)
        offset += len(chunk)
    return digest.hexdigest()


def tree_mark(name: str, folder: int) -> str:
    """Identifies a folder with everything in it, without reading the files. Raises: OSError."""
    return listing_mark(list(entries_below(name, folder, WorkspacePath(()))), depth=0)


def listing_mark(listing: list[tuple[WorkspacePath, os.stat_result]], *, depth: int) -> str:
    digest = sha256()
    for path, status in listing:
        inside = "/".join(path.parts[depth:]).encode(errors="surrogateescape")
        digest.update(b"%s\0%d\0%d\0%d\n" % (inside, status.st_mode, status.st_size, status.st_mtime_ns))
    return digest.hexdigest()


def entries_below(name: str, folder: int, path: WorkspacePath) -> Iterator[tuple[WorkspacePath, os.stat_result]]:
    """Yields everything in the folder `name`, sorted, folders before their content. Raises: UnusableDelta if it is too deep."""
    if len(path.parts) > DEEPEST:
        raise UnusableDelta(
            f"The command removed or replaced folders more than {DEEPEST} deep, which could not be looked at exactly; none of its "
            "changes was kept. Remove the deepest of them by hand."
        )
    fd = os.open(name, TO_FOLDER, dir_fd=folder)
    try:
        for inner in names_in(fd):
            status = os.stat(inner, dir_fd=fd, follow_symlinks=False)
            yield path.child(inner), status
            if stat.S_ISDIR(status.st_mode):
                yield from entries_below(inner, fd, path.child(inner))
    finally:
        os.close(fd)


def names_in(folder: int) -> list[str]:
    return sorted(os.listdir(folder))


def look(name: str, folder: int) -> os.stat_result | None:
    """Returns the stat of the entry itself; None if there is none."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
