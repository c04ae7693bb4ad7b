"""Workflows as their authors meet them: the examples as they are, and files with what happens to files."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves
from support.workflows import faults, names, progress, started, supplied, trust, written

EXAMPLES = Path(__file__).parents[3] / "examples" / "workflows"
ASKS = '```ask\n{"question": "Go on?", "options": [{"label": "Yes", "value": "yes"}]}\n```\n'


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """In the data folder of `live_server(tmp_path)`, with the page about them."""
    shutil.copytree(EXAMPLES, tmp_path / "data" / "workflows")
    return tmp_path


async def allow(client: LiveServer, *tools: str) -> None:
    for tool in tools:
        rule = {"tool": tool, "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)


async def answered(chat: LiveChat, value: str) -> None:
    [question] = await chat.of_type("question")
    await chat.client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": value}, expect=200)
    await chat.rest()


async def ended(chat: LiveChat) -> str:
    return (await progress(chat))[-1][1]


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, timeout=60)


# --- the examples


@proves("WFL-3")
async def test_the_examples_are_sound_and_the_page_about_them_is_no_workflow(examples: Path) -> None:
    async with live_server(examples) as client:
        assert {"changelog", "licence_headers", "triage_tests"} <= await names(client)
        assert await faults(client) == []


@proves("WFL-3")
async def test_a_changelog_is_written_from_what_git_says(examples: Path) -> None:
    section = {"find": "# Changelog\n", "replace": "# Changelog\n\n## Next\n- It adds.\n"}
    replies = [call("update_file", path="CHANGELOG.md", edits=[section]), "Written; left out: nothing."]
    async with live_server(examples, replies=replies, files={"CHANGELOG.md": "# Changelog\n"}) as client:
        git(client.workspace, "init", "--quiet")
        git(client.workspace, "add", ".")
        git(client.workspace, "commit", "--quiet", "-m", "Begin")
        git(client.workspace, "tag", "v1-of-it")
        git(client.workspace, "commit", "--quiet", "--allow-empty", "-m", "Let it add")
        await allow(client, "execute_command", "update_file")
        chat = await client.chat()
        await chat.send("/changelog since=v1-of-it")
        assert await ended(chat) == "completed"
        assert "## Next" in (client.workspace / "CHANGELOG.md").read_text()
        [log, *_] = await chat.of_type("tool_result")
        assert "Let it add" in log["content"] and "Begin" not in log["content"]


@proves("WFL-3")
async def test_licence_headers_are_found_added_once_agreed_and_looked_for_again(examples: Path) -> None:
    line = "# SPDX-License-Identifier: MIT\n"
    replies = [
        call("read_file", path="my app/b.py"),
        call("update_file", path="my app/b.py", content=line + "b = 1\n"),
        "Added to one.",
    ]
    files = {"my app/a.py": line, "my app/b.py": "b = 1\n", "c.txt": "no code\n"}
    async with live_server(examples, replies=replies, files=files) as client:
        await allow(client, "execute_command", "update_file")
        chat = await client.chat()
        await started(chat, "licence_headers", folder="my app")
        await chat.rest()
        [found] = await chat.of_type("tool_result")
        assert "my app/b.py" in found["content"] and "a.py" not in found["content"]
        await answered(chat, "yes")
        assert await ended(chat) == "completed"
        assert (client.workspace / "my app" / "b.py").read_text().startswith(line)


async def test_a_claim_that_all_files_have_it_does_not_end_the_check(examples: Path) -> None:
    async with live_server(examples, replies=["I added it everywhere."], files={"b.py": "b = 1\n"}) as client:
        await allow(client, "execute_command")
        chat = await client.chat()
        await started(chat, "licence_headers")
        await chat.rest()
        await answered(chat, "yes")
        assert await ended(chat) == "failed"


@proves("WFL-3")
@pytest.mark.parametrize(("answer", "status"), [("report", "stopped"), ("mend", "completed")])
async def test_failing_tests_are_explained_and_mended_only_if_wanted(examples: Path, answer: str, status: str) -> None:
    replies = [
        "check.sh fails: add subtracts. Cause: the code.",
        call("update_file", path="calc.sh", edits=[{"find": "$1 - $2", "replace": "$1 + $2"}]),
        "Mended.",
    ]
    files = {"calc.sh": "add() { echo $(($1 - $2)); }\n", "check.sh": '. ./calc.sh; test "$(add 2 3)" = 5\n'}
    async with live_server(examples, replies=replies, files=files) as client:
        await allow(client, "execute_command", "update_file")
        chat = await client.chat()
        await chat.send('/triage_tests command="bash check.sh" most=1')
        await answered(chat, answer)
        assert await ended(chat) == status
        assert ("+" in (client.workspace / "calc.sh").read_text()) is (answer == "mend")


# --- what happens to files


async def test_a_huge_file_is_told_and_the_others_still_load(tmp_path: Path) -> None:
    head = '+++\ndescription = "x"\n+++\n## Go\n'
    written(tmp_path, huge=head + "x" * 1_000_000, fine=head + "Hello.\n")
    async with live_server(tmp_path) as client:
        [told] = await faults(client)
        assert told["path"].endswith("huge.md") and "65,536" in told["reason"]
        assert "fine" in await names(client)
        refused = await started(await client.chat(), "huge", expect=404)
        assert "huge.md" in refused["error"]["message"]


async def test_workflows_that_run_each_other_are_faults_of_both(tmp_path: Path) -> None:
    text = '+++\ndescription = "x"\n+++\n## Go\n```workflow\n{}\n```\n'
    written(tmp_path, ping=text.replace("{}", "pong"), pong=text.replace("{}", "ping"))
    async with live_server(tmp_path) as client:
        assert {fault["line"] for fault in await faults(client)} == {4}
        assert all("only one level of nesting" in fault["reason"] for fault in await faults(client))
        assert not {"ping", "pong"} & await names(client)


async def test_two_files_of_one_name_are_told_and_the_first_stays(tmp_path: Path) -> None:
    text = '+++\nname = "twin"\ndescription = "{}"\n+++\n## Go\nHello.\n'
    written(tmp_path, a=text.format("first"), b=text.format("second"))
    async with live_server(tmp_path) as client:
        [told] = await faults(client)
        assert told["path"].endswith("b.md") and "a.md" in told["reason"]
        assert (await client.ask("GET", "/workflows/twin"))["description"] == "first"


@proves("WFL-3")
async def test_a_run_goes_on_though_its_file_and_the_one_that_it_runs_are_removed(tmp_path: Path) -> None:
    outer = f'+++\ndescription = "x"\n+++\n## Ask\n{ASKS}\n## Then\n```workflow\ninner\n```\n'
    written(tmp_path, outer=outer, inner='+++\ndescription = "x"\n+++\n## Say\nSay goodbye.\n')
    async with live_server(tmp_path, replies=["Goodbye."]) as client:
        chat = await client.chat()
        await started(chat, "outer")
        await chat.rest()
        shutil.rmtree(tmp_path / "data" / "workflows")
        await answered(chat, "yes")
        assert await ended(chat) == "completed"
        assert (await chat.last())["content"] == "Goodbye."
        await started(chat, "outer", expect=404)


async def test_a_readme_beside_a_teams_workflows_asks_for_no_trust(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        supplied(client.workspace, README="# Ours\n", hello='+++\ndescription = "x"\n+++\n## Go\nHello.\n')
        assert [fault["path"] for fault in await faults(client)] == []
        await trust(client, client.workspace, "hello")
        roots = (await client.ask("GET", "/workspaces"))["workspaces"]
        assert "README.md" not in str(roots) and "hello.md" in str(roots)
