"""Attempts through MCP servers of one chat: to start programs that nobody configured, and to see what they must not."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from anycowork.domain.mcp_servers import McpServerConfig
from support.live_server import Json, live_server
from support.people import person
from support.raw_mcp_server import attempted, go, raw_server
from support.spec import proves

SECRETS = (".ssh/id_rsa", ".env", "credentials.json", "notes/key.txt")
PLANTED = "-----BEGIN PRIVATE KEY-----\nplanted-71c2"


@proves("MCP-2", "PER-4")
async def test_servers_of_one_chat_are_no_others_and_can_do_no_more_than_configured_ones(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "old\n"}) as client:
        one, two = await client.chat(), await client.chat()
        program = raw_server(tmp_path / "far", name="editors")
        place = f"{one.path}/mcp_servers"
        for more in (
            {"unsandboxed": True},
            {"network": ["evil.example"]},
            {"read_only": ["attempt"]},
            {"url": "http://x"},
        ):
            await client.ask("POST", place, {"servers": [{**program, **more}]}, expect=422)
        await client.ask("POST", place, {"servers": [program, program]}, expect=422)
        host = {"headers": {"X-AnyCowork-MCP-Host": "host"}}
        await client.ask("POST", place, {"servers": [program]}, expect=403, **host)
        (shown,) = (await client.ask("POST", place, {"servers": [program]}))["servers"]
        assert shown["status"] == "ready", shown.get("error")
        assert (await client.ask("GET", "/mcp/servers"))["servers"] == [], "it is not stored"
        tool = f"{shown['name']}__attempt"
        escape = "Path('a.txt').write_text('new')"
        client.model.replies += go(escape, tool)
        await two.send("Go.")
        assert "There is no tool" in str(await two.of_type("tool_result")) and tool not in str(client.model.requests[0])
        client.model.replies += go(escape, tool)
        assert (await one.send("Go."))["state"] == "awaiting_approval"
        await one.decide()
        assert (client.workspace / "a.txt").read_text() == "old\n"
        await one.switch("planner")
        client.model.replies += go(escape, tool)
        await one.send("Go.")
        assert (await one.results())[-1]["status"] == "refused"
        await client.ask("DELETE", one.path, expect=204)
        assert client.server.mcp.tools() == []


@proves("MCP-2", "PER-4")
async def test_only_an_admin_names_a_program_for_a_chat_and_each_start_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Max") as member:
        chat = await owner.chat()
        notes_at_start, start = [], owner.server.mcp.use_in_chat

        async def watched_start(chat_id: str, configs: Sequence[McpServerConfig]) -> list[Json]:
            notes_at_start.append(str(await chat.messages()).count("MCP servers start for this chat"))
            return await start(chat_id, configs)

        monkeypatch.setattr(owner.server.mcp, "use_in_chat", watched_start)
        program, place = raw_server(tmp_path / "far", name="tools"), f"{chat.path}/mcp_servers"
        editor = {"headers": {"X-AnyCowork-Editor": "an-editor"}}
        for caller, more in ((member, {}), (owner, editor)):
            refused = await caller.ask("POST", place, {"servers": [program]}, expect=403, **more)
            assert "anycowork mcp add" in str(refused) and owner.server.mcp.tools() == []
        await owner.ask("POST", place, {"servers": [program]})
        await owner.ask("POST", "/mcp/servers", {**program, "enabled": False}, expect=201)
        other = {**program, "args": [*program["args"], str(tmp_path)]}
        for changed in (other, {**program, "env": {"PYTHONSTARTUP": "/tmp/x"}}, {**program, "command": "/bin/cat"}):
            await member.ask("POST", place, {"servers": [changed]}, expect=403)
        (shown,) = (await member.ask("POST", place, {"servers": [program]}))["servers"]
        assert shown["status"] == "ready", shown.get("error")
        await owner.ask("POST", place, {"servers": [program]}, **editor)
        async with owner.session.get(f"{owner.url}{chat.path}/audit/log") as response:
            records = [
                json.loads(json.loads(line).get("record", "{}")) for line in (await response.text()).splitlines()
            ]
        starts = [record["principal"] for record in records if "arguments_sha256" in str(record)]
        assert [start.split(":")[0] for start in starts] == ["person", "person", "acp_client"] and "Max" in starts[1]
        assert notes_at_start == [1, 2, 3], "each is recorded before the program starts"


@proves("MCP-2")
async def test_a_program_beside_a_configured_one_is_left_out_by_name_and_never_started(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Max") as member:
        chat, mark = await owner.chat(), tmp_path / "started"
        configured = raw_server(tmp_path / "far", name="tools")
        unknown = {"name": "unknown", "command": "/bin/sh", "args": ["-c", f"touch {mark}; cat"], "env": {}}
        await owner.ask("POST", "/mcp/servers", {**configured, "enabled": False}, expect=201)
        body = {"servers": [unknown, configured]}
        servers = (await member.ask("POST", f"{chat.path}/mcp_servers", body))["servers"]
        assert [(server["name"].split("-")[0], server["status"]) for server in servers] == [
            ("tools", "ready"),
            ("unknown", "failed"),
        ]
        assert "no admin has configured" in servers[1]["error"] and not mark.exists()
        (note,) = [message for message in await chat.messages() if "MCP servers start" in message["content"]]
        assert "Not started, because no admin configured them: unknown" in note["content"]
        assert not any("unknown" in tool.spec.name for tool in owner.server.mcp.tools())


@pytest.mark.parametrize("secret", SECRETS)
async def test_a_server_of_a_chat_sees_no_credential_that_its_configuration_names(tmp_path: Path, secret: str) -> None:
    """Neither as an argument nor in a folder that is one; the configured server itself does, as its admin chose."""
    named = tmp_path / "outside" / secret
    named.parent.mkdir(parents=True)
    named.write_text(PLANTED)
    for argument in (named, tmp_path / "outside"):
        program = raw_server(tmp_path / "far", name="tools")
        program["args"].append(str(argument))
        code = f"tell(Path({str(named)!r}).read_text())"
        async with live_server(tmp_path) as client:
            chat = await client.chat()
            (shown,) = (await client.ask("POST", f"{chat.path}/mcp_servers", {"servers": [program]}))["servers"]
            assert shown["status"] == "ready", shown.get("error")
            client.model.replies += go(code, f"{shown['name']}__attempt")
            told = await attempted(chat)
            assert "Error" in told and "planted-71c2" not in told
