"""How many tasks of one job go on at the same time on one joined machine and on three, each on a network of its own."""

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from support.jobs import approved, by_task, plan, report, until
from support.live_server import LiveServer, live_server
from support.network_namespaces import HUB_ADDRESS, machines, namespaces_missing
from support.scripted_model import call
from support.spec import proves
from support.workers import joined_process, relay, until_workers

MISSING = "only root can make network namespaces" if os.geteuid() else namespaces_missing()
SLEEPING = "sleep 86399.25"
TASKS, AT_ONCE = 8, 2
SECONDS = 120.0


def asleep() -> int:
    """The commands of tasks that sleep on this machine, whichever network they are on."""
    words = [word.encode() for word in SLEEPING.split()]
    return sum(_arguments(process) == words for process in Path("/proc").glob("[0-9]*"))


def _arguments(process: Path) -> list[bytes]:
    try:
        return (process / "cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return []  # it has ended


async def peak_of_a_job(server: LiveServer, places: int) -> tuple[int, int]:
    """How many commands of its tasks slept at once while all of them waited or ran, and on how many workers."""
    runs = server.server.services.server.joined_workers.runs
    names = [f"t{number}" for number in range(TASKS)]
    server.model.mind = by_task({name: [call("execute_command", command=SLEEPING), report(name)] for name in names})
    chat = await server.chat()
    steps = [{"id": name, "action": name, "commands": [SLEEPING], "paths": [f"{name}.txt"]} for name in names]
    job = await approved(server, chat, plan=plan(*steps), parallel=TASKS)
    peak, workers = 0, set[str]()
    async with asyncio.timeout(SECONDS):
        while peak < places or sum(len(live.runs) for live in runs.living().values()) < TASKS:
            await asyncio.sleep(0.05)
            peak = max(peak, await asyncio.to_thread(asleep))
            workers |= {run.worker_id for live in runs.living().values() for run in live.runs.values() if run.taken}
    await server.ask("POST", f"/jobs/{job['id']}/cancel", expect=200)
    await until(server, chat, job["id"], "cancelled", seconds=SECONDS)
    async with asyncio.timeout(SECONDS):
        while await asyncio.to_thread(asleep):
            await asyncio.sleep(0.05)
    return peak, len(workers)


@proves("JOB-12/1")
@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
async def test_three_machines_run_three_times_as_many_tasks_of_a_job_at_once_as_one(tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    names = ("a", "b", "c")
    options = {"parallel_tasks": TASKS, "allowed_hosts": (HUB_ADDRESS,)}
    async with live_server(home, files={"a.txt": "a\n"}, **options) as server, AsyncExitStack() as stack:
        network = stack.enter_context(machines(*names))
        line = await stack.enter_async_context(relay(server, network.listener()))
        peaks = []
        for count, name in enumerate(names, start=1):
            invite = await server.ask("POST", "/workers/invites", {}, expect=201)
            process = joined_process(
                tmp_path / name, line.url, invite["token"], hidden=home, jobs=AT_ONCE, inside=network.inside(name)
            )
            await asyncio.to_thread(stack.enter_context, process)
            await until_workers(server, lambda workers, count=count: len(workers) == count)
            if count != 2:
                peaks.append(await peak_of_a_job(server, count * AT_ONCE))
        assert peaks == [(AT_ONCE, 1), (3 * AT_ONCE, 3)]
