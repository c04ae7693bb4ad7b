"""What one command may use up. Set by the shell inside the sandbox for ordinary users; root's processes are counted by a cgroup.

The kernel does not hold root to a number of processes, whatever its limits say.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_MIB = 1 << 20
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """Bytes, unless the name says otherwise. `memory` is what each process may hold, and with a cgroup all together."""

    processes: int = 512
    memory: int = 8 * _GIB
    file_size: int = 4 * _GIB
    scratch: int = 1 * _GIB  # /tmp, the home folder and /dev/shm, each
    free_space: int = 256 * _MIB  # what must stay free on the disk that takes the writes


def limited_shell(bash: str, limits: CommandLimits, command: str) -> list[str]:
    """Bash that gives itself the limits, for good, and then becomes the bash that runs the command.

    Inside the namespace: there a limit on processes counts the command's own alone, not everything else of that user.
    """
    wishes = {
        "c": 0,
        "u": limits.processes,
        "d": limits.memory // 1024,
        "f": limits.file_size // 1024,
    }
    lines = [f"ulimit -{name} {value} 2>/dev/null" for name, value in wishes.items()]
    become = f'exec {bash} --noprofile --norc -c -- "$1"'
    return [bash, "--noprofile", "--norc", "-c", "; ".join([*lines, become]), "bash", command]


# --- cgroups, where we may make them

_PIDS_V1, _MEMORY_V1, _V2 = (Path("/sys/fs/cgroup", name) for name in ("pids", "memory", "."))
_PREFIX = "anycowork-"
_JOIN = 'for group; do shift; [ "$group" = -- ] && break; echo $$ > "$group" || exit 125; done; exec "$@"'


@contextmanager
def counted(name: str, limits: CommandLimits) -> Iterator[list[str]]:
    """Words to put before a program so that it starts inside groups of its own; none where we may make no groups."""
    made = _make_groups(f"{_PREFIX}{os.getpid()}-{name}", limits)
    try:
        joins = [str(group / "cgroup.procs") for group in made]
        yield ["/bin/sh", "-c", _JOIN, "sh", *joins, "--"] if joins else []
    finally:
        for group in [*made, *_of_dead_servers(made)]:
            _remove(group)


def can_count() -> bool:
    """Whether root's processes can be counted here."""
    with counted("probe", CommandLimits()) as words:
        return bool(words)


def _make_groups(name: str, limits: CommandLimits) -> list[Path]:
    if os.geteuid() != 0:
        return []
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


def _of_dead_servers(made: list[Path]) -> list[Path]:
    """Groups of servers that are gone; those of the living may be about to be used."""
    found = [left for group in made for left in group.parent.glob(f"{_PREFIX}*")]
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
