"""Starts of servers that fail or take long: each says the reason, while it lasts and afterwards."""

import asyncio
import gc
import sys
from pathlib import Path

import pytest

from support.live_server import live_server
from support.raw_mcp_server import CODE, SIZE, offered, raw_server
from support.scripted_model import call
from support.spec import proves

WANTS_A_HOST = """
import os, sys, urllib.request
print('asking the registry', file=sys.stderr, flush=True)
try:
    urllib.request.urlopen('https://registry.example.org/package', timeout=20)
except OSError as error:
    print('it failed:', error, file=sys.stderr, flush=True)
    sys.exit(1)
"""


@proves("MCP-1/3")
async def test_a_refused_host_is_named_and_can_be_added(tmp_path: Path) -> None:
    (tmp_path / "wants.py").write_text(WANTS_A_HOST)
    wanted = {"name": "far", "command": sys.executable, "args": ["-I", str(tmp_path / "wants.py")]}
    async with live_server(tmp_path) as client:
        await client.ask("POST", "/mcp/servers", wanted, expect=201)
        shown = await client.ask("POST", "/mcp/servers/far/connect", {})
        assert shown["status"] == "failed" and shown["refused_hosts"] == ["registry.example.org"]
        assert "it wanted to reach registry.example.org" in shown["error"] and "it failed:" in shown["error"]
        shown = await client.ask("PATCH", "/mcp/servers/far", {"network": ["registry.example.org"]})
        assert shown["refused_hosts"] == []


@proves("MCP-1/3")
async def test_what_a_program_prints_is_there_while_it_starts_and_in_the_reason(tmp_path: Path) -> None:
    config = raw_server(tmp_path / "far", timeout=20)
    program = tmp_path / "far/server.py"
    waits = "import sys, time\nprint('loading 1 of 2', file=sys.stderr, flush=True)\n"
    program.write_text(
        waits + "while not __import__('os').path.exists(__file__ + '.go'): time.sleep(0.05)\nsys.exit(3)\n"
    )
    async with live_server(tmp_path) as client:
        await client.ask("POST", "/mcp/servers", config, expect=201)
        shown: dict[str, object] = {}
        async with asyncio.timeout(60):
            while "loading 1 of 2" not in (shown.get("log") or []):  # type: ignore[operator]  # a list of lines
                shown = await client.ask("GET", "/mcp/servers/raw")
        assert shown["status"] == "connecting"
        Path(f"{program}.go").touch()
        async with asyncio.timeout(60):
            while shown["status"] == "connecting":
                shown = await client.ask("GET", "/mcp/servers/raw")
        assert "ended before it was ready; its last line was: loading 1 of 2" in str(shown["error"])
        await client.ask("DELETE", "/mcp/servers/raw", expect=204)


@proves("MCP-1/3")
@pytest.mark.parametrize(
    ("name", "how"), [("uvx", "docs.astral.sh/uv"), ("npx", "nodejs.org"), ("my-server", "full path")]
)
async def test_a_missing_program_is_looked_for_in_the_usual_folders_and_the_way_to_get_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, how: str
) -> None:
    home = tmp_path / "home"
    folder = home / (".nvm/versions/node/v22.4.1/bin" if name == "npx" else ".local/bin")
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin" if name != "npx" else "/bin-without-node")
    config = raw_server(tmp_path / "far")
    async with live_server(tmp_path) as client:
        await client.ask("POST", "/mcp/servers", {**config, "command": name}, expect=201)
        shown = await client.ask("POST", "/mcp/servers/raw/connect", {})
        assert shown["status"] == "failed" and f"'{name}'" in shown["error"] and how in shown["error"]
        (folder / name).write_text(f'#!/bin/sh\nexec {Path(config["command"]).resolve()} "$@"\n')
        (folder / name).chmod(0o755)
        shown = await client.ask("POST", "/mcp/servers/raw/connect", {})
        assert shown["status"] == "ready", shown["error"]


@proves("MCP-1/3")
@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ("die", "the program ended with exit status 3"),
        ("attempt", "the program was ended by SIGKILL"),
        ("flood", "a line was too long"),
    ],
)
async def test_lost_connection_says_its_reason(tmp_path: Path, tool: str, reason: str) -> None:
    config = raw_server(tmp_path / "far", [offered("die"), offered("attempt", CODE), offered("flood", SIZE)])
    arguments = {"die": {}, "attempt": {"code": "os.kill(os.getpid(), 9)"}, "flood": {"size": 5_000_000}}[tool]
    async with live_server(tmp_path, replies=[call(f"raw__{tool}", **arguments), "Done."]) as client:
        await client.ask("POST", "/mcp/servers", config, expect=201)
        await client.ask("POST", "/mcp/servers/raw/connect", {})
        chat = await client.chat()
        await chat.send("Go.")
        await chat.decide()
        result = (await chat.of_type("tool_result"))[-1]
        assert f"the connection to it was lost: {reason}" in result["content"]
        shown = await client.ask("GET", "/mcp/servers/raw")
        assert f"the connection to it was lost: {reason}" in str(shown["log"])


@proves("MCP-1/3")
@pytest.mark.parametrize(
    ("program", "status"), [("__import__('sys').stdin.read()", "connecting"), ("raise SystemExit(3)", "failed")]
)
async def test_a_turn_goes_on_without_a_server_that_does_not_connect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, status: str
) -> None:
    monkeypatch.setattr("anycowork.mcp.connection.TURN_WAIT_SECONDS", 0.5 if status == "connecting" else 600)
    silent = {"name": "silent", "command": sys.executable, "args": ["-c", program], "timeout": 600}
    async with live_server(tmp_path, replies=["Here I am."]) as client:
        await client.ask("POST", "/mcp/servers", silent, expect=201)
        chat = await client.chat()
        await chat.send("Go.")
        assert (await chat.last())["content"] == "Here I am."
        assert (await client.ask("GET", "/mcp/servers/silent"))["status"] in (status, "connecting")
        await client.ask("DELETE", "/mcp/servers/silent", expect=204)


@proves("MCP-1/3")
async def test_who_watches_a_turn_is_told_which_server_it_waits_for_and_when_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anycowork.mcp.connection.TURN_WAIT_SECONDS", 600)
    silent = {"name": "silent", "command": sys.executable, "args": ["-c", "input()"], "timeout": 600}
    async with live_server(tmp_path, replies=["Here I am.", "Again."]) as client:
        await client.ask("POST", "/mcp/servers", silent, expect=201)
        chat = await client.chat()
        await chat.send("Go.", until="sent")
        waits = []
        async with asyncio.timeout(60):
            async for event in chat.follow():  # whoever joins later is told of the wait too
                if event["type"] == "mcp-wait":
                    waits.append(event["wait"]["servers"])
                    if waits == [["silent"]]:
                        await client.ask("POST", "/mcp/servers/silent/disconnect", {})
                if event["type"] == "turn-ended":
                    break
        assert waits == [["silent"], []]
        assert (await chat.last())["content"] == "Here I am."
        async with asyncio.timeout(60):
            await chat.send("Once more.")
        assert (await chat.last())["content"] == "Again.", "a server that is not started is not waited for"


@pytest.mark.usefixtures("only_own_garbage")  # another file's browser may have left tasks
@proves("MCP-1/1", "OPS-2")
async def test_sessions_leave_no_task_behind_whichever_way_they_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By a person, by themselves, while they begin, or with the server: a task that nobody waits for is a line in the server's log."""
    silent = {"name": "silent", "command": sys.executable, "args": ["-c", "input()"], "timeout": 60}
    replies = [call("stays__add", a=1, b=2), "Done.", call("dies__die"), "It died."]
    async with live_server(tmp_path, replies=replies) as client:
        for name in ("stays", "dies", "stopped", "removed"):
            await client.ask("POST", "/mcp/servers", raw_server(tmp_path / name, name=name), expect=201)
            shown = await client.ask("POST", f"/mcp/servers/{name}/connect", {})
            assert shown["status"] == "ready", shown.get("error")
        for _ in range(2):
            chat = await client.chat()
            await chat.send("go")
            await chat.decide()
        await client.ask("POST", "/mcp/servers/stopped/disconnect", {})
        await client.ask("DELETE", "/mcp/servers/removed")
        gc.collect()
        await client.ask("POST", "/mcp/servers", silent, expect=201)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
