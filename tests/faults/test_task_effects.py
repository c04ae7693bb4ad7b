"""A task's effect that no layer holds back: a row that an MCP server inserts. Killed at every record, it is there once or a person decided."""

import asyncio
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from support.fork_server import ForkServer
from support.jobs import Json, plan, report
from support.live_server import Caller, RequestRefused
from support.raw_mcp_server import raw_server
from support.scripted_model import Answer, Body, call, serve_in_thread
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


@dataclass(frozen=True)
class Effect:
    """What a task does once: its call, what its plan grants, and how often it happened."""

    tool: str
    parameters: Callable[[str], Json]
    grants: Callable[[str], Json]
    count: Callable[[ChildServer, str], int]

    def answer(self, body: Body) -> Answer:
        """A model that acts until it is told that this is done, or that it must not: whether it happened is not its to know."""
        told = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        task = re.search(r"^Task (\S+): ", told, re.MULTILINE)
        if task is None:
            return "Everything is there."
        if re.search(rf"Result of {self.tool} \((ok|denied|refused)\)|{self.tool}.*: (ok|denied|refused)", told):
            return report("it is done")
        return call(self.tool, **self.parameters(task.group(1)))


def rows_of(server: ChildServer, name: str) -> int:
    with closing(sqlite3.connect(server.data / "mcp-data" / "raw" / "rows.db")) as rows:
        if not rows.execute("SELECT 1 FROM sqlite_master WHERE name = 'rows'").fetchone():
            return 0
        return int(rows.execute("SELECT count(*) FROM rows WHERE name = ?", (name,)).fetchone()[0])


ROW = Effect(
    "raw__attempt",
    parameters=lambda name: {"code": INSERT.format(name=name)},
    grants=lambda name: {"tools_needed": ["raw__attempt"]},
    count=rows_of,
)


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
    with (
        serve_in_thread(mind=ROW.answer) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url, gate=gate) as server,
    ):
        async with server.connect() as client:
            far = raw_server(server.cli.home / "far", data_folder=True, workspace_access="none")
            await client.ask("POST", "/mcp/servers", far, expect=201)
            await client.ask("POST", "/mcp/servers/raw/connect", {})
            rule = {"tool": "raw__attempt", "resource": "*", "effect": "allow", "scope": "global"}
            await client.ask("POST", "/rules", rule, expect=201)
            asked = await killed_at_records(server, client, gate, ROW)
            assert asked or not ALL, "at some record nobody could know whether the row is there"


async def killed_at_records(server: ChildServer, client: Caller, gate: Gate, effect: Effect) -> list[Json]:
    """What was asked in jobs whose server was killed at each of the records that an undisturbed job writes; at every second, unless ALL."""
    first, undisturbed = await EffectJob(server, client, effect, "t0").propose(), Records()
    gate.hold(undisturbed)
    assert await first.end() == []
    asked = []
    for number in range(1, undisturbed.count + 1, 1 if ALL else 2):
        asked += await killed_at(number, await EffectJob(server, client, effect, f"t{number}").propose(), gate)
    return asked


async def killed_at(number: int, job: "EffectJob", gate: Gate) -> list[Json]:
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
            gate.release()
            await asyncio.to_thread(job.server.start)
        return await ending
    finally:
        ending.cancel()


class EffectJob:
    """A job of one task with this effect, and its person, who allows it only if it did not happen yet."""

    def __init__(self, server: ChildServer, client: Caller, effect: Effect, name: str) -> None:
        self.server = server
        self.client = client
        self._effect = effect
        self._name = name
        self._asked: dict[str, Json] = {}

    async def propose(self) -> "EffectJob":
        self._chat = await self.client.chat()
        step = {"id": self._name, "action": f"add {self._name}", **self._effect.grants(self._name)}
        self._made = await self.client.ask("POST", f"{self._chat.path}/jobs", {"plan": plan(step)}, expect=202)
        return self

    async def end(self) -> list[Json]:
        """What was asked, once the job has completed with its one effect."""
        job = self._made
        async with asyncio.timeout(SECONDS):
            while job["status"] not in ("completed", "failed", "cancelled"):
                with suppress(*GONE):
                    job = await self.client.ask("GET", f"/jobs/{job['id']}")
                    await self._decide(job)
                await asyncio.sleep(0.05)
        assert job["status"] == "completed", (job["error"], job["tasks"])
        assert self._times() == 1, f"{self._name} is there once"
        return [*self._asked.values()]

    async def _decide(self, job: Json) -> None:
        if job["status"] == "awaiting_approval":
            await self.client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        for approval in await self._chat.approvals():
            self._asked[approval["id"]] = approval
            decision = {"id": approval["id"], "decision": "deny" if self._times() else "allow_once"}
            await self.client.ask("POST", f"{self._chat.path}/approvals", {"decisions": [decision]}, expect=200)

    def _times(self) -> int:
        return self._effect.count(self.server, self._name)
