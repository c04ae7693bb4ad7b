"""What a command prints is seen while it runs, and comes whole with its result."""

import asyncio
import json
from pathlib import Path

from support.live_server import TIMEOUT, Json, LiveChat, live_server
from support.scripted_model import Reply, call
from support.spec import proves


async def _next(chat: LiveChat, kind: str) -> Json:
    async with asyncio.timeout(2 * TIMEOUT):
        async for event in chat.follow():
            if event["type"] == kind:
                return event
    raise AssertionError("the stream ended")


@proves("EVT-1/2", "TOOL-4")
async def test_output_is_seen_while_the_command_runs(tmp_path: Path) -> None:
    replies = [call("execute_command", command="echo begun; echo wrong >&2; sleep 60"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("Run it")
        [asked] = await chat.approvals()
        decision = {"decisions": [{"id": asked["id"], "decision": "allow_once"}]}
        async with asyncio.TaskGroup() as tasks:
            printed = tasks.create_task(_next(chat, "text-delta"))
            await client.ask("POST", f"{chat.path}/approvals", decision)
        event = printed.result()
        assert event["text"].startswith("begun") and event["offset"] == 0
        assert event["call_id"] == asked["tool_call_id"]
        await client.ask("POST", f"{chat.path}/stop", {})


@proves("EVT-1/2", "EVT-1/5")
async def test_thoughts_and_words_are_seen_while_the_model_writes_and_a_question_when_it_asks(tmp_path: Path) -> None:
    hold = asyncio.Event()
    question = {"type": "question", "question": "Which?", "options": [{"label": "A", "value": "a"}]}
    half = Reply(chunks=["Half of ", "it."], reasoning="Let me see.", hold=hold)
    async with live_server(tmp_path, replies=[half, json.dumps(question)]) as client:
        chat = await client.chat()
        await chat.send("go", until="sent")
        thought, said = await _next(chat, "reasoning-delta"), await _next(chat, "text-delta")
        assert "Let me see.".startswith(thought["text"]) and said["text"].startswith("Half")
        hold.set()
        await chat.rest()
        assert (await chat.send("ask me"))["state"] == "awaiting_answer"
        assert (await _next(chat, "question"))["question"]["question"] == "Which?"


@proves("EVT-2")
async def test_it_stands_under_the_name_of_the_result_that_takes_its_place_and_is_not_kept(tmp_path: Path) -> None:
    replies = [call("execute_command", command="echo begun; sleep 1; echo over"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("Run it")
        async with asyncio.timeout(2 * TIMEOUT), chat.joined() as events:
            await chat.decide()
            printed = await anext(event async for event in events if event["type"] == "text-delta")
        [result] = await chat.of_type("tool_result")
        assert printed["message_id"] == result["id"]
        assert "begun" in result["content"] and "over" in result["content"]
        assert not [one for one in await chat.events() if one["type"] == "text-delta" and one["call_id"]]


async def test_a_flood_is_shown_up_to_a_bound_and_kept_whole(tmp_path: Path) -> None:
    replies = [call("execute_command", command="yes | head -c 300000; sleep 1"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("Run it")
        seen: list[Json] = []
        async with asyncio.timeout(2 * TIMEOUT), chat.joined() as events:
            await chat.decide()
            async for event in events:
                if event["type"] == "text-delta" and event["call_id"]:
                    seen.append(event)
                if event["type"] == "turn-ended":
                    break
        assert 0 < sum(len(event["text"]) for event in seen) <= 64_000
        assert len((await chat.of_type("tool_result"))[0]["content"]) >= 300_000
