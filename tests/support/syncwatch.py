"""Stops a process at its syncs or renames and lets it go on: a seccomp filter with a listener (Linux, no privileges needed).

The watched process calls `hand_over` before it opens its files; the watcher receives the listener and answers every call.
"""

import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_RET_ALLOW, _RET_USER_NOTIF = 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_GO_ON = 1

SYNCS = ("fsync", "fdatasync")
RENAMES = ("renameat", "renameat2")
# audit architecture, seccomp, and what can be watched
_NUMBERS = {
    "aarch64": (0xC00000B7, 277, {"fsync": 82, "fdatasync": 83, "renameat": 38, "renameat2": 276}),
    "x86_64": (0xC000003E, 317, {"fsync": 74, "fdatasync": 75, "renameat": 264, "renameat2": 316}),
}


def hand_over(to: socket.socket, calls: Sequence[str] = SYNCS) -> None:
    """From now on every such call of this thread, and of threads and processes it starts, waits for the watcher's word."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    arch, seccomp, numbers = _NUMBERS[platform.machine()]
    instructions = [
        (0x20, 0, 0, 4),  # load the architecture
        (0x15, 0, len(calls) + 1, arch),  # another one: allow
        (0x20, 0, 0, 0),  # load the call's number
        *((0x15, len(calls) - place, 0, numbers[name]) for place, name in enumerate(calls)),
        (0x06, 0, 0, _RET_ALLOW),
        (0x06, 0, 0, _RET_USER_NOTIF),
    ]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxQ", len(instructions), ctypes.addressof(buffer))
    listener = libc.syscall(seccomp, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.c_char_p(program))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    socket.send_fds(to, [b"listener"], [listener])
    os.close(listener)


@dataclass(frozen=True)
class HeldCall:
    """A call that has not happened yet. `path` is the file to be synced, or the new name as it was given."""

    id: int
    name: str
    path: Path


class SyncWatch:
    def __init__(self, listener: int) -> None:
        self.listener = listener

    @classmethod
    def received_from(cls, source: socket.socket) -> "SyncWatch":
        _, fds, _, _ = socket.recv_fds(source, 16, 1)
        return cls(fds[0])

    def next(self) -> HeldCall:
        """Blocks until a call is made: poll `listener` first."""
        notice = bytearray(80)
        fcntl.ioctl(self.listener, _RECEIVE, notice)
        call_id, pid, _, number = struct.unpack_from("QIIi", notice)
        arguments = struct.unpack_from("6Q", notice, 32)
        name = next(name for name, known in _NUMBERS[platform.machine()][2].items() if known == number)
        return HeldCall(call_id, name, _file_behind(pid, name, arguments))

    def let_go(self, held: HeldCall) -> None:
        try:
            fcntl.ioctl(self.listener, _SEND, struct.pack("QqiI", held.id, 0, 0, _GO_ON))
        except OSError as error:
            if error.errno != errno.ENOENT:  # the process is gone
                raise

    def close(self) -> None:
        os.close(self.listener)


def _file_behind(pid: int, name: str, arguments: tuple[int, ...]) -> Path:
    if name in SYNCS:
        return Path(f"/proc/{pid}/fd/{arguments[0]}").readlink()
    address = arguments[3]
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        rest_of_page = 4096 - address % 4096  # what lies beyond may not be there
        return Path(os.fsdecode(memory.read(rest_of_page).split(b"\0")[0]))
