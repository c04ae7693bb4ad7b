"""Builds the seccomp filter that bubblewrap loads: the system calls that no command may make. Pure; it only makes bytes.

Namespaces, mounts and capabilities are closed already: the filter reduces the reachable part of the kernel.
"""

import errno
import struct
from functools import cache

from anycowork.domain.values import value

# Refused with EPERM, on both architectures: (x86_64, aarch64); None where there is no such call.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "unshare": (272, 97),
    "setns": (308, 268),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    "vhangup": (153, 58),
    "nfsservctl": (180, 42),
    "move_pages": (279, 239),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "migrate_pages": (256, 238),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "ustat": (136, None),
    "sysfs": (139, None),
    "_sysctl": (156, None),
}
_UNIX = 1
_STREAM, _SEQUENCED, _SOCKET_KIND = 1, 5, 0xF  # the other bits of a socket's type are flags
_ALLOWED_FAMILIES = (_UNIX, 2, 10, 16)  # unix, inet, inet6, netlink; for example VSOCK is in no network namespace
_NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW… flag, time included
_TERMINAL_INJECTION = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_X32 = 0x40000000


@value
class _Machine:
    audit: int
    column: int
    clone: int
    clone3: int
    socket: int
    socketpair: int
    ioctl: int
    has_x32: bool


_MACHINES = {
    "x86_64": _Machine(0xC000003E, 0, clone=56, clone3=435, socket=41, socketpair=53, ioctl=16, has_x32=True),
    "aarch64": _Machine(0xC00000B7, 1, clone=220, clone3=435, socket=198, socketpair=199, ioctl=29, has_x32=False),
}


def knows(machine: str) -> bool:
    return machine in _MACHINES


@cache
def filter_for(machine: str, *, unix_sockets: bool = True) -> bytes:
    """Returns the program for this architecture (as `platform.machine()` names it). Raises: KeyError for an unknown one.

    Without `unix_sockets` only socket pairs are allowed: a program that sees the workspace could otherwise connect to a socket in it. And
    only connected pairs: a datagram socket can send to any address.
    """
    return b"".join(_program(_MACHINES[machine], unix_sockets=unix_sockets))


# --- the program: one small test after another, each with its own result

_LOAD, _AND, _EQUAL, _AT_LEAST, _BITS, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _FIRST, _SECOND = 0, 4, 16, 24  # offsets in seccomp_data; the low half of an argument, little endian
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS, _ERROR | errno.EAFNOSUPPORT


def _program(machine: _Machine, *, unix_sockets: bool) -> list[bytes]:
    steps = [_step(_LOAD, _ARCH), _step(_EQUAL, machine.audit, yes=1), _step(_RETURN, _KILL), _step(_LOAD, _NUMBER)]
    if machine.has_x32:
        steps += [_step(_AT_LEAST, _X32, no=1), _step(_RETURN, _KILL)]
    for numbers in _DENIED.values():
        number = numbers[machine.column]
        if number is not None:
            steps += [_step(_EQUAL, number, no=1), _step(_RETURN, _EPERM)]
    # clone3 passes its flags behind a pointer that no filter can follow; libc falls back to clone.
    steps += [_step(_EQUAL, machine.clone3, no=1), _step(_RETURN, _ENOSYS)]
    steps += [
        _step(_EQUAL, machine.clone, no=4),
        _step(_LOAD, _FIRST),
        _step(_BITS, _NEW_NAMESPACES, no=1),
        _step(_RETURN, _EPERM),
        _step(_RETURN, _ALLOW),
    ]
    steps += [
        _step(_EQUAL, machine.ioctl, no=5),
        _step(_LOAD, _SECOND),
        _step(_EQUAL, _TERMINAL_INJECTION[0], yes=1),
        _step(_EQUAL, _TERMINAL_INJECTION[1], no=1),
        _step(_RETURN, _EPERM),
        _step(_RETURN, _ALLOW),
    ]
    if not unix_sockets:
        steps += [
            _step(_EQUAL, machine.socket, no=4),
            _step(_LOAD, _FIRST),
            _step(_EQUAL, _UNIX, no=1),
            _step(_RETURN, _EAFNOSUPPORT),
            _step(_LOAD, _NUMBER),
            _step(_EQUAL, machine.socketpair, no=6),
            _step(_LOAD, _SECOND),
            _step(_AND, _SOCKET_KIND),
            _step(_EQUAL, _STREAM, yes=2),
            _step(_EQUAL, _SEQUENCED, yes=1),
            _step(_RETURN, _EAFNOSUPPORT),
            _step(_LOAD, _NUMBER),
        ]
    families = len(_ALLOWED_FAMILIES)
    steps += [_step(_EQUAL, machine.socket, yes=1), _step(_EQUAL, machine.socketpair, no=families + 2)]
    steps += [_step(_LOAD, _FIRST)]
    steps += [_step(_EQUAL, family, yes=families - index) for index, family in enumerate(_ALLOWED_FAMILIES)]
    return [*steps, _step(_RETURN, _EAFNOSUPPORT), _step(_RETURN, _ALLOW)]


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
