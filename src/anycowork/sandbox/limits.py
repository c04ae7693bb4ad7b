"""Limits the resources of one command. The shell inside the sandbox sets them for ordinary users; a cgroup counts root's processes.

The kernel does not limit root's number of processes, whatever its limits are.
"""

import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from anycowork.domain.values import value
from anycowork.workspace.packfile import opened

_MIB = 1 << 20
_GIB = 1 << 30
# Bubblewrap's first process in the sandbox ties itself to the one outside and then loads the filter that the command already has.
_UNTIL_INIT_IS_TIED = (  # where the kernel counts filters (Linux 5.9); elsewhere, and after many checks, it is nearly always ready
    'mapfile -t own 2>/dev/null < /proc/self/status; [[ "${own[*]} " =~ Seccomp_filters:.[0-9]+\\  ]]; '
    "for ((looks = 0; looks < 2000; looks++)); do mapfile -t own 2>/dev/null < /proc/1/status; "
    '[[ "${own[*]} " == *"${BASH_REMATCH[0]}"* ]] && break; done; unset own looks'
)
_SELECTABLE = 1024  # bash looks at a descriptor with select(2), which takes no higher one; a busy server has many open
UNTIED = 125  # the exit code of a command that did not start because the server was gone
UNCOUNTED = 124  # the exit code of one that did not start because its processes would not have been counted


@value
class CommandLimits:
    """Bytes, unless the name says otherwise. `memory` is the limit per process, and with a cgroup for all together."""

    processes: int = 512
    memory: int = 8 * _GIB
    file_size: int = 4 * _GIB
    scratch: int = 1 * _GIB  # /tmp, the home folder and /dev/shm, each
    free_space: int = 256 * _MIB  # must stay free on the disk that receives the writes
    free_files: int = 20_000  # how many more files that disk must be able to hold, unless it is made for few
    processor_seconds: int | None = None  # of one process


def limited_shell(
    bash: str,
    limits: CommandLimits,
    command: str,
    *,
    groups: Sequence[int],
    death_pipe: int,
    unneeded: int,
    begun: int,
    check: str,
) -> list[str]:
    """Returns a bash script that limits itself permanently and then runs the command; it ends instead if it cannot join `groups`, nobody holds
    the other end of its death pipe, or `check` ends it. It writes to `begun` just before the command.

    It runs inside the namespace: there a process limit counts only the command's processes, not the user's others. Both are on one line,
    which bash reads as a whole before it runs any of it: a command that does not parse never runs, so it cannot run without limits.
    """
    settings = {
        "c": 0,
        "u": limits.processes,
        "d": limits.memory // 1024,
        "f": limits.file_size // 1024,
        **({} if limits.processor_seconds is None else {"t": limits.processor_seconds}),
    }
    joined = [f"printf 0 >&{group} || exit {UNCOUNTED}; exec {group}>&-" for group in groups]
    limited = " ".join(f"ulimit -{name} {value};" for name, value in settings.items())
    low = death_pipe if death_pipe < _SELECTABLE else next(number for number in (9, 8) if number != begun)
    # Nothing is ever written to the death pipe, so if it is readable, it has ended.
    tied = [
        *([] if low == death_pipe else [f"exec {low}<&{death_pipe}"]),
        _UNTIL_INIT_IS_TIED,
        f"read -t 0 -u {low} && exit {UNTIED}",
        f"exec {low}<&- {death_pipe}<&- {unneeded}<&-",
    ]
    report = [f"printf . >&{begun}", f"exec {begun}>&-"]
    script = [*joined, f"{{ {limited} }} 2>/dev/null", *tied, check, *report, ":", command]
    return [bash, "--noprofile", "--norc", "-c", "; ".join(script)]


# --- cgroups, where we may create them

_PIDS_V1, _MEMORY_V1, _V2 = (Path("/sys/fs/cgroup", name) for name in ("pids", "memory", "."))
_PREFIX = "anycowork-"

# With the owner's process id: a forked server creates its own.
_idle: deque[tuple[int, CommandLimits, list[Path]]] = deque()
_numbers = count()


@contextmanager
def counted(limits: CommandLimits) -> Iterator[tuple[int, ...]]:
    """Yields a descriptor for each group made for a program, which joins it by writing 0 to it; none where we may not create groups. The kernel
    asks whether we may add to the group, not whether the program may.

    Empty groups are reused: creating and removing them costs more than a short command.
    """
    groups = _idle_groups(limits) or _make_groups(f"{_PREFIX}{os.getpid()}-{next(_numbers)}", limits)
    try:
        with ExitStack() as open_groups:
            yield tuple(open_groups.enter_context(opened(group / "cgroup.procs", os.O_WRONLY)) for group in groups)
    finally:
        if groups and all(map(_is_empty, groups)):
            _idle.append((os.getpid(), limits, groups))
        else:
            for group in groups:
                _remove(group)


def _idle_groups(limits: CommandLimits) -> list[Path]:
    for _ in range(len(_idle)):
        server, theirs, groups = _idle.popleft()
        # They were empty when they were put back, and only this code joins them; but somebody may have removed them.
        if (server, theirs) == (os.getpid(), limits) and all(group.is_dir() for group in groups):
            return groups
        _idle.append((server, theirs, groups))
    return []


def _is_empty(group: Path) -> bool:
    """Zombies count as processes, too."""
    try:
        with opened(group / "cgroup.procs", os.O_RDONLY) as fd:
            return not os.read(fd, 1)
    except OSError:
        return False


def can_count() -> bool:
    """Tells whether root's processes can be counted here."""
    with counted(CommandLimits()) as groups:
        return bool(groups)


def _make_groups(name: str, limits: CommandLimits) -> list[Path]:
    if os.geteuid() != 0:
        return []
    for group in _stale_groups():
        _remove(group)
    if (_V2 / "cgroup.controllers").exists():
        group_made = _group(_V2 / name, {"pids.max": limits.processes, "memory.max": limits.memory})
        return [group_made] if group_made else []
    pids = _group(_PIDS_V1 / name, {"pids.max": limits.processes})
    memory = _group(_MEMORY_V1 / name, {"memory.limit_in_bytes": limits.memory})
    return [group for group in (pids, memory) if group]


def _group(path: Path, values: dict[str, int]) -> Path | None:
    if not path.parent.is_dir():
        return None
    try:
        path.mkdir()
    except OSError:
        return None
    try:
        for file, value in values.items():
            (path / file).write_text(str(value))
    except OSError:
        path.rmdir()
        return None
    return path


def _stale_groups() -> list[Path]:
    """Returns groups of servers that ended; those of running servers may be about to be used."""
    groups = [group for parent in (_V2, _PIDS_V1, _MEMORY_V1) for group in parent.glob(f"{_PREFIX}*")]
    return [group for group in groups if not Path("/proc", group.name.split("-")[1]).exists()]


def _remove(group: Path) -> None:
    """Waits a little for the last of its processes to be reaped; a group that stays is empty and costs nothing."""
    for _ in range(20):
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.001)
