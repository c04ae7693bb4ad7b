"""How things are measured: CPU time, memory, the machine, and rounds in which every leg has its turn."""

import os
import platform
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
BENCH_FOLDER = REPOSITORY / ".bench"
TICKS = os.sysconf("SC_CLK_TCK")


class NotMeasured(Exception):
    """Why a leg could not be run. It is reported, never filled in."""


Leg = Callable[[], Mapping[str, float]]
"""One run of one side: what it found, by unit."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a benchmark works: a folder on the disk that all its legs share. `size` is how much it works on, where it can be set."""

    folder: Path
    size: int | None = None

    @contextmanager
    def fresh(self, name: str) -> Iterator[Path]:
        place = self.folder / f"{name}-{time.monotonic_ns()}"
        place.mkdir(parents=True)
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)


@dataclass(slots=True)
class Measured:
    """`figures` by `leg.unit`, one value per round; `missing` says why a leg has none."""

    figures: dict[str, list[float]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


def in_rounds(legs: Mapping[str, Leg], rounds: int, *, seed: int = 1) -> Measured:
    """Every leg once a round, in another order each time, so that a busy moment of the machine falls on all of them."""
    measured, order = Measured(), random.Random(seed)
    for _ in range(rounds):
        names = [name for name in legs if name not in measured.missing]
        for name in order.sample(names, len(names)):
            try:
                found = legs[name]()
            except NotMeasured as reason:
                measured.missing[name] = str(reason)
                continue
            for unit, value in found.items():
                measured.figures.setdefault(f"{name}.{unit}", []).append(value)
    return measured


@dataclass(slots=True)
class Spent:
    """CPU seconds of all threads of this process, and seconds on the wall."""

    cpu: float = 0.0
    wall: float = 0.0


@contextmanager
def spending() -> Iterator[Spent]:
    spent = Spent()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield spent
    finally:
        spent.cpu = time.process_time() - cpu
        spent.wall = time.perf_counter() - wall


def cpu_seconds_of(pid: int) -> float:
    """CPU seconds of a process: all its threads, and the children that it has waited for."""
    threads = Path(f"/proc/{pid}/task")
    alive = sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads.iterdir()) / 1e9
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, children = sum(map(int, fields[11:13])) / TICKS, sum(map(int, fields[13:15])) / TICKS
    return max(alive, own) + children  # a thread that has ended is in `own` alone, at the clock's coarse steps


def pss_megabytes_of(pid: int) -> float:
    """Memory of a process, shared pages counted in part; its children included."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    own = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own / 1024 + sum(pss_megabytes_of(int(child)) for child in children)


def environment_of_ours() -> dict[str, str]:
    """For child processes of ours: this source tree, and nothing of the person's own settings.

    They keep what they compile, as after `make install`: else each start would compile the server anew, and a peer would not.
    """
    foreign = ("ANYCOWORK_", "OPENAI_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**kept, "PYTHONPATH": str(REPOSITORY / "src")}


def peer_python(name: str) -> Path:
    """The Python of a peer's own environment, made from its pinned requirements when it is first needed. Raises: NotMeasured."""
    place, pinned = BENCH_FOLDER / name, REPOSITORY / "benchmarks" / "peers" / f"{name}.txt"
    python, made = place / "bin" / "python", place / "made-from.txt"
    if made.is_file() and made.read_text() == pinned.read_text():
        return python
    uv = Path(sys.executable).with_name("uv")
    try:
        _quietly(uv, "venv", "--clear", "--python", sys.executable, place)
        _quietly(uv, "pip", "install", "--python", python, "--require-hashes", "-r", pinned)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotMeasured(f"the packages of '{name}' could not be installed ({type(error).__name__})") from error
    made.write_text(pinned.read_text())
    return python


def _quietly(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, capture_output=True, timeout=600)


def machine() -> dict[str, object]:
    """What it was measured on: no name of the host, no path."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load": [round(load, 1) for load in os.getloadavg()],
    }


def _cpu_model() -> str:
    told = dict(re.findall(r"^([^\t:]+)\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    if name := told.get("model name"):
        return name
    return f"{platform.machine()}, implementer {told.get('CPU implementer')}, part {told.get('CPU part')}"  # ARM has no name
