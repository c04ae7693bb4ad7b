"""What servers offer beside tools, and what they ask for: resources, prompts, questions to the person, roots, changes, cancellation."""

import asyncio
import json
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from support.live_server import LiveChat, LiveServer, RequestRefused, live_server
from support.raw_mcp_server import EMPTY, offer, offer_more, offered, raw_server
from support.scripted_model import call
from support.spec import proves

RESOURCES = [
    {"uri": "notes://one", "name": "one", "description": "The first note.", "mimeType": "text/plain"},
    {"uri": "notes://two", "name": "two\n# System"},
]
ARGUMENTS = [
    {"name": "topic", "description": "What about.", "required": True},
    {"name": "tone", "description": "How.", "required": False},
]
PROMPTS = [
    {"name": "greet", "description": 'Greet "somebody" {{topic}}.\n+++', "arguments": ARGUMENTS},
    {"name": "Bad name!"},
]
ANY = {"type": "object", "properties": {"schema": {"type": "object"}}, "required": ["schema"]}
TOOLS = [offered("elicit", ANY), offered("wait"), offered("grow"), offered("roots")]


async def connected(client: LiveServer, folder: Path, **config: Any) -> dict[str, Any]:
    await client.ask("POST", "/mcp/servers", raw_server(folder, TOOLS, **config), expect=201)
    shown = await client.ask("POST", "/mcp/servers/raw/connect", {})
    assert shown["status"] == "ready", shown.get("error")
    return shown


async def allowed(chat: LiveChat, *, until: str) -> None:
    """Sends, allows what asks, and waits for this event."""
    await chat.send("Go.")
    decisions = [{"id": one["id"], "decision": "allow_once"} for one in await chat.approvals()]
    await chat.client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
    await seen(chat, until)


async def seen(chat: LiveChat, kind: str, *, after: int | None = None) -> dict[str, Any]:
    async with asyncio.timeout(60):
        async for event in chat.follow(after):
            if event["type"] == kind:
                return event
    raise AssertionError("the stream ended")


@proves("MCP-3/1")
async def test_resources_are_listed_and_read_with_the_persons_consent(tmp_path: Path) -> None:
    replies = [call("raw__resources_read"), "Listed.", call("raw__resources_read", uri="notes://one"), "Read."]
    offer_more(tmp_path / "far", RESOURCES)
    async with live_server(tmp_path, replies=replies) as client:
        await connected(client, tmp_path / "far")
        listed = (await client.ask("GET", "/mcp/resources"))["resources"]
        assert [(one["server"], one["uri"]) for one in listed] == [("raw", "notes://one"), ("raw", "notes://two")]
        assert all(one["name"].isprintable() for one in listed)
        for query, uris in (("ONE", ["notes://one"]), ("raw", ["notes://one", "notes://two"]), ("%", [])):
            found = (await client.ask("GET", "/mcp/resources", params={"q": query}))["resources"]
            assert [one["uri"] for one in found] == uris
        assert len((await client.ask("GET", "/mcp/resources?limit=1"))["resources"]) == 1
        await client.ask("GET", "/mcp/resources?limit=0", expect=422)
        for expected in ("notes://one (one) text/plain The first note.", "content of notes://one"):
            chat = await client.chat()
            await allowed(chat, until="turn-ended")
            assert (await chat.of_type("tool_result"))[-1]["content"].startswith(expected)


@proves("MCP-3/1")
async def test_a_planner_reads_resources_only_if_the_person_marked_it(tmp_path: Path) -> None:
    replies = [call("raw__resources_read", uri="notes://one"), "Done."] * 2
    offer_more(tmp_path / "far", RESOURCES)
    async with live_server(tmp_path, replies=replies) as client:
        await connected(client, tmp_path / "far")
        for read_only, status in (([], "refused"), (["resources/read"], "ok")):
            await client.ask("DELETE", "/mcp/servers/raw", expect=204)
            await connected(client, tmp_path / "far", read_only=read_only)
            chat = await client.chat(role="planner")
            await chat.send("Go.")
            assert [one["status"] for one in await chat.results()] == [status]


@proves("MCP-3/1", "UI-8")
async def test_a_resource_named_in_a_message_is_read_once_the_person_allows_it(tmp_path: Path) -> None:
    offer_more(tmp_path / "far", RESOURCES)
    async with live_server(tmp_path, replies=["Read."]) as client:
        await connected(client, tmp_path / "far")
        chat = await client.chat()
        await chat.send("what does @mcp:raw:notes://one say?")
        assert [one["tool"] for one in await chat.approvals()] == ["raw__resources_read"]
        assert not client.model.requests, "the model is asked when it can be told"
        await chat.decide()
        assert "content of notes://one" in str(client.model.requests[0]["messages"][-1])
        assert (await chat.last())["content"] == "Read."


@proves("MCP-3/1")
async def test_prompts_are_workflows_that_pass_the_gate(tmp_path: Path) -> None:
    offer_more(tmp_path / "far", prompts=PROMPTS)
    async with live_server(tmp_path, replies=["Hello to all."]) as client:
        shown = await connected(client, tmp_path / "far")
        assert any("Bad name!" in problem for problem in shown["problems"])
        chat = await client.chat()
        listed = (await client.ask("GET", f"/workflows?context_id={chat.id}"))["workflows"]
        (found,) = [one for one in listed if one["source"] == "mcp"]
        assert (found["name"], [one["name"] for one in found["parameters"]]) == ("raw__greet", ["topic", "tone"])
        await chat.send('/raw__greet topic="the {{tone}} world"')
        (approval,) = await chat.approvals()
        assert approval["resource"].startswith("mcp:raw/prompts/get#")
        await chat.decide()
        assert (await chat.of_type("tool_result"))[0]["content"] == 'Say {"topic": "the {{tone}} world"}'
        assert (await chat.last())["content"] == "Hello to all."


CHOICE = {
    "type": "object",
    "properties": {"size": {"type": "string", "enum": ["S", "L"]}, "count": {"type": "integer"}},
    "required": ["size", "count"],
}


@proves("MCP-3/2")
async def test_what_a_server_asks_is_a_question_that_only_a_person_answers(tmp_path: Path) -> None:
    replies = [call("raw__elicit", schema=CHOICE), "Done.", "Fine."]
    async with live_server(tmp_path, replies=replies) as client:
        await connected(client, tmp_path / "far", timeout=20)
        chat = await client.chat()
        await allowed(chat, until="question")
        assert (await chat.show())["state"] == "awaiting_answer"
        await client.ask("POST", f"{chat.path}/messages", {"content": "S"}, expect=409)
        for given in ({"value": "S"}, {"custom": "many"}, {"custom": "3"}):
            question = (await chat.of_type("question"))[-1]
            assert "'raw'" in question["payload"]["context"]
            after = (await chat.show())["last_seq"]
            await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", given)
            await seen(chat, "turn-ended" if given == {"custom": "3"} else "question", after=after)
        told = json.loads((await chat.of_type("tool_result"))[-1]["content"])
        assert told == {"action": "accept", "content": {"count": 3, "size": "S"}}
        await chat.send("And?")
        prompts = json.dumps(client.model.requests[-1]["messages"])
        assert "Which one?" not in prompts and "many" not in prompts


@proves("MCP-3/2", "APR-8/2")
async def test_a_question_that_nobody_answers_is_withdrawn_when_the_turn_is_stopped(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("raw__elicit", schema=EMPTY), "Done."]) as client:
        await connected(client, tmp_path / "far")
        chat = await client.chat()
        await allowed(chat, until="question")
        (question,) = await chat.of_type("question")
        await client.ask("POST", f"{chat.path}/stop", {})
        assert (await chat.show())["state"] == "idle"
        with pytest.raises(RequestRefused, match=": 409 "):
            await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": "anycowork:yes"})
        assert [one["status"] for one in await chat.results()] == ["cancelled"]


@proves("MCP-1/1")
async def test_the_workspace_is_the_servers_only_root(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("raw__roots"), "Done."]) as client:
        await connected(client, tmp_path / "far")
        chat = await client.chat()
        await allowed(chat, until="turn-ended")
        told = json.loads((await chat.of_type("tool_result"))[-1]["content"])
        assert [root["uri"] for root in told["roots"]] == [client.workspace.as_uri()]


@proves("MCP-1/2")
async def test_tools_that_a_server_says_have_changed_are_listed_again(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("raw__grow"), "Done."]) as client:
        await connected(client, tmp_path / "far")
        chat = await client.chat()
        await chat.send("Go.")
        offer(tmp_path / "far", [*TOOLS, offered("late")])
        await chat.decide()
        names: list[str] = []
        async with asyncio.timeout(60):
            while "late" not in names:
                (shown,) = (await client.ask("GET", "/mcp/servers"))["servers"]
                names = [tool["name"] for tool in shown["tools"]]


@proves("MCP-1/3")
async def test_a_stopped_turn_cancels_the_call_at_the_server(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("raw__wait"), "Done."]) as client:
        await connected(client, tmp_path / "far")
        chat = await client.chat()
        await chat.send("Go.")
        (approval,) = await chat.approvals()
        decisions = [{"id": approval["id"], "decision": "allow_once"}]
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
        await logged(client, "the call is there")
        await client.ask("POST", f"{chat.path}/stop", {})
        await logged(client, "the call was cancelled")


async def logged(client: LiveServer, line: str) -> None:
    """Until the server has printed this line."""
    log: list[str] = []
    async with asyncio.timeout(60):
        while line not in log:
            (shown,) = (await client.ask("GET", "/mcp/servers"))["servers"]
            log = shown["log"]
