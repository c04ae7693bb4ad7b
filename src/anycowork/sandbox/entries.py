"""Single operations on one entry of an open folder: stat, rename, copy, remove. Never through a link, never by a whole path."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anycowork.domain.tools import PathIntent
from anycowork.sandbox.delta import FILE, LINK
from anycowork.workspace.remove_folder import remove_folder
from anycowork.workspace.syscalls import rename_without_replacing

_CHUNK = 1 << 20


def look(name: str, parent: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def remove_atomically(name: str, parent: int, temporary: str) -> None:
    """Removes an entry, also a whole folder, atomically: renames it first, then deletes it piece by piece."""
    os.rename(name, temporary, src_dir_fd=parent, dst_dir_fd=parent)
    remove(temporary, parent)


def remove(name: str, parent: int) -> None:
    found = look(name, parent)
    if found is None:
        return
    if stat.S_ISDIR(found.st_mode):
        remove_folder(name, parent)
    else:
        os.unlink(name, dir_fd=parent)


def prepare(name: str, staged: int, item: PathIntent) -> None:
    """Sets the promised mode and removes the overlay's own attributes."""
    if item.kind != FILE:
        return
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=staged)
    try:
        for attribute in os.listxattr(fd):
            if attribute.startswith(("user.overlay.", "trusted.overlay.", "security.capability")):
                os.removexattr(fd, attribute)
        if item.mode is not None:
            os.fchmod(fd, item.mode)
    finally:
        os.close(fd)


def rename(name: str, folder: int, new_name: str, new_folder: int, *, replacing: bool) -> None:
    if not replacing:
        try:
            rename_without_replacing(name, folder, new_name, new_folder)
            return
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EINVAL):
                raise
    os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)


def copy_over(name: str, staged: int, temporary: str, parent: int, item: PathIntent, *, replacing: bool) -> None:
    """If the disk refuses in the middle, nothing half-written stays behind."""
    try:
        copy(name, staged, temporary, parent, item)
        rename(temporary, parent, name, parent, replacing=replacing)
    except OSError:
        remove(temporary, parent)
        raise


def copy(name: str, staged: int, temporary: str, parent: int, item: PathIntent) -> None:
    """Copies to another file system: a synced copy under a temporary name."""
    found = os.stat(name, dir_fd=staged, follow_symlinks=False)
    if item.kind == LINK:
        os.symlink(os.readlink(name, dir_fd=staged), temporary, dir_fd=parent)
    else:
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=staged)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            target = os.open(temporary, flags, 0o600, dir_fd=parent)
            try:
                while chunk := os.read(source, _CHUNK):
                    write_all(target, chunk)
                os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
                if item.mode is not None:
                    os.fchmod(target, item.mode)
                os.fsync(target)
            finally:
                os.close(target)
        finally:
            os.close(source)
    give_like(found, temporary, parent)


def write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


def give_like(found: os.stat_result, name: str, parent: int) -> None:
    if os.geteuid() == 0:
        os.chown(name, found.st_uid, found.st_gid, dir_fd=parent, follow_symlinks=False)


@contextmanager
def opened(name: str | Path, parent: int | None = None) -> Iterator[int]:
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield fd
    finally:
        os.close(fd)
