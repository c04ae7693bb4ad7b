"""Single operations on one entry of an open folder: stat, rename, copy, remove. Never through a link, never by a whole path."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from anycowork.domain.tools import PathIntent
from anycowork.sandbox.commit.delta import FILE, LINK
from anycowork.sandbox.commit.delta_scan import DROPPED_ATTRIBUTES
from anycowork.workspace.packfile import has_holes, ranges_with_data
from anycowork.workspace.remove_folder import remove_folder
from anycowork.workspace.syscalls import rename_to_new, rename_without_replacing

_CHUNK = 1 << 20
_NO_RANGES = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)


def look(name: str, parent: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def put_aside(name: str, parent: int, temporary: str) -> str:
    """Renames an entry, also a whole folder, before it is removed piece by piece. Returns its name then.

    In an overlay, a folder of a lower layer cannot be renamed: it keeps its name.
    """
    try:
        os.rename(name, temporary, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        return name
    return temporary


def remove_or_put_back(aside: str, parent: int, name: str) -> None:
    """Removes what was put aside. What cannot be removed, such as an immutable file in a folder, is found under its own name again."""
    try:
        remove(aside, parent)
    except OSError:
        if aside != name and look(aside, parent) is not None:
            with suppress(OSError):
                rename_to_new(aside, parent, name, parent)
        raise


def remove(name: str, parent: int) -> None:
    status = look(name, parent)
    if status is None:
        return
    if stat.S_ISDIR(status.st_mode):
        remove_folder(name, parent)
    else:
        os.unlink(name, dir_fd=parent)


def prepare(name: str, staged: int, item: PathIntent) -> None:
    """Sets the promised mode and removes the overlay's own attributes."""
    if item.kind != FILE:
        return
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=staged)
    try:
        remove_overlay_attributes(fd)
        if item.mode is not None:
            os.fchmod(fd, item.mode)
    finally:
        os.close(fd)


def remove_overlay_attributes(fd: int) -> None:
    for attribute in os.listxattr(fd):
        if attribute.startswith(DROPPED_ATTRIBUTES):
            os.removexattr(fd, attribute)


def rename(name: str, folder: int, new_name: str, new_folder: int, *, replacing: bool) -> None:
    if replacing:
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)
    else:
        rename_to_new(name, folder, new_name, new_folder)


def move_in(name: str, folder: int, new_folder: int) -> None:
    """Moves an entry, also a whole folder, to where nothing is. Raises: FileExistsError; OSError where the system cannot do this."""
    rename_without_replacing(name, folder, name, new_folder)


def copy_over(name: str, staged: int, temporary: str, parent: int, item: PathIntent, *, replacing: bool) -> None:
    """If the disk refuses in the middle, nothing half-written stays behind."""
    try:
        copy(name, staged, temporary, parent, item)
        rename(temporary, parent, name, parent, replacing=replacing)
    except OSError:
        remove(temporary, parent)
        raise


def copy(name: str, staged: int, temporary: str, parent: int, item: PathIntent, *, synced: bool = True) -> None:
    """Copies to another file system, under a temporary name. Without `synced`, the caller syncs all copies at once."""
    status = os.stat(name, dir_fd=staged, follow_symlinks=False)
    if item.kind == LINK:
        os.symlink(os.readlink(name, dir_fd=staged), temporary, dir_fd=parent)
    else:
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=staged)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            target = os.open(temporary, flags, 0o600, dir_fd=parent)
            try:
                copy_bytes(source, target, status.st_size)
                os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
                if item.mode is not None:
                    os.fchmod(target, item.mode)
                if synced:
                    os.fsync(target)
            finally:
                os.close(target)
        finally:
            os.close(source)
    give_like(status, temporary, parent)


def copy_bytes(source: int, target: int, size: int) -> None:
    """Copies no more than `size` bytes: a file that keeps growing would never end. Shares blocks where the disk can, and keeps holes."""
    status = os.fstat(source)
    if has_holes(status):
        try:
            for start, end in ranges_with_data(source, size):
                os.lseek(source, start, os.SEEK_SET)
                os.lseek(target, start, os.SEEK_SET)
                _copy_range(source, target, end - start)
            os.ftruncate(target, min(size, status.st_size))
            return
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            for fd in (source, target):
                os.lseek(fd, 0, os.SEEK_SET)
    _copy_range(source, target, size)


def _copy_range(source: int, target: int, size: int) -> None:
    remaining = size
    try:
        while remaining > 0 and (done := os.copy_file_range(source, target, remaining)):
            remaining -= done
    except OSError as error:
        if error.errno not in _NO_RANGES:
            raise
    while remaining > 0 and (chunk := os.read(source, min(_CHUNK, remaining))):
        remaining -= len(chunk)
        write_all(target, chunk)


def write_all(fd: int, data: bytes) -> None:
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(fd, remaining) :]


def give_like(status: os.stat_result, name: str, parent: int) -> None:
    if os.geteuid() == 0:
        os.chown(name, status.st_uid, status.st_gid, dir_fd=parent, follow_symlinks=False)


@contextmanager
def opened(name: str | Path, parent: int | None = None) -> Iterator[int]:
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)


def lies_elsewhere(staged: str | Path, root: str | Path) -> bool:
    """Tells whether a file cannot be renamed from one folder into the other. The kernel reports that before it looks for the file."""
    nothing = f".anycowork-{os.urandom(8).hex()}"
    try:
        Path(staged, nothing).rename(Path(root, nothing))
    except OSError as error:
        return error.errno == errno.EXDEV
    return False
