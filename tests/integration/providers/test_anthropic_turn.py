"""Whole turns on Anthropic's API, asked through a running server."""

import asyncio
from pathlib import Path

import pytest

from anycowork.config.settings import ProviderEntry
from support.live_server import TIMEOUT, live_server
from support.provider_client import SECRET
from support.scripted_anthropic import Refused, ScriptedAnthropic, Spoken
from support.scripted_model import call


async def test_a_turn_runs_on_it_with_the_strict_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLAUDE_KEY", SECRET)
    replies = [Spoken(call("read_file", path="a.txt")), Spoken("It says one.")]
    async with ScriptedAnthropic(replies) as server:
        entry = ProviderEntry(name="claude", kind="anthropic", base_url=server.base_url, api_key_env="CLAUDE_KEY")
        async with live_server(
            tmp_path, files={"a.txt": "one\n"}, providers=(entry,), model="claude/claude-test"
        ) as client:
            chat = await client.chat()
            await chat.send("what does it say?")
            assert (await chat.last())["content"] == "It says one."
            assert "one" in server.requests[1]["messages"][-1]["content"][0]["text"]
            first, second = (request["system"][0]["text"] for request in server.requests)
            assert first == second, "the cached prefix is the same, byte for byte"


async def test_a_chat_says_that_it_waits_for_the_server_and_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CLAUDE_KEY", SECRET)
    busy = Refused(529, "overloaded_error", "words of the server", retry_after=55)
    async with ScriptedAnthropic([busy]) as server:
        entry = ProviderEntry(name="claude", kind="anthropic", base_url=server.base_url, api_key_env="CLAUDE_KEY")
        async with live_server(tmp_path, providers=(entry,), model="claude/claude-test") as client:
            chat = await client.chat()
            await chat.send("hello", until="sent")
            async with asyncio.timeout(TIMEOUT):
                async for event in chat.follow():
                    if event["type"] == "model-retry":
                        break
            told = event["retry"]
            assert (told["seconds"], told["attempt"], told["reason"]) == (55, 2, "provider_overloaded")
            assert told["status"] == 529 and "words of the server" not in str(event)
            await client.ask("POST", f"{chat.path}/stop")
            assert (await chat.rest())["state"] == "idle"
