"""What one command may use up. Set by the shell inside the sandbox for ordinary users; root's processes are counted by a cgroup.

The kernel does not hold root to a number of processes, whatever its limits say.
"""

import os
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from anycowork.domain.values import value
from anycowork.workspace.packfile import opened

_MIB = 1 << 20
_GIB = 1 << 30
# Bubblewrap's first process in the sandbox ties itself to the one outside and then takes on the filter that the command has already.
_UNTIL_INIT_IS_TIED = (  # where the kernel counts filters (Linux 5.9); elsewhere, and after many looks, it is soon enough nearly always
    'mapfile -t own 2>/dev/null < /proc/self/status; [[ "${own[*]} " =~ Seccomp_filters:.[0-9]+\\  ]]; '
    "for ((looks = 0; looks < 2000; looks++)); do mapfile -t own 2>/dev/null < /proc/1/status; "
    '[[ "${own[*]} " == *"${BASH_REMATCH[0]}"* ]] && break; done; unset own looks'
)
UNTIED = 125  # the exit code of a command that did not begin, for the server was gone


@value
class CommandLimits:
    """Bytes, unless the name says otherwise. `memory` is what each process may hold, and with a cgroup all together."""

    processes: int = 512
    memory: int = 8 * _GIB
    file_size: int = 4 * _GIB
    scratch: int = 1 * _GIB  # /tmp, the home folder and /dev/shm, each
    free_space: int = 256 * _MIB  # what must stay free on the disk that takes the writes
    free_files: int = 20_000  # how many more files it must be able to take, unless it is made for few


def limited_shell(
    bash: str, limits: CommandLimits, command: str, *, tether: int, unneeded: int, begun: int, check: str = ":"
) -> list[str]:
    """Bash that gives itself the limits, for good, and then runs the command; or ends, if nobody holds the other end of its tether
    or `check_syntax` ends it. It writes to `begun` just before the command.

    Inside the namespace: there a limit on processes counts the command's own alone, not everything else of that user. Both stand on
    one line, which bash reads as a whole before it runs any of it: a command that does not parse runs without limits by not running.
    """
    wishes = {
        "c": 0,
        "u": limits.processes,
        "d": limits.memory // 1024,
        "f": limits.file_size // 1024,
    }
    lines = [f"ulimit -{name} {value} 2>/dev/null" for name, value in wishes.items()]
    # Nothing is ever written to a tether, so what can be read is its end.
    tied = [_UNTIL_INIT_IS_TIED, f"read -t 0 -u {tether} && exit {UNTIED}", f"exec {tether}<&- {unneeded}<&-"]
    told = [f"printf . >&{begun}", f"exec {begun}>&-"]
    return [bash, "--noprofile", "--norc", "-c", "; ".join([*lines, *tied, check, *told, ":", command])]


# --- cgroups, where we may make them

_PIDS_V1, _MEMORY_V1, _V2 = (Path("/sys/fs/cgroup", name) for name in ("pids", "memory", "."))
_PREFIX = "anycowork-"
_JOIN = 'for group; do shift; [ "$group" = -- ] && break; echo $$ > "$group" || exit 125; done; exec "$@"'


_idle: deque[tuple[int, CommandLimits, list[Path]]] = deque()  # whose they are: a forked server makes its own
_numbers = count()


@contextmanager
def counted(limits: CommandLimits) -> Iterator[list[str]]:
    """Words to put before a program so that it starts inside groups of its own; none where we may make no groups.

    Groups that stand empty again are used again: making and removing them costs more than a short command does.
    """
    made = _idle_groups(limits) or _make_groups(f"{_PREFIX}{os.getpid()}-{next(_numbers)}", limits)
    try:
        joins = [str(group / "cgroup.procs") for group in made]
        yield ["/bin/sh", "-c", _JOIN, "sh", *joins, "--"] if joins else []
    finally:
        if made and all(map(_is_empty, made)):
            _idle.append((os.getpid(), limits, made))
        else:
            for group in made:
                _remove(group)


def _idle_groups(limits: CommandLimits) -> list[Path]:
    for _ in range(len(_idle)):
        server, theirs, groups = _idle.popleft()
        # Empty when they were laid aside, and nobody joins them but through here; somebody may have removed them.
        if (server, theirs) == (os.getpid(), limits) and all(group.is_dir() for group in groups):
            return groups
        _idle.append((server, theirs, groups))
    return []


def _is_empty(group: Path) -> bool:
    """Also of the dead that nobody has buried: they count as well."""
    try:
        with opened(group / "cgroup.procs", os.O_RDONLY) as fd:
            return not os.read(fd, 1)
    except OSError:
        return False


def can_count() -> bool:
    """Whether root's processes can be counted here."""
    with counted(CommandLimits()) as words:
        return bool(words)


def _make_groups(name: str, limits: CommandLimits) -> list[Path]:
    if os.geteuid() != 0:
        return []
    for group in _of_dead_servers():
        _remove(group)
    if (_V2 / "cgroup.controllers").exists():
        found = _group(_V2 / name, {"pids.max": limits.processes, "memory.max": limits.memory})
        return [found] if found else []
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


def _of_dead_servers() -> list[Path]:
    """Groups of servers that are gone; those of the living may be about to be used."""
    found = [left for parent in (_V2, _PIDS_V1, _MEMORY_V1) for left in parent.glob(f"{_PREFIX}*")]
    return [left for left in found if not Path("/proc", left.name.split("-")[1]).exists()]


def _remove(group: Path) -> None:
    """Waits a little for the last of its processes to be buried; a group that stays is empty and costs nothing."""
    for _ in range(20):
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.001)
