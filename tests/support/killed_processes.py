"""A server, a worker and a database that tests kill while jobs run, and a model that does each task's work once if it is told the truth."""

import asyncio
import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp

from support.cli_process import TIMEOUT, CommandLine
from support.fork_server import ForkedServer, ForkServer
from support.jobs import plan, report
from support.live_server import Caller, LiveChat, RequestRefused
from support.postgres_process import PostgresProcess
from support.scripted_model import Answer, Body, call, serve_in_thread
from support.server import ChildServer, child_server

SECONDS = 120.0
GONE = (aiohttp.ClientError, ConnectionError, TimeoutError, RequestRefused)
BEFORE, ONCE = "n\n", "nx\n"
Json = dict[str, Any]
_HOLD = """
CREATE SEQUENCE boundaries;
CREATE TABLE held_boundary (number BIGINT NOT NULL);
INSERT INTO held_boundary VALUES (0);
CREATE FUNCTION hold_boundary() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('boundaries') = (SELECT number FROM held_boundary) THEN PERFORM pg_sleep(600); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER hold_boundary AFTER INSERT ON records FOR EACH STATEMENT EXECUTE FUNCTION hold_boundary();
"""
_HELD = """
SELECT p.kind FROM pg_stat_activity a JOIN peers p ON a.application_name = 'anycowork ' || p.id WHERE a.wait_event = 'PgSleep'
"""


def counting_model(body: Body) -> Answer:
    """Each task adds one `x` to its file, unless it is told that this is done: a step that ran twice leaves two."""
    told = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
    found = re.search(r"^Task (\S+): ", told, re.MULTILINE)
    if found is None:
        return "All files are counted."
    task = found.group(1)
    if f"update_file {task}.txt: ok" in told or "Result of update_file (ok)" in told:
        return report(f"{task} is counted")
    return call("update_file", path=f"{task}.txt", edits=[{"find": "n", "replace": "nx"}])


class KilledProcesses:
    """One of each. A killed one is started again at once."""

    def __init__(self, postgres: PostgresProcess, url: str, server: ChildServer, fork_server: ForkServer) -> None:
        self.postgres = postgres
        self.url = url
        self.server = server
        self.kills = Counter[str]()
        self._fork_server = fork_server
        folder = server.cli.home / "worker"
        folder.mkdir()
        self._worker_line = CommandLine(folder, server.cli.model_url)
        self.worker_log = folder / "worker.log"
        self._worker: ForkedServer | None = None
        self._jobs = 0
        self._holds = False

    def start_worker(self) -> None:
        words = ["worker", "--jobs", "2", "--data-dir", str(self._worker_line.data)]
        environment = self._worker_line.environ(ANYCOWORK_DATABASE_URL=self.url)
        self._worker = self._fork_server.fork(words, cwd=self.server.workspace, env=environment, log=self.worker_log)

    def stop_worker(self) -> None:
        if self._worker is not None:
            os.kill(self._worker.pid, signal.SIGKILL)
            self._worker.wait(TIMEOUT)
            self._worker = None

    def kill(self, target: str) -> None:
        self.kills[target] += 1
        if target == "database":
            self.postgres.kill()
            self.postgres.start()
        elif target == "worker":
            self.stop_worker()
            self._end_held()
            self.start_worker()
        else:
            self.server.kill()
            self._end_held()
            self.server.start()

    # --- records

    def hold_boundaries(self) -> None:
        """From now on `hold_at` can hold back a write of the journal, after its statements and before its commit."""
        self._holds = True
        self._sql(_HOLD)

    def boundaries(self) -> int:
        """How many times the journal was written so far."""
        return int(self._sql("SELECT last_value FROM boundaries"))

    def hold_at(self, number: int) -> None:
        self._sql(f"UPDATE held_boundary SET number = {number}")

    def held(self) -> str | None:
        """The kind of process whose write is held back now."""
        return self._sql(_HELD) or None

    def _end_held(self) -> None:
        """Ends the session of a killed process whose write is held back: the database notices only at the end of the statement."""
        if self._holds:
            self._sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")

    def _sql(self, statement: str) -> str:
        return self.postgres.run(statement, self.url.split("?")[0].rsplit("/", 1)[1])

    # --- jobs

    async def propose(self, client: Caller, tasks: int) -> tuple[LiveChat, Json]:
        """A job in a chat of its own that waits for approval, each of its tasks after the one before."""
        self._jobs += 1
        names = [f"j{self._jobs}t{number}" for number in range(tasks)]
        for name in names:
            (self.server.workspace / f"{name}.txt").write_text(BEFORE)
        chat = await client.chat()
        return chat, await client.ask("POST", f"{chat.path}/jobs", {"plan": plan(*_steps(names))}, expect=202)

    async def approve(self, client: Caller, job: Json) -> None:
        """Approves it, again if the first time was lost."""
        async with asyncio.timeout(SECONDS):
            while True:
                try:
                    if (await client.ask("GET", f"/jobs/{job['id']}"))["status"] != "awaiting_approval":
                        return
                    await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
                except GONE:
                    await asyncio.sleep(0.1)

    async def begin(self, client: Caller, tasks: int) -> tuple[LiveChat, Json]:
        chat, job = await self.propose(client, tasks)
        await self.approve(client, job)
        return chat, job

    async def finished(self, client: Caller, job: Json) -> Json:
        """The job when it has ended, whatever is killed meanwhile."""
        async with asyncio.timeout(SECONDS):
            while True:
                try:
                    shown = await client.ask("GET", f"/jobs/{job['id']}")
                    if shown["status"] in ("completed", "failed", "cancelled"):
                        return shown
                except GONE:
                    pass
                await asyncio.sleep(0.1)

    async def check(self, client: Caller, chat: LiveChat, job: Json) -> int:
        """The job ended right: every step was done once, and every attempt that was broken off is shown. The number of those."""
        shown = await self.finished(client, job)
        assert shown["status"] == "completed", shown["error"]
        events = await self._events(chat)
        names = [task["id"] for task in shown["tasks"]]
        for name in names:
            assert (self.server.workspace / f"{name}.txt").read_text() == ONCE, f"the effect of {name} happened once"
        ended = [e for e in events if e["type"] == "task-completed" and e["task"]["status"] == "completed"]
        assert Counter(e["task"]["id"] for e in ended) == Counter(names), "each task completes exactly once"
        at = {e["task"]["id"]: e["seq"] for e in ended}
        for event in events:
            if event["type"] == "task-started":
                assert event["seq"] < at[event["task"]["id"]], "no finished task starts again"
        assert [e["seq"] for e in events] == sorted({e["seq"] for e in events}), "every record has a number of its own"
        broken = sum(task["attempt"] - 1 for task in shown["tasks"])
        reasons = Counter(e["reason"] for e in events if e["type"] == "turn-ended")
        assert reasons["interrupted"] >= broken and set(reasons) <= {"answered", "interrupted"}, reasons
        return broken

    async def _events(self, chat: LiveChat) -> list[Json]:
        """All events, also while the database has not been found again."""
        async with asyncio.timeout(SECONDS):
            while True:
                try:
                    return await chat.events(until="turn-ended")
                except (*GONE, AssertionError):
                    await asyncio.sleep(0.1)


def _steps(names: list[str]) -> list[Json]:
    return [
        {
            "id": name,
            "action": f"count {name}",
            "tools_needed": ["update_file"],
            "paths": [f"{name}.txt"],
            "dependencies": names[number - 1 : number] if number else [],
        }
        for number, name in enumerate(names)
    ]


@contextmanager
def killed_processes(fork_server: ForkServer, postgres: PostgresProcess, folder: Path) -> Iterator[KilledProcesses]:
    """All three at work on a database of their own."""
    url = postgres.new_database()
    (folder / "data").mkdir(parents=True, mode=0o700)
    (folder / "data" / "config.toml").write_text(f'database_url = "{url}"\n')
    with (
        serve_in_thread(mind=counting_model) as model,
        child_server(fork_server, folder, model_url=model.base_url) as server,
    ):
        processes = KilledProcesses(postgres, url, server, fork_server)
        try:
            yield processes
        finally:
            processes.stop_worker()
