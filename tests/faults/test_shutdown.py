"""Told to end, the server ends cleanly under load; a second one on the same folder is turned away."""

import asyncio
import json
import threading
from uuid import uuid4

import aiohttp

from support.live_server import TIMEOUT, Caller
from support.sandboxes import running, until
from support.scripted_model import Body, Reply, ScriptedModel, call
from support.server import ChildServer
from support.spec import proves

CREATE = call("create_file", path="a.txt", content="a")
QUESTION = json.dumps(
    {"type": "question", "question": "Which?", "options": [{"label": "A", "value": "a"}, {"label": "B", "value": "b"}]}
)
SAID = "The server was stopped during this turn"


@proves("OPS-2")
async def test_a_second_server_on_the_same_folder_is_refused_and_the_first_goes_on(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    before = (server.data / "server.json").read_bytes()
    second = server.starting()
    assert await asyncio.to_thread(second.wait, TIMEOUT) == 1
    assert f"A server already uses the data folder {server.data}, at {server.url} (pid {server.pid})" in server.log
    assert "Traceback" not in server.log
    assert (server.data / "server.json").read_bytes() == before
    model.replies += ["Still here."]
    chat = await client.chat()
    await chat.send("are you there?")
    assert (await chat.last())["content"] == "Still here."


@proves("OPS-2", "QST-2", "APR-8")
async def test_sigterm_interrupts_what_runs_and_leaves_open_what_waits(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    hold = threading.Event()
    model.mind = by_the_request({"work": Reply("Half a word", hold=hold), "create": CREATE, "ask": QUESTION})
    working, asking, questioning = [await client.chat() for _ in range(3)]
    await working.send("work", until="sent")
    await asking.send("create")
    await questioning.send("ask")
    async with client.session.get(f"{server.url}{working.path}/events") as stream:
        await until_event(stream, b"text-delta")
        assert await asyncio.to_thread(server.terminate) == 0
        rest = await stream.content.read()  # an open stream is ended, not cut: this raises if it is
    assert isinstance(rest, bytes)
    assert not (server.data / "server.json").exists()
    assert "Traceback" not in server.log
    hold.set()

    server.start()
    await client.ask("GET", "/readyz", expect=200)
    states = [(await chat.show())["state"] for chat in (working, asking, questioning)]
    assert states == ["idle", "awaiting_approval", "awaiting_answer"]
    [sent, partial, note] = await working.messages()
    assert (sent["content"], partial["payload"]) == ("work", {"broken_off": True}) and SAID in note["content"]
    assert [e["reason"] for e in await working.events() if e["type"] == "turn-ended"] == ["interrupted"]
    model.mind = lambda body: "Done."
    assert (await asking.decide())["state"] == "idle"
    assert (server.workspace / "a.txt").read_text() == "a"


@proves("OPS-2", "LOOP-5")
async def test_sigterm_kills_the_command_that_runs(server: ChildServer, model: ScriptedModel, client: Caller) -> None:
    marker = f"marker-{uuid4().hex}"
    model.replies += [call("execute_command", command=f"exec -a {marker} sleep 600")]
    chat = await client.chat()
    await chat.send("run it")
    decisions = [{"id": item["id"], "decision": "allow_once"} for item in await chat.approvals()]
    await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions})
    await until(lambda: running(f"{marker}\x00600"))
    assert await asyncio.to_thread(server.terminate) == 0
    assert running(marker) == []
    server.start()
    assert [result["status"] for result in await chat.results()] == ["interrupted"]
    assert (await chat.show())["state"] == "idle"


def by_the_request(answers: dict[str, Reply | str]):
    def mind(body: Body) -> Reply | str:
        return next(answer for word, answer in answers.items() if body["messages"][-1]["content"].endswith(word))

    return mind


async def until_event(stream: aiohttp.ClientResponse, name: bytes) -> None:
    async with asyncio.timeout(TIMEOUT):
        async for line in stream.content:
            if line == b"event: " + name + b"\n":
                return
