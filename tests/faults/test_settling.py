"""Who settles what after a crash, row by row: the server is stopped by the kernel at the exact point, killed there, and started again."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest

from support.fork_server import ForkServer
from support.live_server import Caller, Json, LiveChat
from support.sandboxes import running, until
from support.scripted_model import Reply, ScriptedModel, call
from support.server import ChildServer, child_server
from support.spec import proves
from support.stored import opened
from support.syncwatch import HeldCall
from support.syscall_gate import Gate, rename_to, sync_of, syscall_gate, to_log

TIMEOUT = 60.0
EDIT = call("update_file", path="a.txt", edits=[{"find": "(the end)", "replace": "one more line\n(the end)"}])
BEFORE, AFTER = "(the end)\n", "one more line\n(the end)\n"
QUESTION = {
    "type": "question",
    "question": "Which colour?",
    "options": [{"label": "Blue", "value": "blue"}, {"label": "Red", "value": "red"}],
}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with syscall_gate(tmp_path) as gate:
        yield gate


@pytest.fixture
def server(fork_server: ForkServer, tmp_path: Path, model: ScriptedModel, gate: Gate) -> Iterator[ChildServer]:
    with child_server(fork_server, tmp_path, model_url=model.base_url, files={"a.txt": BEFORE}, gate=gate) as server:
        yield server


# --- a file tool


@proves("LOOP-5", "OPS-2")
async def test_killed_before_the_file_changed_the_call_is_interrupted_and_not_repeated(
    server: ChildServer, gate: Gate, model: ScriptedModel, client: Caller
) -> None:
    chat = await killed_at(rename_to("a.txt"), server, gate, model, client)
    assert (server.workspace / "a.txt").read_text() == BEFORE
    [result] = await chat.results()
    assert result["status"] == "interrupted" and "before it changed anything" in result["error"]["message"]
    await ends_interrupted(chat)
    assert [path.name for path in server.workspace.iterdir()] == ["a.txt"], "what was half-written is cleared away"
    assert len(model.requests) == 1, "the model is not asked again"


@proves("LOOP-5", "OPS-2")
async def test_killed_after_the_file_changed_the_call_counts_as_done_and_is_not_repeated(
    server: ChildServer, gate: Gate, model: ScriptedModel, client: Caller
) -> None:
    chat = await killed_at(sync_of(server.workspace), server, gate, model, client)
    assert (server.workspace / "a.txt").read_text() == AFTER
    [result] = await chat.results()
    assert result["status"] == "ok" and "error" not in result
    await ends_interrupted(chat)


@proves("OPS-2")
async def test_a_file_that_is_neither_as_before_nor_as_meant_is_said_to_be_so_and_left_alone(
    server: ChildServer, gate: Gate, model: ScriptedModel, client: Caller
) -> None:
    meanwhile = "a person wrote this while the server was down\n"
    chat = await killed_at(
        rename_to("a.txt"), server, gate, model, client, then=lambda: (server.workspace / "a.txt").write_text(meanwhile)
    )
    assert (server.workspace / "a.txt").read_text() == meanwhile
    [result] = await chat.results()
    assert result["status"] == "interrupted" and "neither unchanged nor as intended" in result["error"]["message"]
    await ends_interrupted(chat)


async def killed_at(
    point: Callable[[HeldCall], bool],
    server: ChildServer,
    gate: Gate,
    model: ScriptedModel,
    client: Caller,
    then: Callable[[], object] = lambda: None,
) -> LiveChat:
    """An edit is asked for, allowed, and the server killed at this point of it; `then` happens while it is down."""
    model.replies += [EDIT]
    chat = await client.chat()
    assert (await chat.send("add a line"))["state"] == "awaiting_approval"
    gate.hold(point)
    await allow(chat)
    await asyncio.to_thread(gate.wait_until_held)
    server.kill()
    gate.release()
    then()
    server.start()
    return chat


# --- a command


@proves("OPS-2")
async def test_a_command_in_flight_is_interrupted_and_never_run_again(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    marker = f"marker-{uuid4().hex}"
    model.replies += [call("execute_command", command=f"echo run >> runs; exec -a {marker} sleep 600")]
    chat = await client.chat()
    await chat.send("run it")
    await allow(chat)
    await until(lambda: running(f"{marker}\x00600"))
    server.kill()
    await until(lambda: not running(marker))
    server.start()
    assert [result["status"] for result in await chat.results()] == ["interrupted"]
    await ends_interrupted(chat)
    model.replies += ["It was cut off."]
    await chat.send("what happened?")
    assert not (server.workspace / "runs").exists(), "no commit was intended, so nothing of it is kept"


# --- the model


@proves("MSG-4", "OPS-2")
async def test_a_model_call_in_flight_is_counted_and_what_it_had_said_is_kept(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    hold = threading.Event()
    model.replies += [Reply(chunks=["The answer is ", "forty-two"], hold=hold)]
    chat = await client.chat()
    await chat.send("what is it?", until="sent")
    await durable_text(server, "The answer is ")
    server.kill()
    hold.set()
    server.start()
    question, partial, note = await chat.messages()
    assert question["content"] == "what is it?"
    assert (partial["content"], partial["payload"]) == ("The answer is ", {"broken_off": True})
    assert note["role"] == "system" and "Continue it, or send a message" in note["content"]
    await ends_interrupted(chat)
    assert server.terminate() == 0
    async with opened(server.data) as database:
        [used] = (await database.store.usage.of_chat(chat.id)).models
        assert used.requests == 1 and used.reserved > 0


# --- what waits for a person


@proves("QST-2")
async def test_an_open_question_survives_a_kill_and_its_answer_resumes_the_same_turn(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    model.replies += [json.dumps(QUESTION)]
    chat = await client.chat()
    assert (await chat.send("paint it"))["state"] == "awaiting_answer"
    question = await chat.last()
    server.restart()
    shown = await chat.show()
    assert shown["state"] == "awaiting_answer" and shown["waiting_for"]["question"] == question["id"]
    model.replies += ["Red it is."]
    await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": "red"})
    assert (await chat.rest())["state"] == "idle"
    assert (await chat.last())["content"] == "Red it is."
    assert {message["turn_id"] for message in await chat.messages()} == {question["turn_id"]}


@proves("APR-8")
async def test_an_open_approval_survives_a_kill_and_runs_only_when_allowed(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    model.replies += [EDIT]
    chat = await client.chat()
    await chat.send("add a line")
    asked = await chat.approvals()
    server.restart()
    assert (await chat.show())["state"] == "awaiting_approval"
    assert await chat.approvals() == asked
    assert (server.workspace / "a.txt").read_text() == BEFORE
    model.replies += ["There it is."]
    assert (await chat.decide())["state"] == "idle"
    assert (server.workspace / "a.txt").read_text() == AFTER


@proves("APR-8", "OPS-2")
async def test_a_decision_stored_in_the_last_moment_is_taken_up_at_the_next_start(
    server: ChildServer, gate: Gate, model: ScriptedModel, client: Caller
) -> None:
    model.replies += [EDIT]
    chat = await client.chat()
    await chat.send("add a line")
    gate.hold(to_log)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(unheard(allow(chat)))
        await asyncio.to_thread(gate.wait_until_held)  # written, and about to be synced: nothing has come of it yet
        server.kill()
    gate.release()
    assert (server.workspace / "a.txt").read_text() == BEFORE
    model.replies += ["There it is."]
    server.start()
    assert (await chat.rest())["state"] == "idle"
    assert (server.workspace / "a.txt").read_text() == AFTER
    assert [result["status"] for result in await chat.results()] == ["ok"]
    assert (await chat.last())["content"] == "There it is."


async def unheard(request: Awaitable[None]) -> None:
    """The server is killed before it can answer."""
    with pytest.raises(aiohttp.ClientError):
        await request


# --- an answer that is just being written


@proves("LOOP-5")
async def test_stopping_while_an_answer_is_being_written_keeps_it_once(
    server: ChildServer, gate: Gate, model: ScriptedModel, client: Caller
) -> None:
    words = "I shall look into the file first.\n"
    hold = threading.Event()
    model.replies += [Reply(chunks=[words, call("update_file", path="a.txt", content="x")], hold=hold)]
    chat = await client.chat()
    await chat.send("go", until="sent")
    await durable_text(server, words[:10])
    gate.hold(to_log)
    hold.set()
    await asyncio.to_thread(gate.wait_until_held)
    async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
        stopping = tasks.create_task(client.ask("POST", f"{chat.path}/stop"))
        await client.ask("GET", chat.path)  # the stop, sent before it, is at work by then
        gate.release()
    assert stopping.result()["stopped"] is True
    assert (await chat.show())["state"] == "idle"
    assert [m["content"].strip() for m in await chat.of_type("text")] == ["go", words.strip(), "Stopped by the person."]
    assert [result["status"] for result in await chat.results()] == ["cancelled"]


# --- what these tests look at


async def allow(chat: LiveChat) -> None:
    decisions = [{"id": item["id"], "decision": "allow_once"} for item in await chat.approvals()]
    await chat.client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)


async def ends_interrupted(chat: LiveChat) -> None:
    """Once, said to the person, and the chat is usable."""
    ends = [event["reason"] for event in await chat.events() if event["type"] == "turn-ended"]
    assert ends == ["interrupted"]
    assert (await chat.show())["state"] == "idle"
    assert "The server ended during this turn" in (await chat.last())["content"]


async def durable_text(server: ChildServer, beginning: str) -> None:
    """Until this piece of an answer is in the database, where it comes a tenth of a second after it was shown, without an event."""
    path = f"file:{server.data / 'anycowork.db'}?mode=ro"
    async with asyncio.timeout(TIMEOUT):
        with closing(sqlite3.connect(path, uri=True)) as database:
            while not any(beginning in body["text"] for body in deltas(database)):
                await asyncio.sleep(0.01)


def deltas(database: sqlite3.Connection) -> list[Json]:
    rows = database.execute("SELECT body FROM records WHERE type = 'text-delta'").fetchall()
    return [json.loads(body) for (body,) in rows]
