"""Landlock: limits what a single thread may do to files, enforced by the kernel. Contains no policy and no threads.

A domain is permanent, and child threads and processes inherit it. A `Ruleset` does not limit reading (the jail does that;
`read_only_in` does), and Landlock does not cover chmod, chown, utime and setxattr.
"""

import ctypes
import os
import stat
import sys
import weakref
from collections.abc import Iterable
from enum import IntFlag
from functools import cache, reduce
from operator import or_

_CREATE_RULESET = 444  # these three are the same on every architecture
_ADD_RULE = 445
_RESTRICT_SELF = 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38
_READ_DIR = 0b1000
_READ = 0b0100 | _READ_DIR  # open a file for reading, list a folder
_NET_TCP = 0b11  # bind and connect
# Abstract unix sockets. Not signals: the garbage collector may run a finalizer on any thread, and one may need to end a child.
_SCOPED = 0b01


class Access(IntFlag):
    """Rights that a domain removes everywhere, and may give back beneath a folder. The numbers are the kernel's."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13  # link or rename into another folder; ABI 2, and never allowed before
    TRUNCATE = 1 << 14  # ABI 3; before it, truncate() is not limited
    IOCTL_DEV = 1 << 15  # ABI 5


NOTHING = Access(0)
_SINCE = ((Access.REFER, 2), (Access.TRUNCATE, 3), (Access.IOCTL_DEV, 5))


class _RulesetAttr(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


@cache
def landlock_abi() -> int:
    """Returns 0 if there is none: another system, a kernel before 5.13, or one where it is switched off."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_libc().syscall(_long(_CREATE_RULESET), None, _long(0), _long(_ASK_VERSION))))


def handled(abi: int) -> Access:
    """Returns all rights that a kernel of this ABI can remove."""
    rights = reduce(or_, Access)
    for access, since in _SINCE:
        if abi < since:
            rights &= ~access
    return rights


class Ruleset:
    """Removes every right except `allowed` beneath `folder`. Threads can be restricted by it as long as it is held."""

    def __init__(self, allowed: Access, folder: int, *, abi: int | None = None) -> None:
        """`folder` is a descriptor and is not needed afterwards. Raises: OSError."""
        abi = landlock_abi() if abi is None else abi
        attributes = _RulesetAttr(fs=handled(abi), net=_NET_TCP if abi >= 4 else 0, scoped=_SCOPED if abi >= 6 else 0)
        # A kernel that knows fewer fields requires the rest to be zero, and they are.
        self._fd = _call(_CREATE_RULESET, ctypes.byref(attributes), _long(ctypes.sizeof(attributes)), _long(0))
        weakref.finalize(self, os.close, self._fd)
        if allowed & handled(abi):
            rule = _PathBeneathAttr(allowed=allowed & handled(abi), parent_fd=folder)
            _call(_ADD_RULE, _long(self._fd), _long(_PATH_BENEATH), ctypes.byref(rule), _long(0))

    def restrict_this_thread(self) -> None:
        """Restricts the calling thread permanently. Raises: OSError."""
        _restrict_by(self._fd)


def write_only_in(paths: Iterable[str], *, apart_from: str) -> bool:
    """Restricts this thread and its children to open only these files and folders for writing: also no pipe or device,
    which a read-only mount would allow. Returns False where the kernel has no Landlock. Raises: OSError.

    If a folder contains `apart_from`, a new folder inside it is used instead, and TMPDIR names it. Uses only the standard library, so that
    it can run before anything of ours may be imported.
    """
    abi = landlock_abi()
    if not abi:
        return False
    access = (Access.WRITE_FILE | Access.TRUNCATE) & handled(abi)
    attributes = _RulesetAttr(fs=access)
    rules = _call(_CREATE_RULESET, ctypes.byref(attributes), _long(ctypes.sizeof(attributes)), _long(0))
    for path in paths:
        _allow_beneath(rules, access, _apart(path, apart_from))
    _restrict_by(rules)
    os.close(rules)
    return True


def read_only_in(paths: Iterable[str]) -> bool:
    """Restricts this thread and its children to open only these files and folders for reading; what is open stays so.
    Returns False where the kernel has no Landlock. Raises: OSError.
    """
    if not landlock_abi():
        return False
    attributes = _RulesetAttr(fs=_READ)
    rules = _call(_CREATE_RULESET, ctypes.byref(attributes), _long(ctypes.sizeof(attributes)), _long(0))
    for path in paths:
        _allow_beneath(rules, _READ, path)
    _restrict_by(rules)
    os.close(rules)
    return True


def _apart(folder: str, other: str) -> str:
    if not f"{other}/".startswith(f"{folder}/"):
        return folder
    inside = f"{folder}/scratch-{os.urandom(8).hex()}"
    os.mkdir(inside, 0o700)  # noqa: PTH102  # noqa: PTH102  # pathlib would be the most expensive import here
    os.environ["TMPDIR"] = inside
    return inside


def _allow_beneath(rules: int, access: int, path: str) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISDIR(os.fstat(parent).st_mode):
        access &= ~_READ_DIR  # the kernel refuses this right for a file
    rule = _PathBeneathAttr(allowed=access, parent_fd=parent)
    _call(_ADD_RULE, _long(rules), _long(_PATH_BENEATH), ctypes.byref(rule), _long(0))
    os.close(parent)


def _restrict_by(ruleset: int) -> None:
    enabled, zero = ctypes.c_ulong(1), ctypes.c_ulong(0)
    if _libc().prctl(_PR_SET_NO_NEW_PRIVS, enabled, zero, zero, zero) != 0:
        raise _last_error()
    _call(_RESTRICT_SELF, _long(ruleset), _long(0))


def _call(number: int, *arguments: object) -> int:
    answer = int(_libc().syscall(_long(number), *arguments))
    if answer < 0:
        raise _last_error()
    return answer


def _long(value: int) -> ctypes.c_long:
    return ctypes.c_long(value)


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _last_error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
