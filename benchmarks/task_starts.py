"""What does a writing task of a job cost before it has done anything, and at its end? As a layer over the workspace, and as a private copy.

`start_cpu_ms`: the task's own workspace is there and open. `finish_cpu_ms`: its one changed file is merged and committed, and its workspace
removed. CPU of the server and of the processes that it starts.
"""

import asyncio
import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvloop

from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain import event_factory
from anycowork.domain.journal import Change
from anycowork.domain.ports import TaskWorkspaces
from anycowork.domain.tools import Call
from anycowork.jobs.task_commits import TaskCommitter
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.layers.task_workspaces import PrivateCopies, TaskLayers
from anycowork.sandbox.workspaces import Workspaces
from anycowork.server.clock import SystemClock
from anycowork.store.sql.database import Database
from anycowork.store.sqlite.database import open_store
from measuring import Ground, Leg, NotMeasured
from workplace import new_chat

QUESTION = "CPU of the start and the end of a writing task, by the number of files in the workspace"
TASKS = 5
MOST_COPIED = 90_000  # a little less than the number of paths above which no workspace is copied
_CLOCK = SystemClock()


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    with ground.fresh("task-starts") as folder:
        small, large = _tree(folder / "small", 1_000), _tree(folder / "large", 100_000)
        copied = _tree(folder / "copied", MOST_COPIED)
        yield {
            "layer_1000": partial(_tasks, ground, small, layered=True),
            "layer_100000": partial(_tasks, ground, large, layered=True),
            "copy_1000": partial(_tasks, ground, small, layered=False),
            f"copy_{MOST_COPIED}": partial(_tasks, ground, copied, layered=False, count=1),
        }


def _tree(root: Path, count: int) -> Path:
    for start in range(0, count, 20):
        folder = root / f"{start // 1000:03d}" / f"{start:06d}"
        folder.mkdir(parents=True)
        for number in range(start, min(start + 20, count)):
            (folder / f"file{number}.py").write_text(f"number = {number}\n")
    return root


def _tasks(ground: Ground, tree: Path, *, layered: bool, count: int = TASKS) -> dict[str, float]:
    with ground.fresh("data") as data, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return runner.run(_run_tasks(data, tree, layered=layered, count=count))


async def _run_tasks(data: Path, tree: Path, *, layered: bool, count: int) -> dict[str, float]:
    database = open_store(data / "anycowork.db", _CLOCK, lambda record: None)
    try:
        job = _BenchedJob(data, database, layered=layered)
        chat_id = await new_chat(database)
        await job.run_task(chat_id, tree, "file0.py")  # what a server does once only
        spent = [await job.run_task(chat_id, tree, f"file{number}.py") for number in range(1, count + 1)]
    finally:
        await database.aclose()
    starts, ends = zip(*spent, strict=True)
    return {"start_cpu_ms": sum(starts) / count * 1000, "finish_cpu_ms": sum(ends) / count * 1000}


class _BenchedJob:
    """The server's own parts around a task's workspace."""

    def __init__(self, data: Path, database: Database, *, layered: bool) -> None:
        staging = Staging(data / "staging", data / "shared")
        self._database = database
        self._layered = layered
        self._workspaces = Workspaces(lambda root: database.leases.take(root, owner="bench", seconds=60), staging)
        copies = PrivateCopies(staging, self._workspaces, most_bytes=1 << 31, spare=0)
        self._tasks: TaskWorkspaces = TaskLayers(staging, self._workspaces, copies) if layered else copies
        layers = self._workspaces.layers
        self._snapshots = Snapshots(
            Pack(data / "snapshots"), database.retention, _CLOCK, quota_bytes=1 << 31, layers=layers
        )
        self._committer = TaskCommitter(
            journal=database.journal,
            store=database.store,
            workspaces=self._workspaces,
            snapshots=self._snapshots,
            clock=_CLOCK,
        )

    async def run_task(self, chat_id: str, tree: Path, name: str) -> tuple[float, float]:
        """CPU seconds of the start and of the end."""
        started = _cpu()
        task = await self._tasks.create(str(tree))
        folder = self._workspaces.open(task)
        start = _cpu() - started
        if self._layered and not folder.jail.mount_number:
            raise NotMeasured("no layer can be mounted here")
        path = f"000/000000/{name}"
        call = Call(_CLOCK.new_id(), chat_id, "turn", "batch", 0, "update_file", {})
        before = await self._snapshots.before(call, folder, [path])
        place = folder.jail.place(path)
        folder.replace(place, f"# {name} of {call.id}\n".encode(), expected=folder.sha256(place))
        after = await self._snapshots.after(before, folder)
        assert after is not None
        await self._database.journal.write(Change(chat_id, (call, before, after), (event_factory.tool_call(call),)))
        started = _cpu()
        merge = await self._committer.commit(chat_id, "turn", task, str(tree))
        await self._tasks.remove(task)
        if len(merge.writes) != 1 or call.id not in (tree / path).read_text():
            raise AssertionError("the task's change is not in the workspace")
        return start, _cpu() - started


def _cpu() -> float:
    """CPU seconds of this process and of the children that it has waited for."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)
