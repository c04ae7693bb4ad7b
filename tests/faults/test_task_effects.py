"""A task's effect that no layer holds back: a row that an MCP server inserts. Killed at every record, it is there once or a person decided."""

import asyncio
import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import aiohttp
import pytest

from support.fork_server import ForkServer
from support.jobs import Json, plan, report
from support.live_server import Caller, RequestRefused
from support.raw_mcp_server import raw_server
from support.scripted_model import Answer, Body, Reply, call, serve_in_thread
from support.server import ChildServer, child_server
from support.spec import proves
from support.syncwatch import HeldCall
from support.syscall_gate import Gate, syscall_gate, to_log

ALL = "ANYCOWORK_KILL_ROUNDS" in os.environ  # `make test-kills` asks for every record
SECONDS = 120.0
GONE = (aiohttp.ClientError, ConnectionError, TimeoutError, RequestRefused)
INSERT = """
import sqlite3
rows = sqlite3.connect('/home/sandbox/rows.db')
rows.execute('CREATE TABLE IF NOT EXISTS rows (name TEXT)')
rows.execute("INSERT INTO rows VALUES ('{name}')")
rows.commit()
tell('inserted')
"""


class InsertingModel:
    """Inserts the task's row until it is told that this is done, or that it must not: whether it happened is not its to know.
    It calls while the MCP server is `ready`: a server that has just started connects it beside the first turns."""

    def __init__(self) -> None:
        self.ready = threading.Event()

    def __call__(self, body: Body) -> Answer:
        told = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        task = re.search(r"^Task (\S+): ", told, re.MULTILINE)
        if task is None:
            return "All rows are there."
        if re.search(r"Result of raw__attempt \((ok|denied|refused)\)|raw__attempt.*: (ok|denied|refused)", told):
            return report("the row is there")
        return Reply(call("raw__attempt", code=INSERT.format(name=task.group(1))), hold=self.ready)


class Records:
    """Counts the commits of the journal, and holds one of them."""

    def __init__(self) -> None:
        self.count = 0
        self.held = 0

    def __call__(self, held_call: HeldCall) -> bool:
        if not to_log(held_call):
            return False
        self.count += 1
        return self.count == self.held


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with syscall_gate(tmp_path) as gate:
        yield gate


@proves("JOB-6/1", "JOB-6/2")
@pytest.mark.timeout(3600 if ALL else 300)
async def test_row_of_an_mcp_server_is_inserted_once_wherever_the_server_is_killed(
    fork_server: ForkServer, tmp_path: Path, gate: Gate
) -> None:
    mind = InsertingModel()
    with (
        serve_in_thread(mind=mind) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url, gate=gate) as server,
    ):
        async with server.connect() as client:
            far = raw_server(server.cli.home / "far", data_folder=True, workspace_access="none")
            await client.ask("POST", "/mcp/servers", far, expect=201)
            await until_connected(client, mind)
            rule = {"tool": "raw__attempt", "resource": "*", "effect": "allow", "scope": "global"}
            await client.ask("POST", "/rules", rule, expect=201)
            first, undisturbed = await InsertingJob(server, client, "t0").propose(), Records()
            gate.hold(undisturbed)
            assert await first.end() == []
            records = range(1, undisturbed.count + 1)
            asked = []
            for number in records[:: 1 if ALL else 2]:
                job = await InsertingJob(server, client, f"t{number}").propose()
                asked += await killed_at(number, job, gate, mind)
            assert asked or not ALL, "at some record nobody could know whether the row is there"


async def until_connected(client: Caller, mind: InsertingModel) -> None:
    async with asyncio.timeout(SECONDS):
        while (await client.ask("GET", "/mcp/servers/raw"))["status"] != "ready":
            await asyncio.sleep(0.05)
    mind.ready.set()


async def killed_at(number: int, job: "InsertingJob", gate: Gate, mind: InsertingModel) -> list[Json]:
    """What was asked in a job whose server was killed before this record of it was written. A job of fewer records is left alone."""
    records = Records()
    records.held = number
    gate.hold(records)
    ending = asyncio.ensure_future(job.end())
    try:
        while not gate.is_held and not ending.done():
            await asyncio.sleep(0.01)
        if gate.is_held:
            await asyncio.to_thread(job.server.kill)
            mind.ready.clear()
            gate.release()
            await asyncio.to_thread(job.server.start)
            await until_connected(job.client, mind)
        return await ending
    finally:
        ending.cancel()


class InsertingJob:
    """A job of one task that inserts one row, and its person, who allows an insert only if the row is not there."""

    def __init__(self, server: ChildServer, client: Caller, name: str) -> None:
        self.server = server
        self.client = client
        self._name = name
        self._asked: dict[str, Json] = {}

    async def propose(self) -> "InsertingJob":
        self._chat = await self.client.chat()
        step = {"id": self._name, "action": "insert the row", "tools_needed": ["raw__attempt"]}
        self._made = await self.client.ask("POST", f"{self._chat.path}/jobs", {"plan": plan(step)}, expect=202)
        return self

    async def end(self) -> list[Json]:
        """What was asked, once the job has completed with its one row."""
        job = self._made
        async with asyncio.timeout(SECONDS):
            while job["status"] not in ("completed", "failed", "cancelled"):
                with suppress(*GONE):
                    job = await self.client.ask("GET", f"/jobs/{job['id']}")
                    await self._decide(job)
                await asyncio.sleep(0.05)
        assert job["status"] == "completed", (job["error"], job["tasks"])
        assert self._rows() == 1, f"{self._name} is there once"
        return [*self._asked.values()]

    async def _decide(self, job: Json) -> None:
        if job["status"] == "awaiting_approval":
            await self.client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        for approval in await self._chat.approvals():
            self._asked[approval["id"]] = approval
            decision = {"id": approval["id"], "decision": "deny" if self._rows() else "allow_once"}
            await self.client.ask("POST", f"{self._chat.path}/approvals", {"decisions": [decision]}, expect=200)

    def _rows(self) -> int:
        with closing(sqlite3.connect(self.server.data / "mcp-data" / "raw" / "rows.db")) as rows:
            if not rows.execute("SELECT 1 FROM sqlite_master WHERE name = 'rows'").fetchone():
                return 0
            return int(rows.execute("SELECT count(*) FROM rows WHERE name = ?", (self._name,)).fetchone()[0])
