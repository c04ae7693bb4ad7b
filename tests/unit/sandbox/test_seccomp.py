"""The filter of system calls, for both architectures: its numbers against the kernel's own, and its program run step by step.

Only one of the two can be tried for real on a machine. So the program is interpreted here as the kernel interprets it.
"""

import errno
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from anycowork.sandbox import seccomp
from anycowork.sandbox.seccomp import filter_for
from anycowork.workspace import landlock, syscalls
from support.spec import proves

# arch/x86/entry/syscalls/syscall_64.tbl of Linux 6.19, for those that the filter names.
X86_64 = """
ioctl 16 · socket 41 · socketpair 53 · clone 56 · ptrace 101 · syslog 103 · uselib 134 · ustat 136 · sysfs 139 · vhangup 153
modify_ldt 154 · pivot_root 155 · _sysctl 156 · adjtimex 159 · chroot 161 · acct 163 · settimeofday 164 · mount 165 · umount2 166
swapon 167 · swapoff 168 · reboot 169 · sethostname 170 · setdomainname 171 · iopl 172 · ioperm 173 · init_module 175
delete_module 176 · quotactl 179 · nfsservctl 180 · lookup_dcookie 212 · clock_settime 227 · mbind 237 · set_mempolicy 238
kexec_load 246 · add_key 248 · request_key 249 · keyctl 250 · migrate_pages 256 · unshare 272 · move_pages 279
perf_event_open 298 · fanotify_init 300 · name_to_handle_at 303 · open_by_handle_at 304 · clock_adjtime 305 · setns 308
process_vm_readv 310 · process_vm_writev 311 · kcmp 312 · finit_module 313 · kexec_file_load 320 · bpf 321 · userfaultfd 323
io_uring_setup 425 · io_uring_enter 426 · io_uring_register 427 · open_tree 428 · move_mount 429 · fsopen 430 · fsconfig 431
fsmount 432 · fspick 433 · clone3 435 · pidfd_getfd 438 · process_madvise 440 · mount_setattr 442 · quotactl_fd 443
open_tree_attr 467
"""
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}
SPECIAL = ("clone", "clone3", "socket", "socketpair", "ioctl")
MACHINES = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
NEW_USER, FORK, VSOCK, INET = 0x10000000, 17, 40, 2
STEAL_INPUT, WINDOW_SIZE = 0x5412, 0x5413


def numbers(machine: str) -> dict[str, int]:
    """Every number that the filter uses."""
    column = seccomp._MACHINES[machine].column
    named = {name: both[column] for name, both in seccomp._DENIED.items()}
    own = {name: getattr(seccomp._MACHINES[machine], name) for name in SPECIAL}
    return {name: number for name, number in {**named, **own}.items() if number is not None}


def test_the_numbers_of_x86_64_are_the_kernels() -> None:
    known = {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", X86_64)}
    assert numbers("x86_64") == known


@MACHINES
def test_the_numbers_are_those_of_the_headers_installed_here(machine: str) -> None:
    header = next((Path(path) for path in HEADERS[machine] if Path(path).exists()), None)
    if header is None:
        pytest.skip("the kernel's headers for this architecture are not installed")
    found = re.findall(r"^#define\s+__NR(?:3264)?_(\w+)\s+(\d+)$", header.read_text(), re.MULTILINE)
    known = {name: int(number) for name, number in found}
    ours = numbers(machine)
    older = {name for name in ours if name not in known}  # headers know what was there when they were made
    assert len(known) > 300 and older <= {"open_tree_attr", "quotactl_fd", "mount_setattr"}
    assert {name: number for name, number in ours.items() if name in known} == {
        name: known[name] for name in ours if name in known
    }


def test_the_numbers_elsewhere_are_the_same_kernels() -> None:
    """renameat2 is 316 on x86_64 and 276 on aarch64; what came after 2018 has one number everywhere."""
    assert syscalls._RENAMEAT2["x86_64"] == 316 and syscalls._RENAMEAT2["aarch64"] == 276
    assert syscalls._OPENAT2 == 437
    assert (landlock._CREATE_RULESET, landlock._ADD_RULE, landlock._RESTRICT_SELF) == (444, 445, 446)


# --- the program


def answer(machine: str, number: int, *arguments: int, arch: int | None = None, unix_sockets: bool = True) -> int:
    """What the kernel would do with this call: classic BPF over `struct seccomp_data`, little endian."""
    given = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<iIQ6Q", number, arch or seccomp._MACHINES[machine].audit, 0, *given)
    program = [struct.unpack("=HBBI", chunk) for chunk in _steps(filter_for(machine, unix_sockets=unix_sockets))]
    at, held = 0, 0
    while True:
        code, yes, no, value = program[at]
        at += 1
        match code:
            case 0x20:
                (held,) = struct.unpack_from("<I", data, value)
            case 0x54:
                held &= value
            case 0x15:
                at += yes if held == value else no
            case 0x35:
                at += yes if held >= value else no
            case 0x45:
                at += yes if held & value else no
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"no such step: {code:#x}")


def _steps(program: bytes) -> Iterator[bytes]:
    return (program[at : at + 8] for at in range(0, len(program), 8))


@proves("TOOL-4")
@MACHINES
def test_every_named_call_is_refused_and_every_other_passes(machine: str) -> None:
    named = {number for name, number in numbers(machine).items() if name not in SPECIAL}
    special = {number for name, number in numbers(machine).items() if name in SPECIAL}
    for number in set(range(600)) - special:
        assert answer(machine, number) == (ERROR | errno.EPERM if number in named else ALLOW), number


@proves("TOOL-4")
@MACHINES
def test_calls_are_judged_by_what_they_ask_for(machine: str) -> None:
    known = numbers(machine)
    assert answer(machine, known["clone"], FORK) == ALLOW
    assert answer(machine, known["clone"], FORK | NEW_USER) == ERROR | errno.EPERM
    assert answer(machine, known["clone3"]) == ERROR | errno.ENOSYS
    for call in ("socket", "socketpair"):
        assert answer(machine, known[call], INET) == ALLOW
        assert answer(machine, known[call], VSOCK) == ERROR | errno.EAFNOSUPPORT
    assert answer(machine, known["ioctl"], 0, WINDOW_SIZE) == ALLOW
    assert answer(machine, known["ioctl"], 0, STEAL_INPUT) == ERROR | errno.EPERM
    # The kernel takes the low half of an ioctl's number only, and so does the filter.
    assert answer(machine, known["ioctl"], 0, (1 << 32) | STEAL_INPUT) == ERROR | errno.EPERM


@proves("TOOL-5")
@MACHINES
def test_foreign_code_has_pairs_of_unix_sockets_and_no_others(machine: str) -> None:
    known, unix = numbers(machine), 1
    assert answer(machine, known["socket"], unix) == ALLOW
    assert answer(machine, known["socket"], unix, unix_sockets=False) == ERROR | errno.EAFNOSUPPORT
    flags = 0o2000000 | 0o4000  # close-on-exec, nonblocking
    for kind, passes in ((1, True), (5, True), (2, False), (3, False), (4, False), (0, False)):
        said = answer(machine, known["socketpair"], unix, kind | flags, unix_sockets=False)
        assert said == (ALLOW if passes else ERROR | errno.EAFNOSUPPORT), kind
        assert answer(machine, known["socketpair"], unix, kind) == ALLOW, "a command's layer has no socket of anybody's"
    assert answer(machine, known["socketpair"], VSOCK, 1, unix_sockets=False) == ERROR | errno.EAFNOSUPPORT
    assert answer(machine, known["socket"], INET, unix_sockets=False) == ALLOW
    assert answer(machine, known["socket"], VSOCK, unix_sockets=False) == ERROR | errno.EAFNOSUPPORT
    for name, number in numbers(machine).items():
        if name not in SPECIAL:
            assert answer(machine, number, unix_sockets=False) == ERROR | errno.EPERM


@proves("TOOL-4")
@MACHINES
def test_calls_in_another_architectures_way_end_the_process(machine: str) -> None:
    for arch in (0x40000003, 0x40000028, 0xC000003E, 0xC00000B7):  # i386, arm, x86_64, aarch64
        if arch != seccomp._MACHINES[machine].audit:
            assert answer(machine, 1, arch=arch) == KILL
    if machine == "x86_64":
        assert answer(machine, 0x40000000 | 165) == KILL, "mount by its x32 number"
