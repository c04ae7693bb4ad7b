"""Stops a process at its sync calls and lets it go on: a seccomp filter with a listener (Linux, no privileges needed).

The watched process calls `hand_over_syncs` before it opens its files; the watcher receives the listener and answers every call.
"""

import ctypes
import errno
import fcntl
import os
import platform
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_RET_ALLOW, _RET_USER_NOTIF = 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_GO_ON = 1

# audit architecture, seccomp, fsync, fdatasync
_NUMBERS = {"aarch64": (0xC00000B7, 277, 82, 83), "x86_64": (0xC000003E, 317, 74, 75)}


def hand_over_syncs(to: socket.socket) -> None:
    """From now on every fsync and fdatasync of this thread, and of threads it starts, waits for the watcher's word."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")
    arch, seccomp, fsync, fdatasync = _NUMBERS[platform.machine()]
    instructions = [
        (0x20, 0, 0, 4),  # load the architecture
        (0x15, 0, 4, arch),  # another one: allow
        (0x20, 0, 0, 0),  # load the call's number
        (0x15, 1, 0, fsync),
        (0x15, 0, 1, fdatasync),
        (0x06, 0, 0, _RET_USER_NOTIF),
        (0x06, 0, 0, _RET_ALLOW),
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
class HeldSync:
    """One sync call that has not happened yet."""

    id: int
    path: Path


class SyncWatch:
    def __init__(self, listener: int) -> None:
        self.listener = listener

    @classmethod
    def received_from(cls, source: socket.socket) -> "SyncWatch":
        _, fds, _, _ = socket.recv_fds(source, 16, 1)
        return cls(fds[0])

    def next(self) -> HeldSync:
        """Blocks until a call is made: poll `listener` first."""
        notice = bytearray(80)
        fcntl.ioctl(self.listener, _RECEIVE, notice)
        call_id, pid = struct.unpack_from("QI", notice)
        (fd,) = struct.unpack_from("Q", notice, 32)
        return HeldSync(call_id, Path(f"/proc/{pid}/fd/{fd}").readlink())

    def let_go(self, held: HeldSync) -> None:
        try:
            fcntl.ioctl(self.listener, _SEND, struct.pack("QqiI", held.id, 0, 0, _GO_ON))
        except OSError as error:
            if error.errno != errno.ENOENT:  # the process is gone
                raise

    def close(self) -> None:
        os.close(self.listener)
