"""A task that a kill interrupts goes on where it was: with its conversation, in its own place, and with each effect once."""

import asyncio
import threading
from pathlib import Path

import pytest

from support.fork_server import ForkServer
from support.jobs import plan, report
from support.live_server import Caller
from support.raw_mcp_server import raw_server
from support.scripted_model import Answer, Body, Reply, call, serve_in_thread
from support.server import child_server
from support.spec import proves

TIMEOUT = 60.0
LOOKS = 100  # at a server that is started: what does not wait for it has long gone on
APPEND = "echo a >> log.txt"
WAIT = "test -e go.txt || sleep 600; echo a >> log.txt"


def text_of(body: Body) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"])


@proves("JOB-6/1", "JOB-6/2")
@pytest.mark.parametrize("parallel", [1, 2])
async def test_killed_task_goes_on_with_its_conversation_and_does_nothing_twice(
    fork_server: ForkServer, tmp_path: Path, parallel: int
) -> None:
    asked, killed = threading.Event(), threading.Event()
    bodies: list[Body] = []

    def answer(body: Body) -> Answer:
        bodies.append(body)
        told = text_of(body)
        if "Task t: " not in told:
            return "It is done."
        if APPEND not in told.partition("End with your report.")[2]:
            return call("execute_command", command=APPEND)
        if not asked.is_set():
            asked.set()
            return Reply("never read", hold=killed)
        return report("a line was added")

    step = {"id": "t", "action": "add a line", "tools_needed": ["execute"], "paths": ["log.txt"], "commands": [APPEND]}
    with (
        serve_in_thread(mind=answer) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url) as server,
    ):
        async with server.connect() as client:
            chat = await client.chat()
            job = await client.ask("POST", f"{chat.path}/jobs", {"plan": plan(step), "parallel": parallel}, expect=202)
            await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
            assert await asyncio.to_thread(asked.wait, TIMEOUT)
            before = await client.ask("GET", f"/jobs/{job['id']}")
            server.restart()
            killed.set()
            async with asyncio.timeout(TIMEOUT):
                async for event in chat.follow():
                    if event["type"] == "job-completed":
                        break
            shown = await client.ask("GET", f"/jobs/{job['id']}")
        assert shown["status"] == "completed", shown["error"]
        [task] = shown["tasks"]
        assert task["turn_id"] == before["tasks"][0]["turn_id"] and task["attempt"] == 2
        assert (server.workspace / "log.txt").read_text() == "a\n"
        resumed = next(body for body in bodies[2:] if "Task t: " in text_of(body))
        conversation = [message["content"] for message in bodies[1]["messages"][2:]]
        assert len(conversation) == 2, "its call and the result"
        assert [message["content"] for message in resumed["messages"][2:]][:2] == conversation
        assert server.terminate() == 0


@proves("JOB-6/1")
async def test_report_of_success_after_an_interrupted_call_is_asked_about_before_it_counts(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    def answer(body: Body) -> Answer:
        told = text_of(body)
        if "Task t: " not in told:
            return "It is done."
        if "Result of execute_command (ok)" in told:
            return report("a line was added")
        if "Result of execute_command (interrupted)" in told and "Not done: step t" not in told:
            return report("a line was surely added")
        return call("execute_command", command=WAIT)

    step = {"id": "t", "action": "add a line", "tools_needed": ["execute"], "paths": ["log.txt"], "commands": [WAIT]}
    with (
        serve_in_thread(mind=answer) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url) as server,
    ):
        async with server.connect() as client:
            chat = await client.chat()
            job = await client.ask("POST", f"{chat.path}/jobs", {"plan": plan(step)}, expect=202)
            await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
            async with asyncio.timeout(TIMEOUT):
                async for event in chat.follow():
                    if event["type"] == "tool-call":
                        break
            server.kill()
            (server.workspace / "go.txt").write_text("go\n")
            server.start()
            async with asyncio.timeout(TIMEOUT):
                async for event in chat.follow():
                    if event["type"] == "job-completed":
                        break
            shown = await client.ask("GET", f"/jobs/{job['id']}")
        assert shown["status"] == "completed", shown["error"]
        assert (server.workspace / "log.txt").read_text() == "a\n"
        assert server.terminate() == 0


class LateServer:
    """A real MCP server that connects at once, or, while it is `held`, not before it is let go."""

    def __init__(self, folder: Path) -> None:
        self.config = raw_server(folder)
        self._held = folder / "held"
        program = folder / "server.py"
        waiting = f"import os, time\nwhile os.path.exists({str(self._held)!r}): time.sleep(0.02)\n"
        program.write_text(waiting + program.read_text())

    def hold(self) -> None:
        self._held.touch()

    async def let_go(self, client: Caller, *, unless: threading.Event) -> None:
        """Once a turn could have gone on without it, which `unless` tells."""
        for _ in range(LOOKS):
            if unless.is_set():
                break
            assert (await client.ask("GET", "/mcp/servers/raw"))["status"] == "connecting"
        self._held.unlink()


@proves("JOB-6/1")
async def test_resumed_task_has_the_tools_of_a_server_that_connects_after_the_restart(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    asked, killed, asked_again = threading.Event(), threading.Event(), threading.Event()

    def answer(body: Body) -> Answer:
        told = text_of(body)
        if "Task t: " not in told:
            return "It is done."
        if not asked.is_set():
            asked.set()
            return Reply("never read", hold=killed)
        asked_again.set()
        return report("it is 3") if "Result of raw__add (ok)" in told else call("raw__add", a=1, b=2)

    with (
        serve_in_thread(mind=answer) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url) as server,
    ):
        late = LateServer(server.cli.home / "far")
        async with server.connect() as client:
            await client.ask("POST", "/mcp/servers", late.config, expect=201)
            rule = {"tool": "raw__add", "resource": "*", "effect": "allow", "scope": "global"}
            await client.ask("POST", "/mcp/servers/raw/connect", {})
            await client.ask("POST", "/rules", rule, expect=201)
            chat = await client.chat()
            step = {"id": "t", "action": "add one and two", "tools_needed": ["raw__add"]}
            job = await client.ask("POST", f"{chat.path}/jobs", {"plan": plan(step)}, expect=202)
            await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
            assert await asyncio.to_thread(asked.wait, TIMEOUT)
            late.hold()
            server.restart()
            killed.set()
            await late.let_go(client, unless=asked_again)
            async with asyncio.timeout(TIMEOUT):
                async for event in chat.follow():
                    if event["type"] in ("job-completed", "job-failed"):
                        break
            results = [message["content"] for message in await chat.of_type("tool_result")]
            shown = await client.ask("GET", f"/jobs/{job['id']}")
        assert shown["status"] == "completed", shown["error"]
        assert not [result for result in results if "There is no tool" in result]
        assert server.terminate() == 0


@proves("APR-4/2")
async def test_call_that_was_allowed_after_a_restart_reaches_a_server_that_connects_later(
    fork_server: ForkServer, tmp_path: Path
) -> None:
    gone_on = threading.Event()

    def answer(body: Body) -> Answer:
        if "Result of raw__add" not in text_of(body):
            return call("raw__add", a=1, b=2)
        gone_on.set()
        return "It is 3."

    with (
        serve_in_thread(mind=answer) as model,
        child_server(fork_server, tmp_path, model_url=model.base_url) as server,
    ):
        late = LateServer(server.cli.home / "far")
        async with server.connect() as client:
            await client.ask("POST", "/mcp/servers", late.config, expect=201)
            await client.ask("POST", "/mcp/servers/raw/connect", {})
            chat = await client.chat()
            await chat.send("Add one and two.")
            late.hold()
            server.restart()
            deciding = asyncio.ensure_future(chat.decide())
            await late.let_go(client, unless=gone_on)
            await deciding
            [result] = await chat.of_type("tool_result")
            assert (result["payload"]["status"], result["content"]) == ("ok", "3")
        assert server.terminate() == 0
