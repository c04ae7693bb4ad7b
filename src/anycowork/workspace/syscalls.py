"""The Linux system calls that the standard library lacks (openat2, renameat2, syncfs, inotify), and the attributes of files. Contains no policy."""

import ctypes
import errno
import os
import platform
import sys
from contextlib import suppress
from enum import IntFlag
from functools import cache
from typing import Any  # a function of the C library

RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08
_OPENAT2 = 437  # the same number on every architecture we run on
_RENAMEAT2 = {"x86_64": 316, "aarch64": 276, "arm64": 276}
_RENAME_NOREPLACE = 1
_TRIES = 1000  # EAGAIN means that something was renamed during the walk; an attacker must not keep us here forever
ACCESS_LIST = "system.posix_acl_access"


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def has_openat2() -> bool:
    """Returns False on other systems, on kernels before 5.6, and under seccomp filters that do not know the call."""
    if sys.platform != "linux":
        return False
    try:
        os.close(openat2(-100, ".", os.O_PATH | os.O_CLOEXEC, RESOLVE_BENEATH))  # -100 is AT_FDCWD
    except OSError as error:
        return error.errno not in (errno.ENOSYS, errno.EPERM)
    return True


def openat2(dir_fd: int, path: str, flags: int, resolve: int) -> int:
    """Raises: OSError; EXDEV if the path leaves `dir_fd`, ELOOP if there is a link that `resolve` forbids."""
    how, size = _how(flags, resolve)
    for _ in range(_TRIES):
        fd = _syscall(_OPENAT2, dir_fd, os.fsencode(path), how, size)
        if fd >= 0:
            return fd
        if ctypes.get_errno() not in (errno.EAGAIN, errno.EINTR):
            break
    raise _last_error(path)


@cache
def _how(flags: int, resolve: int) -> tuple[object, int]:
    """Cached for each way to open: the kernel only reads it."""
    how = _OpenHow(flags=flags, mode=0, resolve=resolve)
    return ctypes.byref(how), ctypes.sizeof(how)


def rename_without_replacing(source: str, source_fd: int, target: str, target_fd: int) -> None:
    """Raises: FileExistsError if the target exists; OSError with ENOSYS or EINVAL where the system cannot do this."""
    number = _RENAMEAT2.get(platform.machine()) if sys.platform == "linux" else None
    if number is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    arguments = (source_fd, os.fsencode(source), target_fd, os.fsencode(target), _RENAME_NOREPLACE)
    if _syscall(number, *arguments) != 0:
        raise _last_error(target)


def rename_to_new(source: str, source_fd: int, target: str, target_fd: int) -> None:
    """Renames to where nothing is; where the system cannot promise that, plainly. Raises: FileExistsError, OSError."""
    try:
        rename_without_replacing(source, source_fd, target, target_fd)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EINVAL):
            raise
        os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)


def sync_file_system(fd: int) -> None:
    """Makes everything on the file system of `fd` durable: one call instead of thousands. Raises: OSError."""
    if sys.platform != "linux":
        os.sync()
    elif _libc().syncfs(fd) != 0:
        raise _last_error("")


class NotificationFlag(IntFlag):
    """What inotify reports about a watched path, and how it is watched."""

    MODIFY = 0x2
    MOVED_TO = 0x80
    CREATE = 0x100
    UNMOUNTED = 0x2000
    OVERFLOW = 0x4000
    IGNORED = 0x8000
    ONLY_FOLDER = 0x01000000
    NO_LINK = 0x02000000
    IS_FOLDER = 0x40000000


def open_notifications() -> int | None:
    """Returns a descriptor of inotify that never waits; None if this system has none, or no more of them."""
    if sys.platform != "linux":
        return None
    fd = int(_libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
    return fd if fd >= 0 else None


def add_notification(fd: int, path: str, flags: int) -> int:
    """Returns the number that events of this path carry. Raises: OSError."""
    number = int(_add_watch()(fd, os.fsencode(path), flags))
    if number < 0:
        raise _last_error(path)
    return number


@cache
def _add_watch() -> Any:
    """Typed once: a command's start calls it for every folder."""
    add = _libc().inotify_add_watch
    add.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
    return add


def _syscall(number: int, *arguments: object) -> int:
    return int(_libc().syscall(ctypes.c_long(number), *arguments))


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _last_error(path: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code), path)


def keep_attributes(name: str, folder: int, new: int) -> None:
    """Gives them to the `new` file, before its mode is set: with an access list, the group's bits of a mode are no rights of the group.

    Does nothing where the disk has none, or the file is gone.
    """
    if sys.platform != "linux":
        return
    path = f"/proc/self/fd/{folder}/{name}"
    try:
        attributes = os.listxattr(path, follow_symlinks=False)
    except OSError:
        return
    for attribute in attributes:
        if attribute == ACCESS_LIST or (attribute.startswith("user.") and not attribute.startswith("user.overlay.")):
            with suppress(OSError):
                os.setxattr(new, attribute, os.getxattr(path, attribute, follow_symlinks=False))
