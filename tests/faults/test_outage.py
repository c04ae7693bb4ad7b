"""The database goes away while jobs run, and comes back: server and worker go on by themselves, and nothing is done twice."""

import asyncio
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from anycowork.domain.errors import DatabaseUnreachable
from anycowork.domain.jobs import Job
from anycowork.store.postgres.connection import OUTAGE_SECONDS
from anycowork.store.postgres.dialect import PostgresDialect
from anycowork.turns.turn_scheduler import LocalPlacement
from support.jobs import approved, plan, report, until, writing
from support.live_server import LiveChat, LiveServer, live_server
from support.postgres_process import own_postgres
from support.scripted_model import Answer, Body, Reply, call, serve_in_thread
from support.spec import proves
from support.workers import until_printed, until_workers, worker_process

SECONDS = 60.0


class HeldReports:
    """Writes each task's file, then reports. The report of a first task waits for `hold`."""

    def __init__(self) -> None:
        self.hold = threading.Event()

    def __call__(self, body: Body) -> Answer:
        told = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        found = re.search(r"^Task (\S+): ", told, re.MULTILINE)
        if found is None:
            return "All files are written."
        task = found.group(1)
        if f"create_file {task}.txt: ok" not in told and "Result of create_file" not in told:
            return call("create_file", path=f"{task}.txt", content=f"{task}\n")
        said = report(f"{task} is written")
        return Reply(said, hold=self.hold) if task.endswith("0") else said


async def begin(server: LiveServer, name: str) -> tuple[LiveChat, str]:
    """A job of two tasks; the first has written its file, and its report is held back."""
    chat = await server.chat()
    job = await approved(server, chat, plan=plan(writing(f"{name}0"), writing(f"{name}1", f"{name}0")))
    async with asyncio.timeout(SECONDS):
        async for event in chat.follow():
            if event["type"] == "tool-result" and event.get("task_id") == f"{name}0":
                break
    return chat, job["id"]


async def finished(server: LiveServer, name: str, chat: LiveChat, job_id: str) -> list[int]:
    """The job is completed, and each file was written once. The attempts of its tasks."""
    done = await until(server, chat, job_id, "completed", "failed", seconds=SECONDS)
    assert done["status"] == "completed", done["error"]
    events = await chat.events()
    written = [e["task_id"] for e in events if e["type"] == "tool-result" and e["tool_result"]["status"] == "ok"]
    assert sorted(written) == [f"{name}0", f"{name}1"], "each file was created once"
    assert (server.workspace / f"{name}1.txt").read_text() == f"{name}1\n"
    return [task["attempt"] for task in done["tasks"]]


async def until_true(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.02)


@proves("JOB-6/1", "JOB-6/2", "JOB-7/4", "OPS-2")
@pytest.mark.timeout(300)  # a database and a worker start
async def test_jobs_of_server_and_worker_go_on_after_an_outage_and_people_are_told_why_they_wait(
    tmp_path: Path,
) -> None:
    assert OUTAGE_SECONDS > 60, "what runs waits longer than a database takes to start again"
    models = HeldReports(), HeldReports()
    folder = tmp_path / "server"
    folder.mkdir()
    with own_postgres() as postgres, serve_in_thread(mind=models[1]) as asked:
        url = postgres.new_database()
        # A held report is no hung model, however long a worker takes to start.
        async with live_server(folder, database_url=url, provider_timeout=600) as server:
            server.model.mind = models[0]
            here = await begin(server, "s")  # no worker is there, so the server runs it
            with worker_process(tmp_path / "worker", url, asked.base_url, jobs=2):  # the rest of either job may be its
                (old,) = await until_workers(server, lambda found: len(found) == 1)
                there = await begin(server, "w")
                log, away = tmp_path / "worker" / "log", server.server.services.server.database_away
                postgres.stop(immediate=True)
                models[0].hold.set()  # what the task reports cannot be written now
                await until_true(lambda: away.is_set() and "because others take it over" in log.read_text())
                for path in ("/readyz", f"/jobs/{here[1]}", f"{here[0].path}/events"):
                    async with server.session.get(server.url + path) as refused:
                        told = (await refused.json())["error"]
                    assert (refused.status, told["code"]) == (503, "database_away"), path
                    assert refused.headers["retry-after"] == "2" and "goes on by itself" in told["message"]
                async with server.session.get(f"{server.url}/healthz") as alive:
                    assert alive.status == 200
                postgres.start()
                await until_true(lambda: not away.is_set())
                models[1].hold.set()
                assert await finished(server, "s", *here) == [1, 1], "nothing was begun again"
                (new,) = await until_workers(server, lambda found: len(found) == 1 and found[0]["id"] != old["id"])
                assert new["pid"] == old["pid"], "the worker has joined again by itself"
                attempts = await finished(server, "w", *there)
                assert attempts[0] > 1, "the worker's task was interrupted, shown as such, and tried again"
                reasons = [e["reason"] for e in await there[0].events() if e["type"] == "turn-ended"]
                assert reasons.count("interrupted") == sum(attempts) - 2
        postgres.stop()
        with worker_process(tmp_path / "late", url, asked.base_url) as late:
            until_printed(tmp_path / "late" / "log", "waits for it")
            postgres.start()
            until_printed(tmp_path / "late" / "log", "a worker has joined")
            late.send_signal(signal.SIGINT)
            assert late.wait(60) == 0


class AwayAtFirst(LocalPlacement):
    """The database is away when it is asked at first."""

    def __init__(self) -> None:
        self.asked = 0

    async def runs_here(self, job: Job) -> bool:
        self.asked += 1
        if self.asked == 1:
            raise DatabaseUnreachable("The database does not answer.")
        return await super().runs_here(job)


async def test_a_server_outlives_a_database_that_is_away_when_a_decided_task_goes_on(tmp_path: Path) -> None:
    replies = [call("delete_file", path="old.txt"), report("old.txt is gone"), "Done."]
    async with live_server(tmp_path, replies=replies, files={"old.txt": "old\n"}) as server:
        placement = server.server.scheduler.placement = AwayAtFirst()
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(writing("t0")))
        async with asyncio.timeout(SECONDS):
            async for event in chat.follow():
                if event["type"] == "permission-request":
                    break
        (pending,) = await chat.approvals()
        decision = {"decisions": [{"id": pending["id"], "decision": "allow_once"}]}
        await server.ask("POST", f"{chat.path}/approvals", decision, expect=200)
        done = await until(server, chat, job["id"], "completed", "failed", seconds=SECONDS)
        assert done["status"] == "completed" and not (server.workspace / "old.txt").exists()
        assert placement.asked > 1


@pytest.mark.parametrize(
    ("error", "is_expected_back"),
    [
        (asyncpg.InterfaceError("cannot call PreparedStatement.fetch(): the underlying connection is closed"), True),
        (asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"), True),
        (asyncpg.CannotConnectNowError("the database system is starting up"), True),
        (ConnectionRefusedError(111, "Connection refused"), True),
        (asyncpg.InvalidPasswordError("password authentication failed"), False),
        (asyncpg.InvalidCatalogNameError("database does not exist"), False),
        (asyncpg.DiskFullError("no space left on device"), False),
        (asyncpg.exceptions.ClientConfigurationError("could not parse the address"), False),
    ],
)
def test_a_lost_session_is_a_database_that_may_come_back(error: Exception, is_expected_back: bool) -> None:
    assert isinstance(PostgresDialect().storage_fault(error), DatabaseUnreachable) is is_expected_back
