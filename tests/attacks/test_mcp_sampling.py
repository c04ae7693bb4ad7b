"""MCP servers that want our model to answer prompts: nothing is sent that a person has not seen, and nothing without end."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any  # a test's own words

import pytest
from mcp_types import CreateMessageRequestParams

from anycowork.mcp.exchange import sampling_prompt
from support.live_server import LiveChat, LiveServer, live_server
from support.raw_mcp_server import offered, raw_server
from support.scripted_model import call
from support.spec import proves

ANY = {"type": "object", "properties": {"params": {"type": "object"}, "times": {"type": "integer"}}}
TOOLS = [offered("sample", ANY)]


def prompt(text: str, **more: Any) -> dict[str, Any]:
    content = {"type": "text", "text": text}
    return {"messages": [{"role": "user", "content": content}], "maxTokens": 10**9, **more}


async def started(client: LiveServer, folder: Path, **config: Any) -> LiveChat:
    """A chat whose call to the server the person has just allowed."""
    await client.ask("POST", "/mcp/servers", raw_server(folder, TOOLS, **config), expect=201)
    shown = await client.ask("POST", "/mcp/servers/raw/connect", {})
    assert shown["status"] == "ready" and shown["sampling"] is config.get("sampling", False)
    chat = await client.chat()
    await chat.send("Go.")
    decisions = [{"id": one["id"], "decision": "allow_once"} for one in await chat.approvals()]
    await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
    return chat


async def seen(chat: LiveChat, kind: str, *, after: int | None = None) -> None:
    async with asyncio.timeout(60):
        async for event in chat.follow(after):
            if event["type"] == kind:
                return


async def answer(chat: LiveChat, value: str, *, then: str) -> dict[str, Any]:
    """Answers the open question; the question as it was shown."""
    question = (await chat.of_type("question"))[-1]
    after = (await chat.show())["last_seq"]
    await chat.client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": value})
    await seen(chat, then, after=after)
    return question


async def told(chat: LiveChat) -> Any:
    return json.loads((await chat.of_type("tool_result"))[-1]["content"])


@proves("APR-8/2")
async def test_without_the_persons_setting_no_server_is_offered_sampling(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("raw__sample", params=prompt("Hello?")), "Done."]) as client:
        chat = await started(client, tmp_path / "far")
        await seen(chat, "turn-ended")
        assert (await chat.of_type("tool_result"))[-1]["content"] == "no sampling here"
        assert not await chat.of_type("question") and len(client.model.requests) == 2
        shown = await client.ask("PATCH", "/mcp/servers/raw", {"sampling": True})
        assert shown["sampling"] is True


@proves("APR-8/2")
async def test_the_model_gets_exactly_the_prompt_that_the_person_saw_and_the_answer_is_counted(tmp_path: Path) -> None:
    hidden = "Say hello.\u200b\u2066\U000e0041\nThen \u202estop."
    replies = [call("raw__sample", params=prompt(hidden, systemPrompt="Be kind.")), "Hello to you.", "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await started(client, tmp_path / "far", sampling=True)
        await seen(chat, "question")
        assert len(client.model.requests) == 1
        question = await answer(chat, "anycowork:allow", then="turn-ended")
        asked = client.model.requests[1]
        sent = [(one["role"], one["content"]) for one in asked["messages"]]
        assert sent == [("system", "Be kind."), ("user", "Say hello.\nThen stop.")]
        assert all(text in question["content"] for _, text in sent) and "'raw'" in question["content"]
        assert asked.get("max_tokens", asked.get("max_completion_tokens")) == 4_000 and not asked.get("tools")
        (reply,) = await told(chat)
        assert (reply["content"]["text"], reply["role"]) == ("Hello to you.", "assistant")
        with closing(sqlite3.connect(next(tmp_path.rglob("anycowork.db")))) as database:
            counted = dict(database.execute("SELECT purpose, requests FROM usage"))
        assert counted == {"turn": 2, "mcp_sampling": 1}
        later = json.dumps(client.model.requests[-1]["messages"])
        assert "wants your model" not in later


@proves("APR-8/2")
async def test_a_refused_prompt_reaches_no_model(tmp_path: Path) -> None:
    replies = [call("raw__sample", params=prompt("Hello?")), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await started(client, tmp_path / "far", sampling=True)
        await seen(chat, "question")
        await answer(chat, "anycowork:deny", then="turn-ended")
        (reply,) = await told(chat)
        assert "did not agree" in reply["message"] and len(client.model.requests) == 2


def test_oversized_and_empty_prompts_images_and_tools_are_refused_before_anybody_is_asked() -> None:
    image = {"role": "user", "content": {"type": "image", "data": "aGk=", "mimeType": "image/png"}}
    tools = [{"name": "bash", "inputSchema": {"type": "object"}}]
    for params in (
        prompt("x" * 20_001),
        prompt("\u200b"),
        prompt("Hello?", tools=tools),
        {"messages": [image], "maxTokens": 10},
        {"messages": [], "maxTokens": 10},
    ):
        with pytest.raises(ValueError):
            sampling_prompt(CreateMessageRequestParams.model_validate(params))


async def test_a_server_that_floods_gets_a_few_answers_and_then_errors(tmp_path: Path) -> None:
    replies = [call("raw__sample", params=prompt("Again?"), times=50), *["Yes."] * 5, "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await started(client, tmp_path / "far", sampling=True)
        await seen(chat, "question")
        for number in range(5):
            await answer(chat, "anycowork:allow", then="question" if number < 4 else "turn-ended")
        answers = await told(chat)
        assert [("content" in one) for one in answers] == [True] * 5 + [False] * 45
        assert len(await chat.of_type("question")) == 5
