"""Server, worker and database are killed while jobs run, at random and at every record: each job ends right, and no step is done twice."""

import asyncio
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fork_server import ForkServer
from support.killed_processes import KilledProcesses, killed_processes
from support.live_server import Caller
from support.postgres_process import PostgresProcess, own_postgres
from support.spec import proves
from support.workers import until_workers

ROUNDS = int(os.environ.get("ANYCOWORK_KILL_ROUNDS", "0"))  # `make test-kills` asks for many
TARGETS = ("worker", "database", "server")
TASKS = 6
FEW_BOUNDARIES = 6


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[PostgresProcess]:
    with own_postgres() as postgres:
        yield postgres


@proves("JOB-6/1", "JOB-6/2", "JOB-7/4")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("round_", range(max(1, ROUNDS)))
async def test_jobs_survive_kills_of_server_worker_and_database_at_random_moments(
    fork_server: ForkServer, own_cluster: PostgresProcess, tmp_path: Path, round_: int
) -> None:
    moments = random.Random(1_600 + round_)
    targets = [*TARGETS, *moments.choices(TARGETS, k=17 if ROUNDS else 9)]
    with killed_processes(fork_server, own_cluster, tmp_path) as processes:
        async with processes.server.connect() as client:
            processes.start_worker()
            await until_workers(client, lambda found: len(found) == 1)
            jobs = [await processes.begin(client, TASKS) for _ in range(1 + len(targets) // 8)]
            for target in targets:
                await asyncio.sleep(moments.uniform(0.0, 0.4))  # the random moment is the point of this test
                await asyncio.to_thread(processes.kill, target)
            for chat, job in jobs:
                await processes.check(client, chat, job)


@proves("JOB-6/1", "JOB-6/2", "JOB-7/4")
@pytest.mark.timeout(3600 if ROUNDS else 600)
async def test_jobs_survive_a_kill_at_every_record_of_the_process_that_writes_and_of_the_database(
    fork_server: ForkServer, own_cluster: PostgresProcess, tmp_path: Path
) -> None:
    with killed_processes(fork_server, own_cluster, tmp_path) as processes:
        async with processes.server.connect() as client:
            processes.start_worker()
            await until_workers(client, lambda found: len(found) == 1)
            processes.hold_boundaries()
            chat, job = await processes.propose(client, 2)
            before = processes.boundaries()
            await processes.approve(client, job)
            assert await processes.check(client, chat, job) == 0
            places = [(number, kills) for number in range(1, processes.boundaries() - before + 1) for kills in (0, 1)]
            step = 1 if ROUNDS else max(1, len(places) // FEW_BOUNDARIES)
            chosen = places[::step]
            for number, of_database in chosen:
                await kill_at(processes, client, number, of_database=bool(of_database))
            assert sum(processes.kills.values()) >= len(chosen) // 2, processes.kills


async def kill_at(processes: KilledProcesses, client: Caller, number: int, *, of_database: bool) -> None:
    """Kills while this write of a job's run waits for its commit. A run that has fewer writes is left alone."""
    chat, job = await processes.propose(client, 2)
    processes.hold_at(processes.boundaries() + number)
    async with asyncio.TaskGroup() as tasks:
        approving = tasks.create_task(processes.approve(client, job))
        finishing = tasks.create_task(processes.finished(client, job))
        while (kind := await asyncio.to_thread(processes.held)) is None and not finishing.done():
            await asyncio.sleep(0.02)
        if kind is not None:
            await asyncio.to_thread(processes.kill, "database" if of_database else kind)
        await approving
    await processes.check(client, chat, job)
