"""Contents that nobody allowed to read: no tool, no command and no error of one tells them to the agent."""

import json
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from support.git_commands import git
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

PLANTED = "planted-90ab44"
CONTENT = f"FIRST=1\ndef secret_of():\n  return '{PLANTED}'\nLAST=3\n"
EVERY_TOOL = ("update_file", "move_file", "create_file", "delete_file", "execute_command", "grep")


def tool_calls(path: str) -> list[str]:
    """Calls that read the file, quote it in an error, or lead to it; none of an edit fits."""
    folder = str(Path(path).parent)
    wrong = [{"find": "FIRST=2", "replace": "x"}]
    return [
        call("read_file", path=path),
        call("read_file", path=path, start_line=2, end_line=3),
        call("update_file", path=path, edits=wrong),
        call("update_file", path=path, edits=[{"find": "FIRST=1", "replace": "x"}, *wrong]),
        call("update_file", path=path, edits=[{"find": "=", "replace": "x"}]),
        call("update_file", path=path, content="new"),
        call("update_file", path=path, content="new\n# ... rest unchanged\n"),
        call("update_file", path=path, content="x", start_line=90, end_line=99),
        call("create_file", path=path, content="x"),
        call("get_file_info", path=path),
        call("grep", pattern=PLANTED[:4], path=folder),
        call("grep", pattern=".", path=path, context=20),
        call("grep", pattern="secret", path="."),
        call("search_code", query="secret_of", path="."),
        call("search_symbol", name="secret_of"),
        call("list_directory", path=folder, depth=5),
    ]


def commands(path: str) -> list[str]:
    """Commands that name the file, and one that reads whatever there is."""
    folder, name = str(Path(path).parent), Path(path).name
    unnamed = (
        "grep -r secret .",
        "git diff",
        "git stash; git stash show -p; git stash pop",
        "git add -A; git diff --cached; git reset -q",
        "find . -type f -exec cat {} +",
        "tar cf - . | tr -d '\\0'",
    )
    return [
        f"cat {path}",
        f"cd {folder} && cat {name}",
        f"head -c 999 < {path}; cp {path} copied.txt; cat copied.txt; ln {path} linked.txt; cat linked.txt",
        f"python3 -c \"print(open('{path}').read())\"",
        f"mv {path} moved.txt; cat moved.txt",
        "; ".join(unnamed),
    ]


@proves("PER-4", "APR-3", "SEC-4")
@pytest.mark.parametrize(
    ("path", "effect"),
    [(".env", None), ("private/notes.py", "ask"), ("private/notes.py", "deny")],
)
async def test_no_tool_and_no_error_tells_a_content_that_nobody_allowed_to_read(
    tmp_path: Path, path: str, effect: str | None
) -> None:
    """Everything else is allowed: what a rule says of reading a path is about every way to read it."""
    calls = [*tool_calls(path), *(call("execute_command", command=command) for command in commands(path))]
    async with live_server(tmp_path, files={path: CONTENT, "other.txt": "plain\n"}) as client:
        commit_earlier_version(client.workspace, path)
        rules = [(tool, "**" if tool != "execute_command" else "*", "allow") for tool in EVERY_TOOL]
        if effect is not None:
            rules.append(("read_file", "/private/**", effect))
        for tool, resource, rule_effect in rules:
            rule = {"tool": tool, "resource": resource, "effect": rule_effect, "scope": "global"}
            await client.ask("POST", "/rules", rule, expect=201)
        for text in calls:
            chat = await client.chat()
            client.model.replies[:] = [text, "Done."]
            state = (await chat.send("Go."))["state"]
            told = json.dumps([await chat.messages(), client.model.requests])
            assert PLANTED not in told, (text, state)
            if state == "awaiting_approval":
                await chat.decide("deny")
            assert (client.workspace / path).read_text() == CONTENT, text
            client.model.requests.clear()


def commit_earlier_version(workspace: Path, path: str) -> None:
    """A repository that knows the file, with another content."""
    (workspace / path).write_text("FIRST=0\n")
    git(workspace, "init", "-q")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "first")
    (workspace / path).write_text(CONTENT)


@proves("APR-3")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"command": "cat private/notes.py private/*"}, ["notes"]),
        ({"command": "grep -rh planted private"}, ["notes", "other"]),
        ({"command": "cat */*", "key_files": ["private/other.py"]}, ["other"]),
    ],
)
async def test_a_person_who_is_asked_lets_a_command_read_what_it_names(
    tmp_path: Path, given: dict[str, Any], told: list[str]
) -> None:
    files = {f"private/{name}.py": f"{PLANTED}-{name}\n" for name in ("notes", "other")}
    async with live_server(tmp_path, files=files, replies=[call("execute_command", **given), "Done."]) as client:
        for tool, resource, effect in (("execute_command", "*", "allow"), ("read_file", "/private/**", "ask")):
            rule = {"tool": tool, "resource": resource, "effect": effect, "scope": "global"}
            await client.ask("POST", "/rules", rule, expect=201)
        chat = await client.chat()
        assert (await chat.send("Go."))["state"] == "awaiting_approval"
        await chat.decide()
        results = str(await chat.of_type("tool_result"))
        assert [name for name in ("notes", "other") if f"{PLANTED}-{name}" in results] == told


async def test_a_rule_that_asks_about_all_reading_asks_before_each_command_and_covers_nothing(tmp_path: Path) -> None:
    replies = [call("execute_command", command="cat a.txt"), "Done."]
    async with live_server(tmp_path, files={"a.txt": "plain\n"}, replies=replies) as client:
        for tool, resource, effect in (("execute_command", "*", "allow"), ("read_file", "**", "ask")):
            rule = {"tool": tool, "resource": resource, "effect": effect, "scope": "global"}
            await client.ask("POST", "/rules", rule, expect=201)
        chat = await client.chat()
        assert (await chat.send("Go."))["state"] == "awaiting_approval"
        await chat.decide()
        assert "plain" in (await chat.of_type("tool_result"))[0]["content"]
