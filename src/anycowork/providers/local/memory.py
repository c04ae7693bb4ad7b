"""Measures memory and load: checked before a model is downloaded and before it is loaded."""

import os
from pathlib import Path

from anycowork.domain.provider_errors import ProviderFault
from anycowork.providers.local.catalogue import MIB, LocalModel

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class NotEnoughMemory(ProviderFault):
    code = "not_enough_memory"


def require_memory(model: LocalModel, available: int | None) -> None:
    """`available` is None if this system does not report it. Raises: NotEnoughMemory."""
    if available is not None and available < model.memory_bytes:
        raise NotEnoughMemory(
            f"{model.title} needs {model.memory_bytes // MIB} MiB of memory, and available are {available // MIB} MiB. "
            "Close other programs, or choose a smaller model."
        )


def total_memory() -> int | None:
    return _least(_meminfo("MemTotal"))


def free_memory() -> int | None:
    return _least(_meminfo("MemAvailable"))


def threads_for(cores: int, load: float) -> int:
    """Returns the number of idle cores, at least one: two threads that share one core are slower than one."""
    return max(1, min(cores, round(cores - load)))


def threads_now() -> int:
    try:
        load = os.getloadavg()[0]
    except OSError:
        load = 1.0
    return threads_for(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, load)


def _least(machine: int | None) -> int | None:
    limits = [limit for limit in (_number(Path(path)) for path in _LIMITS) if limit is not None]
    amounts = [amount for amount in (machine, *limits) if amount is not None]
    return min(amounts) if amounts else None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # absent, or "max"
        return None


def _meminfo(key: str) -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    kibibytes = next((line.split()[1] for line in lines if line.startswith(f"{key}:")), None)
    return int(kibibytes) * 1024 if kibibytes else None
