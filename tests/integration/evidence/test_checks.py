"""Checks that the server runs itself: after the last change, judged by exit code and by what ran, in a layer that is dropped."""

from pathlib import Path
from typing import Any  # events and answers are JSON that tests look into freely

from support.evidence import evidence_of, states, working_chat
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

CHECK = "python3 check.py"
FILES = {
    "check.py": "import shop, sys\nopen('made-by-check.txt', 'w').write('x')\n"
    "print('expected 3, got', shop.total())\nsys.exit(0 if shop.total() == 3 else 1)\n",
    "shop.py": "def total():\n    return 2\n",
}
REQUEST = f"Fix shop.py so that `{CHECK}` passes."


def write(path: str, content: str) -> str:
    return call("execute_command", command=f"cat > {path} <<'EOF_'\n{content}EOF_\n")


RIGHT = write("shop.py", "def total():\n    return 3\n")
WRONG = write("shop.py", "def total():\n    return 40\n")


@proves("EVD-3/1", "EVD-3/2", "EVD-2/3")
async def test_a_failing_check_goes_back_as_facts_and_the_corrected_work_is_checked(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[WRONG, "Done.", RIGHT, "Done."], files=FILES) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        found = await evidence_of(client, chat)
        assert found["status"] == "checked" and states(found) == {("check", CHECK): "met"}
        (check,) = found["checks"]
        assert check["exit_code"] == 0 and check["ran_after_last_change"] and check["owner"] == "project"
        assert check["snapshot_id"] and not check["passed_before"]
        told = [m["content"] for m in await chat.messages() if "ended with exit code 1" in m["content"]]
        assert any("Not done yet." in text and "expected 3, got 40" in text for text in told)
        assert "It ran as a check: what the command wrote was thrown away." in told[0]
        own = [m["payload"] for m in await chat.of_type("tool_call") if m["payload"].get("check")]
        assert [mark.get("baseline") for mark in own] == [True, None, None, None], (
            "one before the work, then one or two a try"
        )
        assert not any("This role may not change files" in text for text in told), "an actor may"
        assert sorted(path.name for path in client.workspace.iterdir()) == ["check.py", "shop.py"], (
            "no trace of the check"
        )


async def test_a_check_that_nothing_allows_is_not_run_and_the_turn_is_claimed(tmp_path: Path) -> None:
    fix = call("update_file", path="shop.py", content="def total():\n    return 3\n")
    async with live_server(tmp_path, replies=[call("read_file", path="shop.py"), fix, "Done."], files=FILES) as client:
        chat = await working_chat(client, "edits")
        await chat.send(REQUEST)
        found = await evidence_of(client, chat)
        assert found["status"] == "claimed" and found["checks"] == [] and await chat.approvals() == []


@proves("EVD-2/3")
async def test_a_check_that_the_person_states_runs_without_asking(tmp_path: Path) -> None:
    fix = call("update_file", path="shop.py", content="def total():\n    return 3\n")
    async with live_server(tmp_path, replies=[call("read_file", path="shop.py"), fix, "Done."], files=FILES) as client:
        chat = await working_chat(client, "edits")
        body = {"content": "Fix the total.", "expect": [{"kind": "check", "subject": CHECK}]}
        await client.ask("POST", f"{chat.path}/messages", body, expect=202)
        await chat.rest()
        found: Any = await evidence_of(client, chat)
        assert found["status"] == "checked" and found["expectations"][0]["from"] == "person"


async def test_a_check_that_was_not_run_comes_with_the_rule_that_allows_it_from_the_next_turn_on(
    tmp_path: Path,
) -> None:
    change = call("update_file", path="shop.py", content="def total():\n    return 3\n")
    other = call("create_file", path="other.py", content="y = 1\n")
    replies = [call("read_file", path="shop.py"), change, "Done.", other, "Done."]
    files = {**FILES, "test_shop.py": "import shop\n\ndef test_total():\n    assert shop.total() == 3\n"}
    async with live_server(tmp_path, replies=replies, files=files) as client:
        chat = await working_chat(client, "edits")
        await chat.send("Let the total be 3.")
        found = await evidence_of(client, chat)
        assert found["status"] == "claimed" and found["checks"] == []
        (not_run,) = found["not_run"]
        ended = await chat.events()
        assert ended[-1]["evidence"]["not_run"] == [not_run], "the event that ended the turn says the same"
        assert not_run["rule"]["tool"] == "execute_command" and not_run["rule"]["resource"] == not_run["command"]
        await client.ask("POST", "/rules", not_run["rule"], expect=201)
        await chat.send("Add other.py, too.")
        found = await evidence_of(client, chat)
        assert [check["command"] for check in found["checks"]] == [not_run["command"]] and not found.get("not_run")


async def test_a_check_that_a_rule_denies_is_offered_to_nobody(tmp_path: Path) -> None:
    fix = call("update_file", path="shop.py", content="def total():\n    return 3\n")
    async with live_server(tmp_path, replies=[call("read_file", path="shop.py"), fix, "Done."], files=FILES) as client:
        rule = {"tool": "execute_command", "resource": "python3 *", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
        chat = await working_chat(client, "edits")
        await chat.send(REQUEST)
        found = await evidence_of(client, chat)
        assert found["status"] == "claimed" and not found.get("not_run")
