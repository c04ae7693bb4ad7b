"""A chat's agent gives tasks to other agents: told of them, through the gate, cut to its role, in a layer, visible and stoppable."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from support.jobs import Answers, by_task, plan, report, until
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import Answer, Body, Reply, call
from support.spec import proves

AGENTS = {
    "scribe": {"role": "actor", "description": "writes short texts", "limits": {"tokens": 400_000}},
    "scout": {"role": "planner", "model": "own/small", "prompt": "Look closely."},
}


def asks(agent: str, task: str, **more: Any) -> str:
    return call("ask_agent", agent=agent, task=task, **more)


def mind(answers: Answers, *own: Answer) -> Any:
    """The chat's agent answers with `own`, one after another; each task from its own list."""
    left = list(own)
    return by_task(answers, lambda told: left.pop(0))


def system_of(body: Body) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"] if message["role"] == "system")


async def allow(client: LiveServer, chat: LiveChat, *, tool: str) -> dict[str, Any]:
    """Allows the one call that waits, once the chat's events say so."""
    async with asyncio.timeout(60):
        async for event in chat.follow():
            if event["type"] == "permission-request" and (waiting := await chat.approvals()):
                (asked,) = waiting
                if asked["tool"] == tool:
                    decisions = [{"id": asked["id"], "decision": "allow_once"}]
                    await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
                    return asked
    raise AssertionError("the stream ended")


async def ended(chat: LiveChat) -> dict[str, Any]:
    async with asyncio.timeout(60):
        async for event in chat.follow():
            if event["type"] == "turn-ended" and event.get("task_id") is None:
                return event
    raise AssertionError("the stream ended")


async def jobs_of(client: LiveServer, chat: LiveChat) -> list[dict[str, Any]]:
    listed = (await client.ask("GET", f"/jobs?context_id={chat.id}"))["jobs"]
    return [await client.ask("GET", f"/jobs/{one['id']}") for one in listed]


@proves("APR-5/4", "ROL-7/2")
async def test_agent_gives_a_task_to_another_one_which_writes_what_the_person_allowed(tmp_path: Path) -> None:
    write = call("create_file", path="poem.txt", content="roses\n")
    model = mind(
        {"scribe": [write, report("the poem is there")]},
        asks("scribe", "write a poem", paths=["poem.txt", ".vscode/tasks.json"]),
        "Done.",
    )
    async with live_server(tmp_path, agents=AGENTS) as client:
        client.model.mind = model
        chat = await client.chat()
        await chat.send("have a poem written", until="sent")
        asked = await allow(client, chat, tool="ask_agent")
        assert (asked["resource"], asked["risk"], asked["task_id"]) == ("agent:scribe", "medium", None)
        granted = [item for item in asked["disclosure"]["items"] if item["kind"] == "path"]
        assert [(item["text"], item.get("control", False)) for item in granted] == [
            (".vscode/tasks.json", True),
            ("poem.txt", False),
        ], "a file that controls an editor is marked as one"
        assert (await ended(chat))["reason"] == "answered"
        assert (client.workspace / "poem.txt").read_text() == "roses\n"
        result = (await chat.of_type("tool_result"))[-1]
        assert result["payload"]["status"] == "ok" and "the poem is there" in result["content"]
        assert result["payload"]["facts"]["files"] == ["poem.txt"]
        [job] = await jobs_of(client, chat)
        assert (job["status"], job["id"]) == ("completed", result["payload"]["facts"]["job_id"])
        assert [(task["agent"], task["status"], task["claimed"]) for task in job["tasks"]] == [
            ("scribe", "completed", True)
        ]
        told = system_of(client.model.requests[0])
        assert (
            "`scribe`: role actor" in told
            and "writes short texts" in told
            and "`scout`" in told
            and "own/small" in told
        )
        assert "ask_agent" not in system_of(client.model.requests[1]), "a worker has nobody to ask"
        assert "the poem is there" in str(client.model.requests[-1]["messages"])
        kinds = {message["message_type"] for message in await chat.messages() if message["task_id"] == "scribe"}
        assert {"task_assignment", "task_result"} <= kinds
        snapshots = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
        before = next(one for one in snapshots if one["moment"] == "before")
        await client.ask("POST", f"{chat.path}/snapshots/{before['id']}/restore", {})
        assert not (client.workspace / "poem.txt").exists()


@proves("APR-5/4", "APR-5/1")
async def test_what_nobody_granted_asks_and_a_rule_may_forbid_to_ask_an_agent(tmp_path: Path) -> None:
    write = call("create_file", path="a.txt", content="a\n")
    own = (asks("scribe", "write a"), "Done.", asks("scribe", "write a again"), "Not allowed.")
    model = mind({"scribe": [write, report("written")]}, *own)
    async with live_server(tmp_path, agents=AGENTS) as client:
        client.model.mind = model
        chat = await client.chat()
        await chat.send("have a written", until="sent")
        await allow(client, chat, tool="ask_agent")
        inner = await allow(client, chat, tool="create_file")
        assert inner["task_id"] == "scribe" and (await chat.show())["state"] != "idle"
        await ended(chat)
        assert (client.workspace / "a.txt").exists() and (await chat.show())["state"] == "idle"
        rule = {"tool": "ask_agent", "resource": "agent:scribe", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", rule)
        await chat.send("again")
        assert (await chat.results())[-1]["status"] == "refused" and len(await jobs_of(client, chat)) == 1


@proves("APR-5/2", "PER-4")
async def test_planner_that_asks_an_actor_lends_it_no_more_than_reading(tmp_path: Path) -> None:
    write = call("create_file", path="a.txt", content="a\n")
    own = (asks("scribe", "write a", paths=["a.txt"]), "It could not.")
    model = mind({"scribe": [write, report("I may not write", "failure")] * 3}, *own)
    async with live_server(tmp_path, agents=AGENTS) as client:
        client.model.mind = model
        chat = await client.chat(role="planner")
        await chat.send("have a written", until="sent")
        await allow(client, chat, tool="ask_agent")
        await ended(chat)
        assert not (client.workspace / "a.txt").exists()
        refused = [m for m in await chat.of_type("tool_result") if m["task_id"] == "scribe"]
        assert refused and {m["payload"]["status"] for m in refused} == {"refused"}
        last = [m for m in await chat.of_type("tool_result") if m["task_id"] is None][-1]
        assert last["payload"]["error"]["code"] == "agent_failed" and "I may not write" in last["content"]
        assert (await chat.show())["config"]["agent_role"] == "planner"


@proves("ROL-5/3", "SWI-1")
async def test_commander_directs_planner_and_actor_by_starting_them_in_their_roles(tmp_path: Path) -> None:
    proposed = json.dumps(plan({"id": "one", "action": "write a.txt"}))
    write = call("create_file", path="a.txt", content="a\n")
    own = (asks("planner", "plan it"), asks("actor", "write a.txt", paths=["a.txt"]), "Both are done.")
    model = mind({"planner": [proposed], "actor": [write, report("written")]}, *own)
    async with live_server(tmp_path) as client:
        client.model.mind = model
        chat = await client.chat(role="commander")
        await chat.send("see to it", until="sent")
        for _ in range(2):
            await allow(client, chat, tool="ask_agent")
        await ended(chat)
        assert (client.workspace / "a.txt").read_text() == "a\n"
        planned, acted = [m for m in await chat.of_type("tool_result") if m["task_id"] is None]
        assert "write a.txt" in planned["content"] and "written" in acted["content"]
        roles = {m["task_id"]: m["agent_role"] for m in await chat.of_type("task_result")}
        assert roles == {"planner": "planner", "actor": "actor"}
        assert (await chat.show())["config"]["agent_role"] == "commander"
        assert all(m["message_type"] != "role_change" for m in await chat.messages())


async def test_bad_requests_are_answered_with_the_names_and_nothing_starts(tmp_path: Path) -> None:
    crowd = {f"agent{number:04}": {"role": "planner", "prompt": "x" * 500} for number in range(1_000)}
    own = (
        asks("nobody", "x"),
        asks("primary", "x"),
        asks("scribe", "x" * 50_001),
        asks("scribe", "x", paths=["p"] * 101),
        asks("", "x"),
        "I give up.",
    )
    replies: list[Any] = [*own]
    async with live_server(tmp_path, replies=replies, agents={**AGENTS, **crowd}, max_faults=9) as client:
        chat = await client.chat()
        await chat.send("ask somebody")
        results = await chat.results()
        assert [one["status"] for one in results] == ["error"] * 5
        texts = [m["content"] for m in await chat.of_type("tool_result")]
        assert "There is no agent 'nobody'. There are: agent0000" in texts[0] and "954 more" in texts[0]
        assert "'primary' is you" in texts[1]
        assert await jobs_of(client, chat) == []
        told = system_of(client.model.requests[0])
        assert "more that are not listed here" in told and len(told) < 60_000


async def test_agent_that_was_asked_cannot_ask_another(tmp_path: Path) -> None:
    own = (asks("scribe", "write a"), "Done.")
    model = mind({"scribe": [asks("scribe", "write a"), report("nobody to ask", "failure")] * 3}, *own)
    async with live_server(tmp_path, agents=AGENTS) as client:
        client.model.mind = model
        chat = await client.chat()
        await chat.send("have a written", until="sent")
        await allow(client, chat, tool="ask_agent")
        await ended(chat)
        inner = [m for m in await chat.of_type("tool_result") if m["task_id"] == "scribe"]
        assert "cannot give it to another one" in inner[0]["content"]
        assert len(await jobs_of(client, chat)) == 1


@proves("LOOP-5/2", "JOB-2/3")
async def test_stop_ends_the_agent_that_was_asked_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    hold = asyncio.Event()
    write = call("create_file", path="a.txt", content="a\n")
    slow = Reply(report("never"), hold=hold)
    model = mind({"scribe": [write, slow]}, asks("scribe", "write a", paths=["a.txt"]), "I go on.")
    async with live_server(tmp_path, agents=AGENTS) as client:
        client.model.mind = model
        chat = await client.chat()
        await chat.send("have a written", until="sent")
        await allow(client, chat, tool="ask_agent")
        await client.model.asked(3)
        await client.ask("POST", f"{chat.path}/stop", {})
        [job] = await jobs_of(client, chat)
        job = await until(client, chat, job["id"], "cancelled")
        assert [task["status"] for task in job["tasks"]] == ["cancelled"]
        assert not (client.workspace / "a.txt").exists() and (await chat.show())["state"] == "idle"
        assert not list((tmp_path / "data").glob("**/copies/*")), "nor is its copy"
        hold.set()
        await chat.send("go on")
        assert (await chat.last())["content"] == "I go on."


async def test_person_cancels_the_agents_job_and_the_chat_goes_on(tmp_path: Path) -> None:
    hold = asyncio.Event()
    slow = Reply(report("never"), hold=hold)
    model = mind({"scribe": [slow]}, asks("scribe", "write a"), "Then I do it.")
    async with live_server(tmp_path, agents=AGENTS) as client:
        client.model.mind = model
        chat = await client.chat()
        await chat.send("have a written", until="sent")
        await allow(client, chat, tool="ask_agent")
        await client.model.asked(2)
        [job] = await jobs_of(client, chat)
        await client.ask("POST", f"/jobs/{job['id']}/cancel", expect=200)
        hold.set()
        assert (await ended(chat))["reason"] == "answered"
        assert "was cancelled" in (await chat.of_type("tool_result"))[-1]["content"]
        assert (await chat.show())["state"] == "idle"


@proves("JOB-5/5", "JOB-5/6")
async def test_agent_has_the_budget_that_its_configuration_gives_it(tmp_path: Path) -> None:
    agents = {"scribe": {"role": "actor", "limits": {"tokens": 100, "cost": 2.5}}}
    model = mind({"scribe": [report("done")]}, asks("scribe", "write a"), "It may not.")
    async with live_server(tmp_path, agents=agents) as client:
        client.model.mind = model
        chat = await client.chat()
        await chat.send("have a written", until="sent")
        await allow(client, chat, tool="ask_agent")
        await ended(chat)
        assert "tokens" in (await chat.of_type("tool_result"))[-1]["content"]
        assert len(client.model.requests) == 2, "the agent's model was never asked"
        [job] = (await client.ask("GET", "/jobs"))["jobs"]
        shown = await client.ask("GET", f"/jobs/{job['id']}")
        assert shown["limits"]["task"] == {"tokens": 100, "cost": 2.5}


@proves("APR-5/4")
@pytest.mark.parametrize("autonomy", ["edits", "sandboxed"])
async def test_autonomy_lets_it_ask_and_the_other_agent_has_the_same_autonomy(tmp_path: Path, autonomy: str) -> None:
    write = call("create_file", path="a.txt", content="a\n")
    steers = ".vscode/tasks.json"
    answers: Answers = {"scribe": [write, call("create_file", path=steers, content="{}"), report("a is there")]}
    model = mind(answers, asks("scribe", "write a", paths=["a.txt", steers]), "Done.")
    async with live_server(tmp_path, agents=AGENTS) as client:
        client.model.mind = model
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": autonomy})
        await chat.send("have a written", until="sent")
        asked = await allow(client, chat, tool="create_file")
        assert (asked["task_id"], asked["parameters"]["path"]) == ("scribe", steers), "nobody approved the paths"
        await ended(chat)
        assert (client.workspace / "a.txt").exists() and (client.workspace / steers).exists()
