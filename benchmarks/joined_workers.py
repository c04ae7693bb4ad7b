"""What do joined workers bring, and what do they cost? A job of sleeping tasks on 1, 2 and 4 of them; a command there and one here; what travels.

`workers_N.tasks_per_second`: wall time of a job of tasks that sleep, on N worker processes with two commands each; `server_cpu_ms` is the CPU of
the server, of the scripted model and of the client, for a task. `machines_N.seconds`: wall time of a job of 60 such tasks on N machines of a
network, which share nothing; they sleep so long that a loaded machine shows how many sleep at the same time. `remote_N` and `local_N`: CPU of
server, worker and sandbox for a command of a task in a workspace of N files, on a worker that has its contents, and on the server.
`travel.moved_per_missing`: bytes on the line for a byte that the worker lacks.
"""

import asyncio
import os
import resource
import sys
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter

import uvloop

from measuring import REPOSITORY, Ground, Leg, NotMeasured, cpu_seconds_of

sys.path.insert(0, str(REPOSITORY / "tests"))

from support.jobs import approved, by_task, plan, report, until
from support.live_server import LiveServer, live_server
from support.network_namespaces import HUB_ADDRESS, machines, namespaces_missing
from support.scripted_model import call
from support.workers import joined_process, joined_worker, relay, until_workers

QUESTION = "Tasks on joined workers"
TASKS, SLEEP, COMMANDS_AT_ONCE = 16, "sleep 2", 2
FAR_TASKS, FAR_SLEEP, FAR_AT_ONCE = 60, "sleep 20", 5
FAR_IN_FLIGHT = 24  # more than there are commands at once, so that each machine has a next one waiting
COMMANDS = 5
MISSING_FILES, MISSING_BYTES = 200, 50_000


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    yield {
        **{f"workers_{count}": partial(_run, _sleeping, ground, count) for count in (1, 2, 4)},
        **{f"machines_{count}": partial(_run, _far, ground, count) for count in (1, 3)},
        **{f"remote_{files}": partial(_run, _commands, ground, files, 1) for files in (1_000, 20_000)},
        **{f"local_{files}": partial(_run, _commands, ground, files, 0) for files in (1_000, 20_000)},
        "travel": partial(_run, _travel, ground, 0),
    }


def _run(measure, ground: Ground, *given: int) -> dict[str, float]:  # type: ignore[no-untyped-def]  # one of those below
    with ground.fresh("joined") as folder, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        result: dict[str, float] = runner.run(measure(folder, *given))
        return result


async def _sleeping(folder: Path, count: int) -> dict[str, float]:
    (home := folder / "home").mkdir()
    async with live_server(home, files={"a.txt": "a\n"}, parallel_tasks=TASKS) as server, AsyncExitStack() as stack:
        for number in range(count):
            invite = await server.ask("POST", "/workers/invites", {}, expect=201)
            process = joined_process(
                folder / f"worker{number}", server.url, invite["token"], hidden=home, jobs=COMMANDS_AT_ONCE
            )
            stack.enter_context(process)
        await until_workers(server, lambda workers: len(workers) == count)
        begun, cpu = perf_counter(), _cpu(resource.RUSAGE_SELF)
        await _job(server, {f"t{number}": [SLEEP] for number in range(TASKS)})
        seconds, cpu = perf_counter() - begun, _cpu(resource.RUSAGE_SELF) - cpu
    return {"tasks_per_second": TASKS / seconds, "server_cpu_ms": 1000 * cpu / TASKS}


async def _far(folder: Path, count: int) -> dict[str, float]:
    if os.geteuid() or (reason := namespaces_missing()):
        raise NotMeasured("only root can make network namespaces" if os.geteuid() else str(reason))
    (home := folder / "home").mkdir()
    names = [f"machine{number}" for number in range(count)]
    options = {"parallel_tasks": FAR_IN_FLIGHT, "allowed_hosts": (HUB_ADDRESS,)}
    async with live_server(home, files={"a.txt": "a\n"}, **options) as server, AsyncExitStack() as stack:
        network = stack.enter_context(machines(*names))
        line = await stack.enter_async_context(relay(server, network.listener()))
        pids: list[int] = []
        for name in names:
            invite = await server.ask("POST", "/workers/invites", {}, expect=201)
            process = joined_process(
                folder / name, line.url, invite["token"], hidden=home, jobs=FAR_AT_ONCE, inside=network.inside(name)
            )
            pids.append(stack.enter_context(process).pid)
        await until_workers(server, lambda workers: len(workers) == count)
        begun, cpu, theirs = perf_counter(), _cpu(resource.RUSAGE_SELF), sum(map(cpu_seconds_of, pids))
        await _job(server, {f"t{number}": [FAR_SLEEP] for number in range(FAR_TASKS)}, FAR_IN_FLIGHT)
        seconds, cpu = perf_counter() - begun, _cpu(resource.RUSAGE_SELF) - cpu
        theirs = sum(map(cpu_seconds_of, pids)) - theirs
    return {
        "seconds": seconds,
        "server_cpu_ms": 1000 * cpu / FAR_TASKS,
        "worker_cpu_ms": 1000 * theirs / FAR_TASKS,
    }


async def _commands(folder: Path, files: int, count: int) -> dict[str, float]:
    async with live_server(folder) as server, AsyncExitStack() as stack:
        await asyncio.to_thread(_fill, server.workspace, files)
        for number in range(count):
            await stack.enter_async_context(joined_worker(folder / f"worker{number}", server))
        await _job(server, {"warm": ["true"]})
        cpu = _cpu(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        await _job(server, {"t": [f"echo {number} > /dev/null" for number in range(COMMANDS)]})
        cpu = _cpu(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) - cpu
    return {"cpu_ms": 1000 * cpu / COMMANDS}


async def _travel(folder: Path, _: int) -> dict[str, float]:
    (home := folder / "home").mkdir()
    async with live_server(home) as server, relay(server) as line:
        for number in range(MISSING_FILES):
            (server.workspace / f"{number}.bin").write_bytes(os.urandom(MISSING_BYTES))
        invite = await server.ask("POST", "/workers/invites", {}, expect=201)
        with joined_process(folder / "worker", line.url, invite["token"], hidden=home):
            await until_workers(server, bool)
            before = line.carried
            await _job(server, {"t": ["true"]})
            moved = line.carried - before
    return {"moved_per_missing": moved / (MISSING_FILES * MISSING_BYTES)}


async def _job(server: LiveServer, commands: dict[str, list[str]], parallel: int = 16) -> None:
    server.model.mind = by_task(
        {
            name: [*(call("execute_command", command=command) for command in listed), report(name)]
            for name, listed in commands.items()
        }
    )
    steps = [
        {"id": name, "action": name, "commands": listed, "paths": [f"{name}.txt"]} for name, listed in commands.items()
    ]
    chat = await server.chat()
    job = await approved(server, chat, plan=plan(*steps), parallel=min(len(steps), parallel))
    done = await until(server, chat, job["id"], "completed", "failed", seconds=300)
    assert done["status"] == "completed", done


def _fill(root: Path, count: int) -> None:
    for start in range(0, count, 100):
        (folder := root / f"{start:06d}").mkdir()
        for number in range(start, start + 100):
            (folder / f"file{number}.py").write_text(f"number = {number}\n")


def _cpu(*whose: int) -> float:
    used = [resource.getrusage(each) for each in whose]
    return sum(each.ru_utime + each.ru_stime for each in used)
