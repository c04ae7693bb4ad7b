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
    async with live_server(
        tmp_path, replies=["Ready."], files={"there.txt": "a\n", "folder/x.txt": "x"}, max_steps=99
    ) as client:
        (client.workspace / "bytes.bin").write_bytes(b"\0\1\2")
        toolbox = client.server.services.plan_audit._toolbox
        specs = {spec.name: spec for spec in toolbox.specs()}
        lacking = {name for name, spec in specs.items() if not definition.grants(spec.permissions)}
        for tool, requested in REQUESTS.items():
            if tool in lacking:
                continue  # whoever calls a tool it lacks is told so by its name
            calls = [call(tool, path=place, **requested) for place in PLACES]
            # A call that may wait for a person gets a chat of its own; calls that only read follow each other in one turn.
            together = tool in specs and specs[tool].read_only
            for made in [calls] if together else [[each] for each in calls]:
                chat = await client.chat(role=role)
                client.model.replies[:] = [*made, *["Well."] * 3]
                await chat.send("try it")
                results = await chat.results()
                assert len(results) >= len(made) or not together, (tool, len(results))
                for result in results:
                    words = json.dumps(result)
                    assert not [name for name in lacking if name in words], (made, words)
