"""A refusal never advises a tool that the role lacks: every role, every tool that it has, every way in which a call goes wrong."""

import json
from pathlib import Path

import pytest

from anycowork.permissions.roles import BUILT_IN
from support.live_server import live_server
from support.scripted_model import call

PLACES = ("there.txt", "missing.txt", "folder", "nowhere/at/all.txt", "../outside.txt", "bytes.bin")
REQUESTS: dict[str, dict[str, object]] = {
    "create_file": {"content": "x"},
    "update_file": {"content": "x"},
    "move_file": {"to": "there.txt"},
    "delete_file": {},
    "read_file": {},
    "list_directory": {},
    "get_file_info": {},
    "grep": {"pattern": "("},
    "search_code": {"query": "nothing like it"},
    "search_symbol": {"name": "nothing_like_it"},
    "no_such_tool": {},
}


@pytest.mark.parametrize("role", [definition.name for definition in BUILT_IN])
async def test_no_answer_to_a_call_that_went_wrong_names_a_tool_that_the_role_lacks(tmp_path: Path, role: str) -> None:
    definition = next(each for each in BUILT_IN if each.name == role)
    calls = [call(tool, path=place, **requested) for tool, requested in REQUESTS.items() for place in PLACES]
    async with live_server(
        tmp_path, replies=["Ready."], files={"there.txt": "a\n", "folder/x.txt": "x"}, max_steps=99
    ) as client:
        (client.workspace / "bytes.bin").write_bytes(b"\0\1\2")
        toolbox = client.server.services.plan_audit._toolbox
        lacking = {spec.name for spec in toolbox.specs() if not definition.grants(spec.permissions)}
        for made in calls:
            if json.loads(made)["tool"] in lacking:
                continue  # whoever calls a tool it lacks is told so by its name
            chat = await client.chat(role=role)
            client.model.replies[:] = [made, *["Well."] * 3]
            await chat.send("try it")
            for result in await chat.results():
                words = json.dumps(result)
                assert not [tool for tool in lacking if tool in words], (made, words)
