"""Our MCP client against real servers written with the official SDK: three transports, a kill in mid-call, a hang, a flood, a change."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.live_server import LiveServer, live_server
from support.ports import held_port
from support.processes import started_with
from support.raw_mcp_server import offer, offered, raw_server
from support.scripted_model import call
from support.spec import proves

SERVER = Path(__file__).parents[1] / "support" / "mcp_server.py"
LOST = "the connection to it was lost"
STDIO = {"name": "sdk", "command": sys.executable, "args": [str(SERVER)]}


@contextmanager
def remote(how: str) -> Iterator[str]:
    """A running server on a free port; its address."""
    with held_port() as port:
        process = subprocess.Popen(
            [sys.executable, str(SERVER), how, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield f"http://127.0.0.1:{port}/{'sse' if how == 'sse' else 'mcp'}"
        finally:
            process.kill()
            process.wait()


async def ready(client: LiveServer, config: dict[str, object]) -> None:
    """A remote one may take a while to listen: it is tried again, as a person would."""
    await client.ask("POST", "/mcp/servers", config, expect=201)
    shown: dict[str, object] = {}
    async with asyncio.timeout(60):
        while shown.get("status") != "ready":
            shown = await client.ask("POST", f"/mcp/servers/{config['name']}/connect", {})


async def call_and_allow(client: LiveServer, *, timeout: float = 60) -> str:
    chat = await client.chat()
    await chat.send("Go.")
    (approval,) = await chat.approvals()
    decisions = [{"id": approval["id"], "decision": "allow_once"}]
    await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
    async with asyncio.timeout(timeout):
        async for event in chat.follow():
            if event["type"] == "turn-ended":
                break
    return str((await chat.of_type("tool_result"))[-1]["content"])


@proves("MCP-1/1")
async def test_a_program_of_the_sdk_is_listed_called_and_used_in_the_sandbox(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("sdk__add", a=20, b=22), "Done."]) as client:
        await ready(client, STDIO)
        assert await call_and_allow(client) == "42"


@proves("MCP-1/1")
@pytest.mark.parametrize("how", ["sse", "streamable-http"])
async def test_a_remote_server_is_listed_and_called(tmp_path: Path, how: str) -> None:
    replies = [
        call("far__add", a=20, b=22),
        "Done.",
        call("far__fail"),
        "Failed.",
        call("far__flood", size=50_000_000),
        "No.",
    ]
    transport = "sse" if how == "sse" else "http"
    with remote(how) as url:
        async with live_server(tmp_path, replies=replies) as client:
            await ready(client, {"name": "far", "url": url, "transport": transport})
            assert await call_and_allow(client) == "42"
            assert "Error executing tool fail" in await call_and_allow(client)
            told = await call_and_allow(client)
            assert len(told) < 1_000 and "MCP server 'far' failed" in told


@proves("MCP-1/3")
async def test_a_server_that_dies_in_mid_call_fails_the_call_and_is_back_for_the_next(tmp_path: Path) -> None:
    replies = [call("raw__die"), "It died.", call("raw__add", a=1, b=2), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        await ready(client, raw_server(tmp_path / "far"))
        assert "The MCP server 'raw' failed" in await call_and_allow(client)
        assert await call_and_allow(client) == "3"


@proves("MCP-1/3")
async def test_a_killed_server_is_restarted_and_its_tools_stay(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("raw__add", a=1, b=2), "Done."]) as client:
        config = raw_server(tmp_path / "far")
        await ready(client, config)
        for process in started_with(str(tmp_path / "far" / "server.py")):
            with suppress(ProcessLookupError):  # gone with one that was killed before it
                os.kill(process, signal.SIGKILL)
        async with asyncio.timeout(60):
            shown: dict[str, object] = {"status": "ready", "log": []}
            while shown["status"] != "ready" or LOST not in str(shown["log"]):
                (shown,) = (await client.ask("GET", "/mcp/servers"))["servers"]
        assert await call_and_allow(client) == "3"


@proves("MCP-1/3")
async def test_a_server_that_hangs_costs_no_more_than_its_timeout(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("raw__hang"), "It hangs."]) as client:
        await ready(client, raw_server(tmp_path / "far", timeout=5))
        assert "did not answer within 5 seconds" in await call_and_allow(client)


async def test_an_answer_of_fifty_megabytes_is_an_error_and_the_next_call_works(tmp_path: Path) -> None:
    replies = [call("raw__flood", size=50_000_000), "No.", call("raw__add", a=1, b=2), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        await ready(client, raw_server(tmp_path / "far"))
        assert "failed" in await call_and_allow(client)
        assert await call_and_allow(client) == "3"


@proves("MCP-1/3")
@pytest.mark.parametrize(
    "argument",
    ["import sys; sys.exit('no key is set')", "print('garbage ' * 10_000, 'no key is set', sep='\\n')"],
    ids=["dies", "garbage"],
)
async def test_a_server_that_cannot_start_is_reported_with_what_it_printed_and_harms_nothing(
    tmp_path: Path, argument: str
) -> None:
    async with live_server(tmp_path, replies=["Hello."]) as client:
        config = {"name": "bad", "command": sys.executable, "args": ["-I", "-S", "-c", argument]}
        await client.ask("POST", "/mcp/servers", config, expect=201)
        shown = await client.ask("POST", "/mcp/servers/bad/connect", {})
        assert shown["status"] == "failed" and shown["error"] and "no key is set" in shown["log"], shown
        chat = await client.chat()
        await chat.send("Hello.")
        assert (await chat.last())["content"] == "Hello."


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[]) as client:
        await client.ask("POST", "/mcp/servers", {"name": "none", "command": "no-such-program-here"}, expect=201)
        shown = await client.ask("POST", "/mcp/servers/none/connect", {})
        assert "'no-such-program-here'" in shown["error"]


@proves("SYS-1/3", "MCP-1/2")
async def test_its_tools_are_in_the_prompt_of_a_chat_that_may_use_them_and_configuration_survives_a_restart(
    tmp_path: Path,
) -> None:
    async with live_server(tmp_path, replies=[]) as client:
        await ready(client, raw_server(tmp_path / "far"))
        actor, planner = await client.chat(), await client.chat(role="planner")
        for chat, named in ((actor, True), (planner, False)):
            prompt = await client.ask("GET", f"/v1/system-prompts/default/enhanced?context_id={chat.id}")
            assert ("raw__add" in prompt["content"]) is named
        offer(tmp_path / "far", [offered("other")])
        shown = await client.ask("POST", "/mcp/servers/raw/refresh", {})
        assert [tool["name"] for tool in shown["tools"]] == ["other"]
        stopped = await client.ask("POST", "/mcp/servers/raw/disconnect", {})
        assert (stopped["status"], stopped["tools"]) == ("disabled", [])
        await client.ask("POST", "/mcp/servers/raw/refresh", {}, expect=409)
    async with live_server(tmp_path, replies=[]) as client:
        (shown,) = (await client.ask("GET", "/mcp/servers"))["servers"]
        assert shown["name"] == "raw"
        await client.ask("DELETE", "/mcp/servers/raw", expect=204)
        assert (await client.ask("GET", "/mcp/servers"))["servers"] == []


@proves("MCP-2/1")
async def test_a_call_in_flight_when_the_server_ends_is_interrupted_and_not_sent_again(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("raw__hang"), "Done."]) as client:
        await ready(client, raw_server(tmp_path / "far"))
        chat = await client.chat()
        await chat.send("Go.")
        (approval,) = await chat.approvals()
        decisions = [{"id": approval["id"], "decision": "allow_once"}]
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
        store = client.server.database.store
        async with asyncio.timeout(60):
            turn = await store.turns.current(chat.id)
            while turn is None or (await store.calls.of_turn(turn.id))[-1].state != "intent":
                await asyncio.sleep(0)
                turn = await store.turns.current(chat.id)
    async with live_server(tmp_path, replies=[]) as client:
        messages = (await client.ask("GET", f"{chat.path}/messages"))["messages"]
        results = [message for message in messages if message["message_type"] == "tool_result"]
        assert [result["payload"]["status"] for result in results] == ["interrupted"]
