"""An MCP server as a Python object of a plugin: the example of docs/mcp.md, held to what every other server is held to."""

import sys
from pathlib import Path

import pytest

from support.distributions import install
from support.live_server import LiveChat, live_server
from support.scripted_model import call
from support.spec import proves

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "mcp.md"
DUE = call("calendar__due_date", project="atlas")


def example() -> str:
    return GUIDE.read_text("utf-8").split("```python\n# team_calendar.py\n", 1)[1].split("```", 1)[0]


async def result(chat: LiveChat) -> tuple[str, str]:
    [shown] = await chat.results()
    return shown["status"], str((await chat.of_type("tool_result"))[-1]["content"])


@proves("MCP-2/1")
async def test_a_module_of_a_plugin_is_a_server_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # it joins the search path for good
    entries = {"calendar": "team_calendar:server", "Bad Name": "team_calendar:DUE", "no-server": "team_calendar:DUE"}
    install(tmp_path / "data" / "plugins", "team-calendar", example(), entries=entries, group="anycowork.mcp_servers")
    replies = [DUE, "Done.", DUE, "No.", DUE, "Done.", DUE, "Gone."]
    async with live_server(tmp_path, replies=replies, mcp_modules=("team_calendar", "missing")) as client:
        shown = await client.ask("POST", "/mcp/servers/calendar/connect", {})
        assert (shown["status"], shown["transport"]) == ("ready", "module"), shown
        assert [tool["name"] for tool in shown["tools"]] == ["due_date"]
        failed = await client.ask("POST", "/mcp/servers/no-server/connect", {})
        assert failed["status"] == "failed" and "MCPServer" in failed["error"]

        actor, planner = await client.chat(), await client.chat(role="planner")
        assert (await actor.send("When?"))["state"] == "awaiting_approval"
        await actor.decide()
        assert await result(actor) == ("ok", "2027-03-01")
        await planner.send("When?")
        assert (await result(planner))[0] == "refused"

        await client.ask("PATCH", "/mcp/servers/calendar", {"read_only": ["due_date"]})
        marked = await client.chat(role="planner")
        await marked.send("When?")
        assert await result(marked) == ("ok", "2027-03-01")
        await client.ask("PATCH", "/mcp/servers/calendar", {"denied": ["due_date"]})
        denied = await client.chat()
        await denied.send("When?")
        assert (await result(denied))[0] != "ok"
        await client.ask("DELETE", "/mcp/servers/calendar", expect=409)
    async with live_server(tmp_path, replies=[], mcp_modules=("team-calendar",)) as client:
        names = {one["name"]: one["denied"] for one in (await client.ask("GET", "/mcp/servers"))["servers"]}
        assert names == {"calendar": ["due_date"], "no-server": []}
    async with live_server(tmp_path, replies=[]) as client:
        assert (await client.ask("GET", "/mcp/servers"))["servers"] == []
