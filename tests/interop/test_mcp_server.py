"""AnyCowork as an MCP server, driven by the SDK's own client: in memory for what its tools do, as a process for how it is spoken with."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any  # answers that tests look into freely
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult
from pydantic import SecretStr

from anycowork.client.http import ServerClient
from anycowork.mcp_server.tools import build_server
from support.cli_process import CommandLine
from support.live_server import TOKEN, LiveServer, RequestRefused, live_server
from support.ports import held_port
from support.scripted_model import ScriptedModel, call
from support.spec import proves

PLAN = json.dumps({"type": "plan", "goal": "Greet", "steps": [{"action": "Write", "tools_needed": ["create_file"]}]})
WRITE = call("create_file", path="new.txt", content="new\n")
HOST = {"X-AnyCowork-MCP-Host": "a host"}
DECISIONS = (
    "approve",
    "answer",
    "decide",
    "allow",
    "deny",
    "role",
    "mode",
    "rule",
    "autonomy",
    "trust",
    "setting",
    "key",
)


async def used(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    async with asyncio.timeout(60):
        answer = await client.call_tool(tool, arguments)
    text = answer.content[0].text
    assert not answer.is_error, text
    return json.loads(text)


class host:
    """A host of this live server."""

    def __init__(self, server: LiveServer, **more: Any) -> None:
        self._http = ServerClient(server.url, SecretStr(TOKEN), mcp_host="Test Host")
        self._more = more

    async def __aenter__(self) -> Client:
        await self._http.__aenter__()

        async def connect(name: str) -> ServerClient:
            return self._http

        self._client = Client(build_server(connect, lambda: None), **self._more)
        return await self._client.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._client.__aexit__(*error)
        await self._http.__aexit__(*error)


@proves("MCP-3/3")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_host_starts_reads_and_goes_on_with_a_chat(tmp_path: Path, mode: str) -> None:
    async with live_server(
        tmp_path, replies=[call("read_file", path="a.txt"), "It says old.", "Again."], files={"a.txt": "old\n"}
    ) as server:
        async with host(server, mode=mode) as client:
            started = await used(client, "start_chat", message="Read a.txt", role="planner")
            assert (started["state"], started["role"]) == ("idle", "planner")
            assert started["messages"][-1]["text"] == "It says old."
            told = await used(client, "send_message", chat_id=started["chat_id"], message="Once more")
            assert told["messages"][-1]["text"] == "Again."
            (listed,) = (await used(client, "list_chats"))["chats"]
            assert listed["id"] == started["chat_id"]
            names = [one["name"] for one in (await used(client, "list_workflows", chat_id=listed["id"]))["workflows"]]
            assert "review_changes" in names
        async with server.session.get(f"{server.url}/context/{started['chat_id']}/audit/log") as log:
            assert "mcp_host:test-host" in await log.text()


@proves("MCP-3/3", "APR-8/2")
async def test_what_needs_a_person_waits_whatever_the_host_answers(tmp_path: Path) -> None:
    asked: list[Any] = []

    async def agree(context: Any, params: Any) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="accept")

    async with (
        live_server(tmp_path, replies=[WRITE, "Written."]) as server,
        host(server, mode="legacy", elicitation_callback=agree) as client,
    ):
        started = await used(client, "start_chat", message="Write it", wait_seconds=30)
        assert started["state"] == "awaiting_approval" and "Only a person" in started["waits_for_a_person"]
        assert [one["tool"] for one in started["approvals"]] == ["create_file"]
        assert asked[0].mode == "url" and asked[0].url.endswith(f"/chat/{started['chat_id']}")
        assert not (server.workspace / "new.txt").exists()
        path = f"/context/{started['chat_id']}/approvals"
        (approval,) = (await server.ask("GET", path))["approvals"]
        decision = {"decisions": [{"id": approval["id"], "decision": "allow_once"}]}
        with pytest.raises(RequestRefused, match=": 403 "):
            await server.ask("POST", path, decision, headers=HOST)
        await server.ask("POST", path, decision)  # a person, in AnyCowork
        ended = await used(client, "wait_for_chat", chat_id=started["chat_id"], wait_seconds=30)
        assert ended["messages"][-1]["text"] == "Written."
        assert (server.workspace / "new.txt").read_text() == "new\n"


@proves("MCP-3/3", "SEC-5")
async def test_nothing_that_a_person_decides_is_a_tool_or_open_to_a_host(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[PLAN]) as server, host(server, mode="legacy") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert len(names) == 12 and not [name for name in names if any(word in name for word in DECISIONS)]
        started = await used(client, "start_chat", message="Plan it", role="planner")
        (plan,) = (await used(client, "read_plans", chat_id=started["chat_id"]))["plans"]
        assert plan["plan"]["goal"] == "Greet" and plan["approved_steps"] is None
        chat = f"/context/{started['chat_id']}"
        for method, path, body in (
            ("POST", f"{chat}/plans/{plan['message_id']}/approve", {}),
            ("PUT", f"{chat}/role", {"role": "actor"}),
            ("POST", f"{chat}/mode", {"mode": "act"}),
            ("PATCH", chat, {"autonomy": "edits"}),
            ("POST", "/rules", {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}),
            ("PUT", "/settings", {}),
            ("GET", "/mcp/servers", None),
            ("POST", "/workspaces", {"root": str(tmp_path)}),
            ("POST", f"{chat}/continue", {}),
        ):
            await server.ask(method, path, body, headers=HOST, expect=403)
        refused = await client.call_tool("read_chat", {"chat_id": "../settings"})
        assert refused.is_error


@proves("MCP-3/3")
async def test_a_host_that_starts_it_speaks_both_generations_on_stdio(tmp_path: Path) -> None:
    async with ScriptedModel(["Hello."]) as model:
        line = CommandLine(tmp_path, model.base_url)
        words = ["-m", "anycowork.cli.main", "mcp", "--workspace", str(line.workspace)]
        environ = {**line.environ(), "HOME": str(line.home)}
        process = StdioServerParameters(command=sys.executable, args=words, env=environ, cwd=line.workspace)
        async with asyncio.timeout(60), Client(process) as client:
            started = await used(client, "start_chat", message="Hello")
            assert started["messages"][-1]["text"] == "Hello."


@proves("MCP-3/3")
async def test_over_http_it_serves_only_who_has_the_token(tmp_path: Path) -> None:
    line = CommandLine(tmp_path)
    with held_port() as port:
        process = line.start(
            "mcp", "--http", str(port), "--workspace", str(line.workspace), ANYCOWORK_TOKEN=TOKEN, HOME=str(tmp_path)
        )
        url = f"http://127.0.0.1:{port}/mcp"
        try:
            assert process.stderr is not None
            assert url in await asyncio.to_thread(process.stderr.readline)
            await serves_only_with_the_token(url)
        finally:
            process.terminate()
            await asyncio.to_thread(process.communicate)


async def serves_only_with_the_token(url: str) -> None:
    """Who reads the address can connect at once."""
    assert await asyncio.to_thread(status_of, url, {}) == 401
    assert await asyncio.to_thread(status_of, url, {"Authorization": "Bearer wrong"}) == 401
    given = {"Authorization": f"Bearer {TOKEN}"}
    assert await asyncio.to_thread(status_of, url, {**given, "Host": "evil.example"}) == 421
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        asyncio.timeout(60),
        httpx2.AsyncClient(headers=given, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        assert (await used(client, "list_chats")) == {"chats": []}


def status_of(url: str, headers: dict[str, str]) -> int:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    more = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        with urlopen(Request(url, body, {**more, **headers}), timeout=60) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code
