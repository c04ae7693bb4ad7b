"""What does scheduling one task of a job cost, and does a larger graph cost more per task?

Without workers and models. `completions`: graph and journal, each completion durable, up to 64 side by side. `tasks`: the starts are
durable too. `coordinator`: all that the coordinator does, with assignments, turns and events, over workers that report at once.
`plain_sqlite`: one program writes the rows of `completions`, known before, with plain statements in as large groups.
"""

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import uvloop

from anycowork.domain import event_factory
from anycowork.domain.jobs import JobTask
from anycowork.domain.journal import Change
from anycowork.domain.plan import TaskGraph
from anycowork.domain.task_progress import TaskProgress, TaskStatus
from anycowork.domain.values import replace
from anycowork.server.clock import SystemClock
from anycowork.server.uvicorn_server import tune_gc
from anycowork.store.sql.database import Database
from anycowork.store.sqlite.database import open_store
from measuring import REPOSITORY, Ground, Leg, NotMeasured, Spent, peer_python, spending
from workplace import new_chat

sys.path.insert(0, str(REPOSITORY / "tests"))

from support.scripted_workers import run_job, wide_plan

QUESTION = "Scheduling of one task of a job"
SIDE_BY_SIDE = 64
DISTANCES = (97, 193, 389)  # how far before it the tasks are that a task depends on


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    ours = {
        f"{name}_{count}": partial(_ours, ground, count, starts=name == "tasks")
        for name in ("completions", "tasks")
        for count in (1_000, 10_000)
    }
    tune_gc()  # as the server runs
    yield {
        **ours,
        "plain_sqlite_1000": partial(_plain_sqlite, ground, 1_000),
        "coordinator_1000": partial(_coordinator, ground, 1_000),
        "coordinator_10000": partial(_coordinator, ground, 10_000),
        "langgraph_1000": partial(_langgraph, ground, 1_000),
    }


def _ours(ground: Ground, count: int, *, starts: bool) -> dict[str, float]:
    with ground.fresh("jobs") as folder, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return _per_task(runner.run(_schedule(folder, count, starts=starts)), count)


async def _schedule(folder: Path, count: int, *, starts: bool) -> Spent:
    database = open_store(folder / "anycowork.db", SystemClock(), lambda record: None)
    try:
        chat_id = await new_chat(database)
        tasks = _tasks(chat_id, count)
        await database.journal.write(Change(chat_id, tuple(tasks.values())))
        with spending() as spent:
            done = await _run(database, chat_id, tasks, starts=starts)
        stored = await database.store.tasks.of_job("job")
    finally:
        await database.aclose()
    if done != count or any(task.status is not TaskStatus.COMPLETED for task in stored):
        raise AssertionError("not every task is completed")
    return spent


def _tasks(chat_id: str, count: int) -> dict[str, JobTask]:
    """Each task depends on a few at some distance before it, so that many are ready at any time."""
    found = {}
    for number in range(count):
        needs = tuple(f"t{number - distance}" for distance in DISTANCES if number >= distance)
        found[f"t{number}"] = JobTask("job", chat_id, f"t{number}", number, "do it", needs)
    return found


async def _run(database: Database, chat_id: str, tasks: dict[str, JobTask], *, starts: bool) -> int:
    """As the coordinator does it: what is ready starts in one change, and each task ends in a change of its own."""
    graph = TaskGraph({task.id: task.dependencies for task in tasks.values()})
    progress, done = TaskProgress(graph, {task.id: task.status for task in tasks.values()}), 0
    while not progress.over:
        wave: list[JobTask] = []
        while len(wave) < SIDE_BY_SIDE and (ready := progress.next_ready([None])) is not None:
            progress.put(ready, TaskStatus.RUNNING)
            wave.append(replace(tasks[ready], status=TaskStatus.RUNNING))
        if starts:
            await database.journal.write(Change(chat_id, tuple(wave), tuple(map(event_factory.task_started, wave))))
        ended = [replace(task, status=TaskStatus.COMPLETED) for task in wave]
        await asyncio.gather(*(_end(database, chat_id, task) for task in ended))
        for task in ended:
            progress.put(task.id, TaskStatus.COMPLETED)
        done += len(wave)
    return done


async def _end(database: Database, chat_id: str, task: JobTask) -> None:
    await database.journal.write(Change(chat_id, (task,), (event_factory.task_ended(task),)))


def _coordinator(ground: Ground, count: int) -> dict[str, float]:
    with ground.fresh("jobs") as folder, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return _per_task(runner.run(_coordinate(folder, count)), count)


async def _coordinate(folder: Path, count: int) -> Spent:
    database = open_store(folder / "anycowork.db", SystemClock(), lambda record: None)
    try:
        chat_id, plan = await new_chat(database), wide_plan(count)
        with spending() as spent:
            job = await run_job(database, SystemClock(), chat_id, plan)
    finally:
        await database.aclose()
    if job.status.value != "completed":
        raise AssertionError("the job is not completed")
    return spent


def _per_task(spent: Spent, count: int) -> dict[str, float]:
    return {"cpu_us": spent.cpu * 1e6 / count, "wall_us": spent.wall * 1e6 / count}


# --- plain SQLite

_TASK = (
    "job_id, chat_id, id, ordinal, description, dependencies, status, claimed, attempt, failures, interruptions,"
    " created_at, seq"
)
_RECORD = "position, chat_id, seq, type, hash, body"
_PUT_TASK = (
    f"INSERT INTO tasks ({_TASK}) VALUES ({', '.join('?' * 13)}) ON CONFLICT (job_id, id) DO UPDATE SET"
    " ordinal = excluded.ordinal, description = excluded.description, dependencies = excluded.dependencies,"
    " status = excluded.status, claimed = excluded.claimed, attempt = excluded.attempt, failures = excluded.failures,"
    " interruptions = excluded.interruptions, created_at = excluded.created_at, seq = excluded.seq"
)
_ADD_RECORD = f"INSERT INTO records ({_RECORD}) VALUES (?, ?, ?, ?, ?, ?)"


def _plain_sqlite(ground: Ground, count: int) -> dict[str, float]:
    with ground.fresh("plain") as folder:
        with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
            runner.run(_schedule(folder, count, starts=False))
        with closing(sqlite3.connect(folder / "anycowork.db", isolation_level=None)) as database:
            database.execute("PRAGMA synchronous = FULL")
            return _per_task(_write_again(database, count), count)


def _write_again(database: sqlite3.Connection, count: int) -> Spent:
    """Takes the completions back, then writes the same rows once more."""
    tasks = database.execute(f"SELECT {_TASK} FROM tasks ORDER BY seq").fetchall()
    records = database.execute(f"SELECT {_RECORD} FROM records WHERE type = 'task-completed' ORDER BY seq").fetchall()
    if not len(tasks) == len(records) == count:
        raise AssertionError("not every task has its record")
    database.execute("UPDATE tasks SET status = 'pending', seq = 1")
    database.execute("DELETE FROM records WHERE type = 'task-completed'")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with spending() as spent:
        for start in range(0, count, SIDE_BY_SIDE):
            group = slice(start, start + SIDE_BY_SIDE)
            _, chat_id, seq, _, chain, _ = records[group][-1]
            database.execute("BEGIN IMMEDIATE")
            database.executemany(_PUT_TASK, tasks[group])
            database.executemany(_ADD_RECORD, records[group])
            database.execute("UPDATE chats SET next_seq = ?, chain = ? WHERE id = ?", (seq + 1, chain, chat_id))
            database.execute("COMMIT")
    return spent


# --- the peer


def _langgraph(ground: Ground, count: int) -> dict[str, float]:
    script = REPOSITORY / "benchmarks" / "peers" / "langgraph_tasks.py"
    words = [peer_python("langgraph"), script, ground.folder, ",".join(map(str, DISTANCES)), count]
    ran = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600)
    if ran.returncode:
        raise NotMeasured(f"LangGraph ended with {ran.returncode}: {ran.stderr.strip()[-200:]}")
    return {"cpu_us": json.loads(ran.stdout)["us_per_task"]}
