"""A second name of a key file (a hard link) and files that are huge by their holes: neither tells a key nor holds up the server."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from anycowork.permissions.rules import RuleIndex
from anycowork.sandbox.layers.stage import Layer
from anycowork.workspace.folder import LARGEST_HASHED
from support.live_server import live_server
from support.raw_mcp_server import CODE, offered, raw_server, read_all
from support.scripted_model import call
from support.spec import proves
from support.tool_workspace import ToolWorkspace
from support.toolspecs import SPECS

PLANTED = "planted-77e1f0"
CONTENT = f"FIRST=1\ndef secret_of():\n  return '{PLANTED}'\nLAST=3\n"
ALIAS = "notes/plain.py"


def alias_calls(root: Path) -> list[str]:
    return [
        call("read_file", path=ALIAS),
        call("read_file", path=ALIAS, start_line=2, end_line=3),
        call("update_file", path=ALIAS, edits=[{"find": "FIRST=2", "replace": "x"}]),
        call("get_file_info", path=ALIAS),
        call("grep", pattern="planted"),
        call("grep", pattern=".", path=ALIAS),
        call("search_code", query="secret_of"),
        call("search_symbol", name="secret_of"),
        call("delete_file", path=ALIAS),
        call("move_file", path=ALIAS, to="Makefile"),
        call("execute_command", command=f"cat {ALIAS}; cat */*; grep -r planted ."),
        call("raw__attempt", code=read_all(root)),
    ]


@proves("APR-3", "SEC-4")
async def test_no_tool_command_or_program_reads_a_key_file_by_its_second_name(tmp_path: Path) -> None:
    files = {".env": CONTENT, "notes/other.txt": "plain\n"}
    async with live_server(tmp_path, files=files) as client:
        os.link(client.workspace / ".env", client.workspace / ALIAS)
        config = raw_server(tmp_path / "far", [offered("attempt", CODE)], workspace_access="read")
        await client.ask("POST", "/mcp/servers", config, expect=201)
        await client.ask("POST", "/mcp/servers/raw/connect", {})
        for tool in ("update_file", "delete_file", "move_file", "execute_command"):
            rule = {"tool": tool, "resource": "**" if tool != "execute_command" else "*", "effect": "allow"}
            await client.ask("POST", "/rules", {**rule, "scope": "global"}, expect=201)
        for text in alias_calls(client.workspace):
            chat = await client.chat()
            client.model.replies[:] = [text, "Done."]
            if (await chat.send("Go."))["state"] == "awaiting_approval":
                await chat.decide("allow_once" if "raw__" in text else "deny")
            assert PLANTED not in json.dumps([await chat.messages(), client.model.requests]), text
            assert "raw__" not in text or "plain" in str(await chat.of_type("tool_result")), (
                "the program read nothing at all"
            )
            assert (client.workspace / ".env").read_text() == CONTENT
            client.model.requests.clear()


@proves("APR-3")
@pytest.mark.parametrize("layer", Layer)
async def test_second_name_is_covered_in_every_kind_of_layer(bench: ToolWorkspace, layer: Layer) -> None:
    bench.write(".ssh/config", CONTENT)
    bench.write("node_modules/other.txt", "plain\n")
    os.link(bench.root / ".ssh/config", bench.root / "node_modules/plain.py")
    hidden = RuleIndex(()).hidden_from(replace(SPECS["execute_command"], contained=True))
    result = await bench.call(
        "execute_command",
        bench.tool_context(hidden=hidden),
        command="cat node_modules/*; ln node_modules/plain.py x; cat x",
    )
    assert "plain" in result.content and PLANTED not in result.content


@pytest.mark.parametrize(
    "arguments",
    [
        ("move_file", {"path": "huge.img", "to": "moved.img"}),
        ("delete_file", {"path": "huge.img"}),
        ("get_file_info", {"path": "huge.img"}),
    ],
)
async def test_file_that_is_huge_by_its_holes_is_not_read_to_its_end(
    tmp_path: Path, arguments: tuple[str, dict[str, str]]
) -> None:
    tool, parameters = arguments
    async with live_server(tmp_path, files={"a.txt": "a"}, replies=[call(tool, **parameters), "Done."]) as client:
        with (client.workspace / "huge.img").open("wb") as file:
            file.truncate(2_000 * LARGEST_HASHED)
        chat = await client.chat()
        await chat.send("Go.")
        result = (await chat.of_type("tool_result"))[0]
        if tool == "get_file_info":
            assert str(2_000 * LARGEST_HASHED) in result["content"]
        else:
            assert "use a command" in result["content"] and (client.workspace / "huge.img").exists()
