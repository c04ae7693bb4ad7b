"""Servers that change the workspace: each call works in a layer, which is settled like a command's changes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.sandbox import Sandbox
from support.live_server import LiveChat, LiveServer, live_server
from support.processes import command_line, descendants
from support.raw_mcp_server import FAILING, attempted, go, raw_server
from support.scripted_model import call
from support.spec import proves

FILES = {"a.txt": "old\n", "b.txt": "second\n"}
WRITE = "Path('a.txt').write_text('new\\n'); tell('wrote')"


@asynccontextmanager
async def with_server(tmp_path: Path, replies: list[Any], **config: Any) -> AsyncIterator[LiveServer]:
    async with live_server(tmp_path, replies=replies, files=FILES) as client:
        wanted = raw_server(tmp_path / "far", FAILING, **{"workspace_access": "layer", **config})
        await client.ask("POST", "/mcp/servers", wanted, expect=201)
        shown = await client.ask("POST", "/mcp/servers/raw/connect", {})
        assert shown["status"] == "ready", shown.get("error")
        yield client


def files_of(client: LiveServer) -> dict[str, str]:
    return {path.name: path.read_text() for path in client.workspace.rglob("*") if path.is_file()}


async def last_result(chat: LiveChat) -> dict[str, Any]:
    return (await chat.of_type("tool_result"))[-1]


@proves("MCP-2/1")
@pytest.mark.parametrize("layer", list(Layer))
async def test_a_calls_changes_are_committed_and_undone_like_a_commands(
    tmp_path: Path, layer: Layer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sandbox, "layer_for", lambda self, root: layer)
    code = f"{WRITE}; Path('made').mkdir(); Path('made/c.txt').write_text('x'); Path('b.txt').unlink()"
    async with with_server(tmp_path, go(code)) as client:
        chat = await client.chat()
        told = await attempted(chat)
        assert "wrote" in told and "M a.txt" in told
        assert files_of(client) == {"a.txt": "new\n", "c.txt": "x"}
        assert [result["status"] for result in await chat.results()] == ["ok"]
        before, after = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
        assert (before["moment"], after["moment"]) == ("before", "after")
        await client.ask("POST", f"{chat.path}/snapshots/{before['id']}/restore", {})
        assert files_of(client) == FILES and not (client.workspace / "made").exists()


@proves("MCP-2/1")
async def test_where_no_overlay_can_be_mounted_a_call_works_on_a_private_copy_once(tmp_path: Path) -> None:
    """The workspace's path is longer than the kernel takes for an overlay."""
    deep = tmp_path.joinpath("workspace", *["d" * 200] * 17)
    deep.mkdir(parents=True)
    (deep / "log.txt").write_text("")
    async with with_server(tmp_path, go("with open('log.txt', 'a') as file: file.write('ran\\n')")) as client:
        chat = await client.chat(workspace=str(deep))
        assert "private copy" in await attempted(chat)
        assert (deep / "log.txt").read_text() == "ran\n"


@proves("MCP-2/1")
async def test_each_call_sees_what_the_earlier_ones_and_others_changed_and_nothing_stays_running(
    tmp_path: Path,
) -> None:
    replies = [*go(WRITE), *go("tell(Path('a.txt').read_text(), Path('b.txt').read_text())", "raw__look")]
    async with with_server(tmp_path, replies, read_only=["look"]) as client:
        await attempted(await client.chat())
        (client.workspace / "b.txt").write_text("by a person\n")
        told = await attempted(await client.chat(role="planner"))
        assert "new" in told and "by a person" in told
        programs = [one for one in descendants() if command_line(one)[-1:] == [str(tmp_path / "far/server.py")]]
        assert len(programs) == 1, "only the one that lists the tools"


@proves("MCP-2/1", "PER-4")
@pytest.mark.parametrize("role", ["planner", "tester"])
async def test_a_role_that_may_not_change_files_changes_none_through_a_server(tmp_path: Path, role: str) -> None:
    async with with_server(tmp_path, [*go(WRITE), *go(WRITE, "raw__look")], read_only=["look"]) as client:
        chat = await client.chat(role=role)
        await attempted(chat)
        await attempted(chat)
        first, second = await chat.results()
        assert (first["status"] == "refused") is (role == "planner") and second["status"] != "refused"
        assert files_of(client) == FILES


@proves("MCP-2/1")
async def test_a_call_that_reports_an_error_changes_nothing_and_is_no_success(tmp_path: Path) -> None:
    async with with_server(tmp_path, [call("raw__fail", code=WRITE), "It failed."]) as client:
        chat = await client.chat()
        assert "wrote" in await attempted(chat)
        (result,) = await chat.results()
        assert result["status"] == "error" and result["error"]["code"] == "mcp_failed"
        assert files_of(client) == FILES
        events = [event async for event in _until_end(chat)]
        assert [event["tool_result"]["status"] for event in events if event["type"] == "tool-result"] == ["error"]


async def _until_end(chat: LiveChat) -> AsyncIterator[dict[str, Any]]:
    async for event in chat.follow():
        yield event
        if event["type"] == "turn-ended":
            return


@proves("MCP-2/1")
async def test_what_a_rule_denies_is_dropped_and_a_control_file_waits_for_the_persons_word(tmp_path: Path) -> None:
    control = "Path('AGENTS.md').write_text('obey'); Path('a.txt').write_text('new\\n')"
    async with with_server(tmp_path, [call("raw__attempt", code=WRITE), "It failed.", *go(control)]) as client:
        rule = {"tool": "update_file", "resource": "/a.txt", "effect": "deny", "scope": "global"}
        made = await client.ask("POST", "/rules", rule)
        chat = await client.chat()
        assert "None of the command's changes was kept" in await attempted(chat)
        assert files_of(client) == FILES
        await client.ask("DELETE", f"/rules/{made['id']}")
        await chat.send("Go on.")
        await chat.decide()
        (approval,) = await chat.approvals()
        assert approval["held"] and "AGENTS.md" in approval["diff"] and files_of(client) == FILES
        await chat.decide()
        assert files_of(client) == {**FILES, "a.txt": "new\n", "AGENTS.md": "obey"}


@proves("MCP-2/1")
@pytest.mark.parametrize("tool", ["raw__hang", "raw__die"])
async def test_a_call_that_hangs_or_dies_changes_nothing(tmp_path: Path, tool: str) -> None:
    async with with_server(tmp_path, [call(tool), "It failed."], timeout=3) as client:
        chat = await client.chat()
        assert "None of its changes in the workspace was kept" in await attempted(chat)
        assert (await last_result(chat))["payload"]["status"] == "error" and files_of(client) == FILES


@proves("MCP-2/1")
async def test_without_access_a_server_sees_no_workspace_and_with_read_it_changes_none(tmp_path: Path) -> None:
    look = f"tell(os.path.exists({str(tmp_path / 'workspace')!r}), os.getcwd())"
    async with with_server(tmp_path, [*go(look), *go(WRITE)], workspace_access="none") as client:
        assert "False /tmp" in await attempted(await client.chat())
        shown = await client.ask("PATCH", "/mcp/servers/raw", {"workspace_access": "read"})
        assert shown["workspace_access"] == "read"
        assert (await client.ask("POST", "/mcp/servers/raw/connect", {}))["status"] == "ready"
        told = await attempted(await client.chat())
        assert ("Read-only" in told or "Permission" in told) and files_of(client) == FILES
