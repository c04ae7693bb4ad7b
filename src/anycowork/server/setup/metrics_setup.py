"""The metrics of a running server: what was counted, and what is read at each scrape: the database, the disk, the process."""

import asyncio
import os
import resource
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

from anycowork.domain.job_workers import JobWorker
from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.events.hub import Hub
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.server.setup.shared_components import SharedComponents
from anycowork.server.stall_watchdog import StallWatch
from anycowork.store.sql.store import StoreNumbers
from anycowork.telemetry.metrics import GaugeMetric
from anycowork.telemetry.server_metrics import ServerMetrics

_STARTED = time.time()


@value
class MeasuredParts:
    """What is asked at each scrape. `workers` is None where there can be none."""

    numbers: Callable[[str], Awaitable[StoreNumbers]]
    workers: Callable[[], Awaitable[Sequence[JobWorker]]] | None
    joined: RemoteRuns
    hub: Hub
    stalls: StallWatch
    clock: Clock
    data_dir: Path
    snapshots: Path


class ScrapedMetrics:
    """Counts for operators. Counting never raises."""

    def __init__(self, metrics: ServerMetrics, parts: MeasuredParts) -> None:
        self._metrics = metrics
        self._parts = parts
        self.http_request = metrics.http_request

    def gateway_request(self, principal: str) -> None:
        self._metrics.gateway_requests.add(principal)

    async def scrape(self) -> bytes:
        """Returns all metrics as Prometheus reads them. Raises: StorageFault."""
        parts = self._parts
        numbers = await parts.numbers(parts.clock.now())
        workers = None if parts.workers is None else len(await parts.workers())
        disk = await asyncio.to_thread(lambda: list(_of_disk(parts.data_dir, parts.snapshots)))
        gauges = [
            *_of_database(numbers, workers),
            *_of_joined(parts.joined, numbers.tasks_waiting),
            *_of_server(parts.hub, parts.stalls),
            *disk,
        ]
        return self._metrics.render([*gauges, *_of_process()])


def build_metrics(shared: SharedComponents, metrics: ServerMetrics, hub: Hub, stalls: StallWatch) -> ScrapedMetrics:
    """Connects what measures itself, and returns what a scrape reads."""
    database, sandbox = shared.database, shared.sandbox_setup.sandbox
    database.writer.measured = metrics.commit
    stalls.measured = metrics.loop_lag.observe
    if sandbox is not None:
        sandbox.measured = metrics.sandbox_seconds.observe
    parts = MeasuredParts(
        numbers=database.store.numbers,
        workers=database.peers.table.workers if database.peers is not None else None,
        joined=shared.remote_runs,
        hub=hub,
        stalls=stalls,
        clock=shared.clock,
        data_dir=shared.settings.data_dir,
        snapshots=shared.settings.snapshots_folder,
    )
    return ScrapedMetrics(metrics, parts)


def _of_database(numbers: StoreNumbers, workers: int | None) -> Iterator[GaugeMetric]:
    yield _gauge("anycowork_chats", "Chats in the database.", numbers.chats)
    yield _gauge("anycowork_events_total", "Events ever recorded in the database.", numbers.events, counter=True)
    yield _by_status("anycowork_turns", "Turns in the database that have not ended.", "state", numbers.turns)
    yield _by_status("anycowork_jobs", "Jobs that are planned, at work or paused.", "status", numbers.jobs)
    yield _by_status("anycowork_tasks", "Tasks of these jobs.", "status", numbers.tasks)
    yield _gauge("anycowork_approvals_pending", "Approvals that wait for a person.", numbers.approvals_pending)
    oldest = numbers.oldest_approval_seconds
    yield _gauge("anycowork_approval_oldest_wait_seconds", "How long the oldest of them has waited.", oldest)
    if workers is not None:
        yield _gauge("anycowork_workers", "Living workers on this database.", workers)


def _of_joined(runs: RemoteRuns, tasks_waiting: int) -> Iterator[GaugeMetric]:
    living = runs.living().values()
    queue = sum(len(live.tasks) for live in living) + tasks_waiting
    yield _gauge("anycowork_joined_workers", "Living workers that joined this server over HTTP.", len(living))
    yield _gauge("anycowork_worker_queue", "Tasks that joined workers have, and tasks that wait for one.", queue)


def _of_server(hub: Hub, stalls: StallWatch) -> Iterator[GaugeMetric]:
    yield _gauge("anycowork_event_streams", "Clients that follow events.", hub.readers)
    yield _gauge(
        "anycowork_event_loop_stalls_total", "Times that the event loop did not answer.", stalls.stalls, counter=True
    )
    yield _gauge("anycowork_event_loop_longest_stall_seconds", "The longest of them.", stalls.longest)


def _of_disk(data_dir: Path, snapshots: Path) -> Iterator[GaugeMetric]:
    """Blocking."""
    try:
        sizes = [entry.stat().st_size for entry in os.scandir(snapshots) if entry.is_file(follow_symlinks=False)]
    except OSError:  # a file went away meanwhile, or nothing was ever changed
        sizes = []
    yield _gauge("anycowork_checkpoint_bytes", "Size of the contents of checkpoints.", sum(sizes))
    yield _gauge("anycowork_disk_free_bytes", "Free space where the data folder is.", shutil.disk_usage(data_dir).free)


def _of_process() -> Iterator[GaugeMetric]:
    """Under the names that every client library uses."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime
    yield _gauge("process_cpu_seconds_total", "CPU time of the server's process.", cpu, counter=True)
    yield _gauge("process_start_time_seconds", "When the process started, since 1970.", _STARTED)
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        yield _gauge("process_resident_memory_bytes", "Resident memory.", pages * resource.getpagesize())
        yield _gauge("process_open_fds", "Open file descriptors.", sum(1 for _ in os.scandir("/proc/self/fd")))


def _gauge(name: str, help_text: str, number: float, *, counter: bool = False) -> GaugeMetric:
    gauge = GaugeMetric(name, help_text, counter=counter)
    gauge.set(number)
    return gauge


def _by_status(name: str, help_text: str, label: str, counts: dict[str, int]) -> GaugeMetric:
    gauge = GaugeMetric(name, help_text, [label])
    for status, count in counts.items():
        gauge.set(count, status)
    return gauge
