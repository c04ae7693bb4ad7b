"""A whole turn on Anthropic's API, asked through a running server."""

from pathlib import Path

import pytest

from anycowork.config.settings import ProviderEntry
from support.live_server import live_server
from support.provider_client import SECRET
from support.scripted_anthropic import ScriptedAnthropic, Spoken
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
