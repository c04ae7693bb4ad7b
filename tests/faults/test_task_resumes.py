"""A task that a kill interrupts goes on where it was: with its conversation, in its own place, and with each effect once."""

import asyncio
import threading
from pathlib import Path

import pytest

from support.fork_server import ForkServer
from support.jobs import plan, report
from support.scripted_model import Answer, Body, Reply, call, serve_in_thread
from support.server import child_server
from support.spec import proves

TIMEOUT = 60.0
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
