"""How many tasks and jobs a second do 10, 100 and 1,000 workers carry, and what is full first? A simulation: nothing here is measured.

It is fed with costs that were (`docs/performance.md`, `joined_workers.py`, `database_tasks.py`), and carries out tasks one event after the other:
each waits for the server's process, its other cores, the line, a place on a worker and the database in the order in which it needs them.
`python benchmarks/worker_growth.py` prints the tables of `docs/operations.md`.
"""

import heapq
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

SECONDS = 2_400.0  # simulated; the second half counts
TASKS_OF_A_JOB, PARALLEL = 20, 16
PLACES = 4  # commands, or jobs, of a worker at once
CORES = 16  # of the server's machine, and of the database's
LINE = 125e6  # bytes a second
MODEL_SECONDS = 5.0  # of each of the two calls of a task


@dataclass(frozen=True)
class Costs:
    """CPU seconds of one task, as measured. `process` is what only one thread of a process can do at a time."""

    process: float
    children: float  # programs that the server starts: layers and their mounts
    path: float  # for each path of the workspace, before a command
    request: float  # of a worker to the server: three for a command, and one every three seconds while it runs
    database: float
    worker: float  # of a worker that runs whole jobs
    front: float  # of the server, for a job that such a worker runs


MEASURED = Costs(0.027, 0.019, 2.3e-6, 0.001, 0.0065, 0.020, 0.010)
REPORT_SECONDS = 3.0


@dataclass
class Resource:
    """So many that do the same, first come, first served. `busy` is the time that all of them worked."""

    name: str
    number: int
    busy: float = 0.0
    free_at: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.free_at = [0.0] * self.number

    def use(self, now: float, seconds: float) -> float:
        """Returns when it is done."""
        done = max(now, heapq.heappop(self.free_at)) + seconds
        heapq.heappush(self.free_at, done)
        self.busy += seconds
        return done


Stage = tuple[Resource | None, float]
"""What is needed, for so long; without a resource it is waited only."""


@dataclass(frozen=True)
class Found:
    tasks_per_second: float
    jobs_per_second: float
    full: str
    loads: dict[str, float]


def joined(workers: int, command_seconds: float, files: int, costs: Costs = MEASURED, moved: int = 200_000) -> Found:
    """Workers that run the commands of tasks for one server."""
    server, cores = Resource("the server's process", 1), Resource("the server's cores", CORES - 1)
    places, line = Resource("the workers", workers * PLACES), Resource("the line", 1)
    database = Resource("the database", CORES)

    def stages(chance: random.Random) -> Iterator[Stage]:
        yield server, costs.process / 2
        yield cores, costs.children
        yield database, costs.database / 2
        yield None, chance.expovariate(1 / MODEL_SECONDS)
        yield server, costs.path * files + 2 * costs.request
        yield line, moved / LINE
        yield places, chance.expovariate(1 / command_seconds)
        yield server, costs.request
        yield None, chance.expovariate(1 / MODEL_SECONDS)
        yield server, costs.process / 2
        yield database, costs.database / 2

    reported = (places, server, costs.request)
    return _simulated(stages, [server, cores, places, line, database], workers * PLACES, reported)


def of_the_database(workers: int, command_seconds: float, costs: Costs = MEASURED) -> Found:
    """Workers that run whole jobs (`anycowork worker --db`), the commands of their tasks on their own machines."""
    server, database = Resource("the server's process", 1), Resource("the database", CORES)
    loops, cores = Resource("the workers' processes", workers), Resource("the workers' cores", workers * PLACES)

    def stages(chance: random.Random) -> Iterator[Stage]:
        yield loops, costs.worker / 2
        yield database, costs.database
        yield None, chance.expovariate(1 / MODEL_SECONDS)
        yield cores, chance.expovariate(1 / command_seconds) + costs.children
        yield None, chance.expovariate(1 / MODEL_SECONDS)
        yield loops, costs.worker / 2
        yield database, costs.database
        yield server, costs.front

    return _simulated(stages, [loops, cores, server, database], workers * PLACES)


def _simulated(
    stages: Callable[[random.Random], Iterator[Stage]],
    resources: Sequence[Resource],
    places: int,
    reported: tuple[Resource, Resource, float] | None = None,
) -> Found:
    """Enough tasks that no place waits for one. What runs on the first resource of `reported` costs the second so much, again and again."""
    chance, order, half = random.Random(1), count(), SECONDS / 2
    events: list[tuple[float, int, Iterator[Stage] | None]] = []
    for number in range(2 * places + PARALLEL):
        heapq.heappush(events, (number * 0.001, next(order), stages(chance)))
    done, busy = 0, None
    while events:
        now, _, task = heapq.heappop(events)
        if now > SECONDS:
            break
        if busy is None and now > half:
            done, busy = 0, [resource.busy for resource in resources]
        if task is None:
            reported[1].use(now, reported[2])
            continue
        stage = next(task, None)
        if stage is None:
            done += 1
            task, stage = stages(chance), (None, 0.0)
        resource, seconds = stage
        ends = now + seconds if resource is None else resource.use(now, seconds)
        if reported is not None and resource is reported[0]:
            for report in range(1, int(seconds / REPORT_SECONDS) + 1):
                if (at := ends - seconds + report * REPORT_SECONDS) < SECONDS:
                    heapq.heappush(events, (at, next(order), None))
        heapq.heappush(events, (ends, next(order), task))
    assert busy is not None
    loads = {
        resource.name: min(1.0, (resource.busy - before) / half / resource.number)
        for resource, before in zip(resources, busy, strict=True)
    }
    full = max(loads, key=lambda name: loads[name])
    return Found(done / half, done / half / TASKS_OF_A_JOB, full, loads)


def main() -> None:
    print("Simulated, not measured. Commands of a task take 10 or 60 s; 20 tasks make a job.\n")
    for seconds in (10.0, 60.0):
        for files in (1_000, 20_000):
            for workers in (10, 100, 1_000):
                _show(f"joined, {files:,} files, {seconds:.0f} s", workers, joined(workers, seconds, files))
        for workers in (10, 100, 1_000):
            _show(f"of the database, {seconds:.0f} s", workers, of_the_database(workers, seconds))


def _show(what: str, workers: int, found: Found) -> None:
    loads = ", ".join(f"{name} {load:.0%}" for name, load in sorted(found.loads.items(), key=lambda item: -item[1])[:3])
    print(
        f"{what:<32}{workers:>6} workers {found.tasks_per_second:>8.1f} tasks/s {found.jobs_per_second:>7.2f} jobs/s  {loads}"
    )


if __name__ == "__main__":
    sys.exit(main())
