"""What does scheduling one task of a job cost, with its start and its end durable, and does a larger graph cost more per task?

Graph and journal alone, without workers and models: every task is started and completed, up to 64 side by side.
"""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvloop

from anycowork.domain import event_factory
from anycowork.domain.jobs import JobTask, progress_of_tasks
from anycowork.domain.journal import Change
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.server.clock import SystemClock
from anycowork.store.sql.database import Database
from anycowork.store.sqlite.database import open_store
from measuring import Ground, Leg, spending
from workplace import new_chat

QUESTION = "Scheduling of one task of a job, its start and its end durable"
SIDE_BY_SIDE = 64
NEEDS = 3  # tasks that a task depends on


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    yield {f"tasks_{count}": partial(_ours, ground, count) for count in (1_000, 10_000)}


def _ours(ground: Ground, count: int) -> dict[str, float]:
    with ground.fresh("jobs") as folder, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return runner.run(_schedule(folder, count))


async def _schedule(folder: Path, count: int) -> dict[str, float]:
    database = open_store(folder / "anycowork.db", SystemClock(), lambda record: None)
    try:
        chat_id = await new_chat(database)
        tasks = _tasks(chat_id, count)
        await database.journal.write(Change(chat_id, tuple(tasks.values())))
        with spending() as spent:
            done = await _run(database, chat_id, tasks)
        stored = await database.store.tasks("job")
    finally:
        await database.aclose()
    if done != count or any(task.status is not TaskStatus.COMPLETED for task in stored):
        raise AssertionError("not every task is completed")
    return {"cpu_us": spent.cpu * 1e6 / count, "wall_us": spent.wall * 1e6 / count}


def _tasks(chat_id: str, count: int) -> dict[str, JobTask]:
    """Each task depends on a few at some distance before it, so that many are ready at any time."""
    found = {}
    for number in range(count):
        needs = {number - distance for distance in (97, 193, 389)[:NEEDS] if number >= distance}
        name = f"t{number}"
        found[name] = JobTask("job", chat_id, name, number, "do it", tuple(f"t{one}" for one in sorted(needs)))
    return found


async def _run(database: Database, chat_id: str, tasks: dict[str, JobTask]) -> int:
    progress, done = progress_of_tasks(list(tasks.values())), 0
    while not progress.over:
        wave = [tasks[task_id] for task_id in progress.ready()[:SIDE_BY_SIDE]]
        for status in (TaskStatus.RUNNING, TaskStatus.COMPLETED):
            wave = [replace(task, status=status) for task in wave]
            await asyncio.gather(*(_write(database, chat_id, task) for task in wave))
            for task in wave:
                progress.put(task.id, status)
        done += len(wave)
    return done


async def _write(database: Database, chat_id: str, task: JobTask) -> None:
    told = event_factory.task_ended if task.status.over else event_factory.task_started
    await database.journal.write(Change(chat_id, (task,), (told(task),)))
