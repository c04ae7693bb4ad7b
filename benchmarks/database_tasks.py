"""How many tasks of jobs a second do SQLite, PostgreSQL and its workers carry, near and far from the database, with an instant model?

20 jobs of 5 tasks at the same time, `workers_N_Mms`: N worker processes (none: the server runs the jobs), M milliseconds for a round trip
to the database. `tasks_per_second` is wall time of all; `round_trips` are those of the server for a task, where it runs the jobs itself.
`server_cpu_ms` is the CPU of the server, of the instant model and of the client for a task, `workers_cpu_ms` that of the workers together,
`postgres_cpu_ms` that of the database's processes: they say what a task costs where the machine has too few cores for all of them.
"""

import asyncio
import subprocess
import sys
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import uvloop

from anycowork.store.postgres.connection import PostgresConnection
from measuring import REPOSITORY, Ground, Leg, cpu_seconds_of

sys.path.insert(0, str(REPOSITORY / "tests"))

from support.jobs import approved, by_task, plan, report, until
from support.live_server import LiveServer, live_server
from support.postgres_process import PostgresProcess, own_postgres
from support.workers import until_workers, worker_process

QUESTION = "Tasks of jobs on PostgreSQL, near and far"
JOBS, TASKS = 20, 5
NAMES = [f"t{number}" for number in range(TASKS)]


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    with own_postgres() as postgres:
        yield {"sqlite": partial(_run_alone, ground)} | {
            f"workers_{count}_{delay}ms": partial(_run, ground, postgres, count, delay)
            for delay in (0, 4)
            for count in (0, 1, 2, 4)
        }


def _run_alone(ground: Ground) -> dict[str, float]:
    with ground.fresh("tasks") as folder, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return runner.run(_measure(folder, None, None, 0))


def _run(ground: Ground, postgres: PostgresProcess, workers: int, delay: int) -> dict[str, float]:
    with (
        ground.fresh("tasks") as folder,
        _line(postgres, delay / 1000) as port,
        asyncio.Runner(loop_factory=uvloop.Loop) as runner,
    ):
        url = f"{postgres.new_database(host=f'127.0.0.1:{port}')}"
        return runner.run(_measure(folder, url, postgres, workers))


async def _measure(folder: Path, url: str | None, postgres: PostgresProcess | None, workers: int) -> dict[str, float]:
    (home := folder / "home").mkdir()
    pids: list[int] = []
    async with live_server(home, database_url=url) as server, AsyncExitStack() as stack:
        for number in range(workers):
            assert url is not None
            worker = worker_process(folder / f"worker{number}", url, server.model.base_url, jobs=4)
            pids.append((await asyncio.to_thread(stack.enter_context, worker)).pid)
        if url is not None:
            await until_workers(server, lambda living: len(living) == workers)
        server.model.mind = by_task({name: [report("it is read")] * 100_000 for name in NAMES})
        await asyncio.gather(*(_job(server) for _ in range(4)))
        with _counted() as count:
            begun, before = perf_counter(), _cpu(pids, postgres)
            await asyncio.gather(*(_job(server) for _ in range(JOBS)))
            seconds, after = perf_counter() - begun, _cpu(pids, postgres)
    found = {name: 1000 * (after[name] - before[name]) / (JOBS * TASKS) for name in after}
    found["tasks_per_second"] = JOBS * TASKS / seconds
    return found if workers else {**found, "round_trips": count[0] / (JOBS * TASKS)}


def _cpu(workers: Sequence[int], postgres: PostgresProcess | None) -> dict[str, float]:
    """CPU seconds until now, by whose they are."""
    spent = {"server_cpu_ms": process_time()}
    if workers:
        spent["workers_cpu_ms"] = sum(cpu_seconds_of(pid) for pid in workers)
    if postgres is not None and postgres.process is not None:
        pid = postgres.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        spent["postgres_cpu_ms"] = cpu_seconds_of(pid) + sum(cpu_seconds_of(int(child)) for child in children)
    return spent


async def _job(server: LiveServer) -> None:
    chat = await server.chat()
    steps = [{"id": name, "action": f"read {name}", "tools_needed": ["read_file"]} for name in NAMES]
    job = await approved(server, chat, plan=plan(*steps))
    done = await until(server, chat, job["id"], "completed", "failed", seconds=300)
    if done["status"] != "completed":
        raise AssertionError(done)


@contextmanager
def _counted() -> Iterator[list[int]]:
    """Counts what the server's connections wait for."""
    count, run = [0], PostgresConnection._run

    def counting(self: PostgresConnection, work: Coroutine[Any, Any, Any]) -> Any:
        count[0] += 1
        return run(self, work)

    PostgresConnection._run = counting  # type: ignore[method-assign,assignment]
    try:
        yield count
    finally:
        PostgresConnection._run = run  # type: ignore[method-assign]


# --- a line to the database that takes its time

_LINE = """
import asyncio, sys
path, seconds = sys.argv[1], float(sys.argv[2])

async def carry(reader, writer):
    loop = asyncio.get_running_loop()
    there_reader, there_writer = await asyncio.open_unix_connection(path)
    await asyncio.gather(delayed(loop, reader, there_writer), delayed(loop, there_reader, writer), return_exceptions=True)

async def delayed(loop, reader, writer):
    while data := await reader.read(1 << 16):
        if seconds:
            loop.call_later(seconds / 2, writer.write, data)
        else:
            writer.write(data)
    loop.call_later(seconds / 2 + 0.01, writer.close)

async def main():
    server = await asyncio.start_server(carry, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


@contextmanager
def _line(postgres: PostgresProcess, seconds: float) -> Iterator[int]:
    """A port that leads to the database and makes each round trip take so much longer, however much is under way."""
    words = [sys.executable, "-c", _LINE, str(postgres.folder / ".s.PGSQL.5432"), str(seconds)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait(60)
