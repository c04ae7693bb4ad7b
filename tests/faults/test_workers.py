"""Workers that die: killed, cut off from the network, stopped. Others finish their jobs, and nothing is done twice."""

import asyncio
import os
import re
import signal
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from support.jobs import approved, plan, report, until, writing
from support.live_server import LiveChat, LiveServer, live_server
from support.network_namespaces import HUB_ADDRESS, machines, namespaces_missing
from support.postgres import database_url
from support.postgres_process import PostgresProcess, own_postgres
from support.scripted_model import Answer, Body, Reply, call, serve_in_thread
from support.spec import proves
from support.workers import until_workers, worker_process

__all__ = ["database_url"]

MISSING = "only root can make network namespaces" if os.geteuid() else namespaces_missing()
NAMES = ("a", "b", "c")


class HeldModel:
    """Answers each task: it writes its file, then reports. The report of a second task's first attempt is held back."""

    def __init__(self) -> None:
        self.hold = threading.Event()
        self.asked: list[str] = []

    def __call__(self, body: Body) -> Answer:
        told = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        found = re.search(r"^Task (\S+): ", told, re.MULTILINE)
        if found is None:
            return "All files are written."
        task = found.group(1)
        self.asked.append(task)
        number = self.asked.count(task)
        if number == 1:
            return call("create_file", path=f"{task}.txt", content=f"{task}\n")
        if number == 2:
            return Reply(report(f"{task} is written"), hold=self.hold) if task.endswith("1") else report("written")
        return report(f"{task} was written already")


async def start_jobs(server: LiveServer, names: tuple[str, ...]) -> dict[str, tuple[LiveChat, str]]:
    """One job in a chat of its own for each name; its second task is held when this returns."""
    jobs: dict[str, tuple[LiveChat, str]] = {}
    for name in names:
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(writing(f"{name}0"), writing(f"{name}1", f"{name}0")))
        jobs[name] = (chat, job["id"])
    for name, (chat, _) in jobs.items():
        async with asyncio.timeout(90):
            async for event in chat.follow():
                if event["type"] == "tool-result" and event.get("task_id") == f"{name}1":
                    break
    return jobs


async def check(server: LiveServer, name: str, chat: LiveChat, job_id: str, *, least_attempts: int) -> None:
    """The job is done, each file was written once, and an attempt that was broken off is shown as interrupted."""
    done = await until(server, chat, job_id, "completed", "failed", seconds=90)
    assert done["status"] == "completed", done["error"]
    first, second = f"{name}0", f"{name}1"
    attempts = {task["id"]: task["attempt"] for task in done["tasks"] if task["status"] == "completed"}
    assert list(attempts) == [first, second] and attempts[second] >= least_attempts
    events = await chat.events()
    written = [e["task_id"] for e in events if e["type"] == "tool-result" and e["tool_result"]["status"] == "ok"]
    assert sorted(written) == [first, second], "each file was created once"
    reasons = [e["reason"] for e in events if e["type"] == "turn-ended"]
    assert reasons.count("interrupted") == sum(attempts.values()) - 2
    assert [e["seq"] for e in events] == sorted({e["seq"] for e in events}), "every record has a number of its own"
    for task in (first, second):
        assert (server.workspace / f"{task}.txt").read_text() == f"{task}\n"


RUNS = """
SELECT r.run_id || ' ' || r.owner || ' ' || r.epoch FROM engine_runs r
JOIN dbos.workflow_status w ON w.workflow_uuid = r.run_id || ':' || r.segment AND w.executor_id = r.owner
WHERE r.state = 'active' AND w.status = 'PENDING'
"""


def runs_of(postgres: PostgresProcess, url: str) -> dict[tuple[str, str], int]:
    """The epoch of each job's run and its worker, where our table and DBOS's queue agree that this worker has it."""
    lines = [line.split() for line in postgres.run(RUNS, url.rsplit("/", 1)[1]).splitlines()]
    return {(job, owner): int(epoch) for job, owner, epoch in lines}


@proves("JOB-6/1", "JOB-7/2", "JOB-7/3", "JOB-7/4")
@pytest.mark.timeout(400)  # three processes start, and each waits for what others notice
@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
async def test_jobs_of_workers_that_were_killed_and_cut_off_are_finished_by_another(tmp_path: Path) -> None:
    model = HeldModel()
    with ExitStack() as stack:
        network = stack.enter_context(machines(*NAMES))
        postgres = stack.enter_context(own_postgres(HUB_ADDRESS, inside=network.inside("hub")))
        url = postgres.new_database(HUB_ADDRESS)
        hub = stack.enter_context(serve_in_thread(mind=model, host=HUB_ADDRESS, enter=partial(network.enter, "hub")))
        async with live_server(tmp_path, database_url=postgres.by_socket(url)) as server:
            processes = {
                name: stack.enter_context(
                    worker_process(tmp_path / name, url, hub.base_url, inside=network.inside(name))
                )
                for name in NAMES
            }
            await until_workers(server, lambda found: len(found) == len(NAMES))
            jobs = await start_jobs(server, NAMES)
            found = await until_workers(server, lambda found: all(len(worker["jobs"]) == 1 for worker in found))
            machine_of = {process.pid: name for name, process in processes.items()}
            job_of = {machine_of[worker["pid"]]: worker["jobs"][0] for worker in found}
            async with asyncio.timeout(60):
                while not {(worker["jobs"][0], worker["id"]) for worker in found} <= set(runs_of(postgres, url)):
                    await asyncio.sleep(0.1)  # until DBOS has given each job to its worker
            before = runs_of(postgres, url)
            killed, cut = "a", "b"
            processes[killed].kill()
            network.cut_off(cut)
            lost = {job_of[killed], job_of[cut]}
            taken = {worker["id"] for worker in found if worker["jobs"][0] not in lost}
            await until_workers(server, lambda found: {worker["id"] for worker in found} == taken)
            model.hold.set()
            for name, (chat, job_id) in jobs.items():
                await check(server, name, chat, job_id, least_attempts=2 if job_id in lost else 1)
            epochs = postgres.run("SELECT run_id || ' ' || epoch FROM engine_runs", url.rsplit("/", 1)[1]).split()
            epoch_of = dict(zip(epochs[::2], map(int, epochs[1::2]), strict=True))
            taken_over = [epoch_of[job] > epoch for (job, _), epoch in before.items() if job in lost]
            assert taken_over == [True, True], "the engine gave them to another worker"
            network.connect(cut)
            back = await until_workers(server, lambda found: len(found) == 2)
            assert {worker["pid"] for worker in back} == {processes[name].pid for name in ("b", "c")}
            processes["c"].kill()
            again = await start_jobs(server, ("d",))
            await check(server, "d", *again["d"], least_attempts=1)
            assert not server.model.requests, "the server did none of it"
            processes["b"].terminate()
            assert await asyncio.to_thread(processes["b"].wait, 60) == 0, "it leaves cleanly"


@proves("JOB-7/4")
@pytest.mark.timeout(400)  # it is taken for hung after eight seconds, and starts twice
async def test_stopped_worker_loses_its_job_and_does_nothing_more_of_it_when_it_goes_on(
    tmp_path: Path, database_url: str
) -> None:
    model = HeldModel()
    with serve_in_thread(mind=model) as asked, worker_process(tmp_path / "a", database_url, asked.base_url) as process:
        async with live_server(tmp_path, database_url=database_url) as server:
            (old,) = await until_workers(server, lambda found: len(found) == 1)
            jobs = await start_jobs(server, ("a",))
            server.model.replies[:] = [report("a1 was written already"), "All files are written."]
            process.send_signal(signal.SIGSTOP)
            model.hold.set()
            await check(server, "a", *jobs["a"], least_attempts=2)
            before = await jobs["a"][0].events()
            process.send_signal(signal.SIGCONT)
            (new,) = await until_workers(server, lambda found: len(found) == 1, seconds=120)
            assert new["pid"] == old["pid"] and new["id"] != old["id"], "it has joined again, as a new worker"
            assert await jobs["a"][0].events() == before
            again = await start_jobs(server, ("b",))
            await check(server, "b", *again["b"], least_attempts=1)
