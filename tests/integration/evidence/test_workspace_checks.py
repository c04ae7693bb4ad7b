"""The command that a person set for a workspace checks every turn that changes something in it, without asking."""

from pathlib import Path
from typing import Any  # answers are JSON that tests look into freely

import pytest

from support.evidence import evidence_of, working_chat
from support.live_server import LiveServer, live_server
from support.scripted_model import call

CHECK = "python3 look.py"
FILES = {
    "notes.md": "draft\n",
    "look.py": "import sys\nsys.exit(0 if 'ready' in open('notes.md').read() else 1)\n",
    "test_a.py": "def test_a():\n    assert False, 'the found tests were run'\n",
}
READY = call("update_file", path="notes.md", edits=[{"find": "draft", "replace": "ready"}])
OTHER = call("update_file", path="notes.md", edits=[{"find": "draft", "replace": "later"}])


async def set_check(client: LiveServer, command: str, *, expect: int = 200) -> Any:
    (workspace,) = (await client.ask("GET", "/workspaces"))["workspaces"]
    return await client.ask("PATCH", f"/workspaces/{workspace['id']}", {"check": command}, expect=expect)


@pytest.mark.parametrize("autonomy", ["edits", "sandboxed"])
async def test_it_is_run_instead_of_what_is_found_and_asks_nobody(tmp_path: Path, autonomy: str) -> None:
    async with live_server(tmp_path, replies=[READY, "Done."], files=FILES) as client:
        assert (await set_check(client, f" {CHECK} "))["check"] == CHECK
        chat = await working_chat(client, autonomy)
        await chat.send("The notes are ready, say so in them.")
        evidence = await evidence_of(client, chat)
        assert evidence["status"] == "self_checked", "it compares with what the turn wrote"
        assert await chat.approvals() == []
        assert [(check["command"], check["state"], check["passed_before"]) for check in evidence["checks"]] == [
            (CHECK, "met", False)
        ]


async def test_what_fails_goes_back_to_the_model(tmp_path: Path) -> None:
    right = call("update_file", path="notes.md", edits=[{"find": "later", "replace": "ready"}])
    async with live_server(tmp_path, replies=[OTHER, "Done.", right, "Done."], files=FILES) as client:
        await set_check(client, CHECK)
        chat = await working_chat(client, "edits")
        await chat.send("The notes are ready, say so in them.")
        assert [check["state"] for check in (await evidence_of(client, chat))["checks"]] == ["met"]
        assert any(f"The check `{CHECK}` was run" in m["content"] for m in await chat.messages())


async def test_without_one_the_tests_that_are_found_decide_again(tmp_path: Path) -> None:
    code = call("create_file", path="b.py", content="x = 1\n")
    async with live_server(tmp_path, replies=[code, *["Done."] * 3], files=FILES) as client:
        await set_check(client, CHECK)
        assert (await set_check(client, ""))["check"] is None
        chat = await working_chat(client, "sandboxed")
        await chat.send("Add b.py.")
        assert [check["command"] for check in (await evidence_of(client, chat))["checks"]] == ["python3 -m pytest -q"]


async def test_a_check_that_the_request_names_goes_before_it_and_a_planner_runs_none(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[READY, "Done.", "I looked."], files=FILES) as client:
        await set_check(client, CHECK)
        chat = await working_chat(client, "edits")
        named = f"{CHECK} notes"
        body = {"content": "Make the notes ready.", "expect": [{"kind": "check", "subject": named}]}
        await client.ask("POST", f"{chat.path}/messages", body, expect=202)
        await chat.rest()
        assert [check["command"] for check in (await evidence_of(client, chat))["checks"]] == [named]
        planner = await client.chat(role="planner")
        await planner.send("Look at the notes.")
        assert not any(m["message_type"] == "tool_call" for m in await planner.messages())


@pytest.mark.parametrize("command", ["a\nb", "a\x1b[2J", "x" * 2_001, 5])
async def test_what_is_no_command_line_is_refused_at_its_field(tmp_path: Path, command: object) -> None:
    async with live_server(tmp_path) as client:
        refused = await set_check(client, command, expect=422)  # type: ignore[arg-type]  # garbage
        assert refused["error"]["param"] == "check"
