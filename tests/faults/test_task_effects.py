"""A task's effect that no layer holds back: a line that a command appends, a row that an MCP server inserts.

The server is killed at every record of the task, and between them at every sync and rename on the way to the effect and from it to its
result: the effect is there once, and where nobody can know, a person is asked.
"""

import asyncio
import os
import re
import sqlite3
from collections import Counter
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

ALL = "ANYCOWORK_KILL_ROUNDS" in os.environ  # `make test-kills` asks for every moment
SECONDS = 120.0
GONE = (aiohttp.ClientError, ConnectionError, TimeoutError, RequestRefused)
MAY_REPEAT = "An earlier attempt did exactly this already, or was interrupted while it did: it may happen twice."
INSERT = """
import sqlite3
rows = sqlite3.connect('/home/sandbox/rows.db')
rows.execute('CREATE TABLE IF NOT EXISTS rows (name TEXT)')
rows.execute("INSERT INTO rows VALUES ('{name}')")
rows.commit()
os.fsync(os.open('/home/sandbox', os.O_RDONLY))
tell('inserted')
"""


@dataclass(frozen=True)
class Effect:
    """What a task does once: its call, what its plan grants, and how often it happened.

    `done` is the folder that is synced after the effect, `begun` the file that our own process renames to make it.
    """

    tool: str
    parameters: Callable[[str], Json]
    grants: Callable[[str], Json]
    count: Callable[[ChildServer, str], int]
    done: str
    begun: str | None = None

    def answer(self, body: Body) -> Answer:
        """A model that acts until it is told that this is done, or that it must not: whether it happened is not its to know."""
        told = "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "user")
        task = re.search(r"^Task (\S+): ", told, re.MULTILINE)
        if task is None:
            return "Everything is there."
        if re.search(rf"Result of {self.tool} \((ok|denied|refused)\)|{self.tool}.*: (ok|denied|refused)", told):
            is_open = f"Not done: step {task.group(1)}" in told
            return report(f"Step {task.group(1)} needs nothing more: it is there." if is_open else "it is done")
        return call(self.tool, **self.parameters(task.group(1)))


def rows_of(server: ChildServer, name: str) -> int:
    with closing(sqlite3.connect(server.data / "mcp-data" / "raw" / "rows.db")) as rows:
        if not rows.execute("SELECT 1 FROM sqlite_master WHERE name = 'rows'").fetchone():
            return 0
        return int(rows.execute("SELECT count(*) FROM rows WHERE name = ?", (name,)).fetchone()[0])


def lines_of(server: ChildServer, name: str) -> int:
    log = server.workspace / "log.txt"
    return log.read_text().split("\n").count(name) if log.exists() else 0


def append(name: str) -> str:
    return f"echo {name} >> log.txt"


ROW = Effect(
    "raw__attempt",
    parameters=lambda name: {"code": INSERT.format(name=name)},
    grants=lambda name: {"tools_needed": ["raw__attempt"]},
    count=rows_of,
    done="sandbox",
)
LINE = Effect(
    "execute_command",
    parameters=lambda name: {"command": append(name)},
    grants=lambda name: {"tools_needed": ["execute"], "paths": ["log.txt"], "commands": [append(name)]},
    count=lines_of,
    done="work",
    begun="log.txt",
)


@dataclass(frozen=True)
class Moment:
    """The so-many-th sync or rename of a file in a job. Temporary names are random and count as one."""

    name: str
    number: int

    @property
    def is_record(self) -> bool:
        return self.name == RECORD


RECORD = "a record of the journal"


class Moments:
    """Collects the moments of a job, and holds one of them."""

    def __init__(self, held: Moment | None = None) -> None:
        self.passed: list[Moment] = []
        self._held = held
        self._counts = Counter[str]()

    def __call__(self, held_call: HeldCall) -> bool:
        name = RECORD if to_log(held_call) else re.sub(r"^\..*", "a temporary name", held_call.path.name)
        self._counts[name] += 1
        self.passed.append(Moment(name, self._counts[name]))
        return self.passed[-1] == self._held


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with syscall_gate(tmp_path) as gate:
        yield gate


@proves("JOB-6/1", "JOB-6/2")
@pytest.mark.timeout(3600 if ALL else 900)
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
            (folder,) = (await client.ask("GET", "/workspaces"))["workspaces"]
            await client.ask("PATCH", f"/workspaces/{folder['id']}", {"trusts_contents": True})
            asked = await killed_at_moments(server, client, gate, ROW)
            assert asked, "where the row is there and its result is not, a person is asked"
            assert all(MAY_REPEAT in approval["reasons"] for approval in asked)


@proves("JOB-6/1", "JOB-6/2")
@pytest.mark.timeout(3600 if ALL else 900)
@pytest.mark.parametrize("parallel", [1, 2] if ALL else [1])
async def test_line_of_a_command_is_appended_once_wherever_the_server_is_killed(
    fork_server: ForkServer, tmp_path: Path, gate: Gate, parallel: int
) -> None:
    with (
        serve_in_thread(mind=LINE.answer) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url, gate=gate) as server,
    ):
        async with server.connect() as client:
            asked = await killed_at_moments(server, client, gate, LINE, parallel=parallel)
            assert asked == [], "what a command has changed is known after every kill"


async def killed_at_moments(
    server: ChildServer, client: Caller, gate: Gate, effect: Effect, *, parallel: int = 1
) -> list[Json]:
    """What was asked in jobs whose server was killed at each of the moments of an undisturbed job; at some of them, unless ALL."""
    for name in ("first", "second"):  # the first one also makes the file or the table
        job, moments = await EffectJob(server, client, effect, name, parallel).propose(), Moments()
        gate.hold(moments)
        assert await job.end() == []
    asked = []
    for number, moment in enumerate(chosen(moments.passed, effect)):
        job = await EffectJob(server, client, effect, f"t{number}", parallel).propose()
        asked += await killed_at(moment, job, gate)
    return asked


def chosen(moments: list[Moment], effect: Effect) -> list[Moment]:
    """All of them; or the one after the effect and the record of its result, and of what begins in our own process some before it."""
    [*_, done] = (moment for moment in moments if moment.name == effect.done)
    result = next(moment for moment in moments[moments.index(done) :] if moment.is_record)
    begun = [moment for moment in moments if moment.name == effect.begun][-1:]
    records = [moment for moment in moments if begun and moment.is_record and moment.number % 6 == 1]
    return moments if ALL else [*(moment for moment in records if moment != result), *begun, done, result]


async def killed_at(moment: Moment, job: "EffectJob", gate: Gate) -> list[Json]:
    """What was asked in a job whose server was killed at this moment. A job that writes fewer records is left alone."""
    gate.hold(Moments(moment))
    ending = asyncio.ensure_future(job.end())
    try:
        while not gate.is_held and not ending.done():
            await asyncio.sleep(0.01)
        assert gate.is_held or moment.is_record, "a job without this moment has not had its effect"
        if gate.is_held:
            await asyncio.to_thread(job.server.kill)
            gate.release()
            await asyncio.to_thread(job.server.start)
        return await ending
    finally:
        ending.cancel()
        gate.hold(Moments())  # what comes after a job without this moment is not held in its place


class EffectJob:
    """A job of one task with this effect, and its person, who allows it only if it did not happen yet."""

    def __init__(self, server: ChildServer, client: Caller, effect: Effect, name: str, parallel: int) -> None:
        self.server = server
        self.client = client
        self.effect = effect
        self._name = name
        self._parallel = parallel
        self._asked: dict[str, Json] = {}

    async def propose(self) -> "EffectJob":
        self._chat = await self.client.chat()
        step = {"id": self._name, "action": f"add {self._name}", **self.effect.grants(self._name)}
        body = {"plan": plan(step), "parallel": self._parallel}
        self._made = await self.client.ask("POST", f"{self._chat.path}/jobs", body, expect=202)
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
        return self.effect.count(self.server, self._name)
