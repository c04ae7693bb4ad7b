"""A separate program: lays folders over each other as one tree and passes a descriptor of that tree to its parent.

Started as `python -I -S layer_mount_worker.py SOCKET UPPER WORK LOWER…` with an empty environment, the topmost lower folder first. The tree is
mounted nowhere: it exists as long as somebody holds its descriptor. Without root's rights this needs a user namespace, which only a
single-threaded process can enter, and the server is not one. It imports nothing of ours, so that it starts quickly.
"""

import _socket
import ctypes
import os
import sys

_CLONE_NEWNS, _CLONE_NEWUSER = 0x20000, 0x10000000
_FSOPEN, _FSCONFIG, _FSMOUNT, _OPENAT2 = 430, 431, 432, 437  # the same numbers on every architecture
_CLOEXEC = 1  # of fsopen and fsmount
_SET_FLAG, _SET_STRING, _CREATE = 0, 1, 6
_NOSUID, _NODEV, _NOEXEC = 0x02, 0x04, 0x08
_NO_LINKS = 0x02 | 0x04  # RESOLVE_NO_MAGICLINKS and RESOLVE_NO_SYMLINKS
_HERE = -100  # AT_FDCWD
_LONGEST_MESSAGE = 1000


class _OpenOptions(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def main(parent: int, upper: str, work: str, lower: list[str]) -> None:
    _enter_namespaces()
    context = _call(_FSOPEN, b"overlay", _CLOEXEC)
    try:
        _call(_FSCONFIG, context, _SET_FLAG, b"userxattr", None, 0)
        # By descriptor: each is exactly the folder that was named, and no path is too long or has characters with a meaning.
        _set(context, b"lowerdir", ":".join(map(_held, lower)))
        _set(context, b"upperdir", _held(upper))
        _set(context, b"workdir", _held(work))
        _call(_FSCONFIG, context, _CREATE, None, None, 0)
    except OSError as error:
        sys.exit(f"{error.strerror}; {_kernel_message(context)}")
    tree = _call(_FSMOUNT, context, _CLOEXEC, _NOSUID | _NODEV | _NOEXEC)
    connection = _socket.socket(fileno=parent)
    connection.sendmsg([b"!"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, tree.to_bytes(4, sys.byteorder))])


def _enter_namespaces() -> None:
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        _require(_LIBC.unshare(_CLONE_NEWNS))
        return
    _require(_LIBC.unshare(_CLONE_NEWUSER | _CLONE_NEWNS))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        file = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(file, text.encode())
        os.close(file)


def _held(path: str) -> str:
    """Opens a folder, with no link on the way; returns a short path to the descriptor, which stays open."""
    how = _OpenOptions(os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0, _NO_LINKS)
    return f"/proc/self/fd/{_call(_OPENAT2, _HERE, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))}"


def _set(context: int, key: bytes, value: str) -> None:
    _call(_FSCONFIG, context, _SET_STRING, key, value.encode(), 0)


def _kernel_message(context: int) -> str:
    try:
        return os.read(context, _LONGEST_MESSAGE).decode(errors="replace").strip()
    except OSError:
        return "the kernel gives no reason"


def _call(number: int, *arguments: object) -> int:
    c_arguments = (ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments)
    return _require(_LIBC.syscall(ctypes.c_long(number), *c_arguments))


def _require(answer: int) -> int:
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
