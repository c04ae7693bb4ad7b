"""The built-in workflows from end to end: over HTTP, on real files, with a model whose answers the test writes."""

from pathlib import Path

import pytest

from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves
from support.workflows import progress, started

CALC = "add() { echo $(($1 - $2)); }\n"
GOOD = CALC.replace("-", "+")
CHECK = '. ./calc.sh\n[ "$(add 2 3)" = 5 ] || { echo "add 2 3 is $(add 2 3)"; exit 1; }\n'
COMMAND = "bash test_calc.sh"


async def allow(client: LiveServer, *tools: str) -> None:
    for tool in tools:
        rule = {"tool": tool, "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)


async def ended(chat: LiveChat) -> tuple[str, str]:
    """How the turn ended, and how the run did."""
    events = await chat.events()
    runs = [event["workflow"]["status"] for event in events if event["type"] == "workflow-progress"]
    return events[-1]["reason"], runs[-1]


def words(client: LiveServer, request: int) -> str:
    return "\n".join(message["content"] for message in client.model.requests[request]["messages"][1:])


@proves("WFL-3")
@pytest.mark.parametrize("role", ["planner", "actor", "reviewer", "tester", "designer", "commander"])
async def test_explain_code_reads_and_explains_in_every_role(tmp_path: Path, role: str) -> None:
    replies = [call("read_file", path="calc.sh"), "It subtracts, though it is called add."]
    async with live_server(tmp_path, replies=replies, files={"calc.sh": CALC}) as client:
        chat = await client.chat(role=role)
        await chat.send("/explain_code calc.sh depth=thorough")
        assert await ended(chat) == ("answered", "completed")
        assert "Explain `calc.sh`" in words(client, 0) and "Depth: thorough" in words(client, 0)
        assert (await chat.last())["content"] == "It subtracts, though it is called add."


@proves("WFL-3", "ROL-8")
async def test_review_changes_lays_what_this_chat_changed_before_a_reviewer_who_only_reads(tmp_path: Path) -> None:
    review = '{"type": "review", "summary": "One fault.", "findings": [{"path": "calc.sh", "severity": "major", "problem": "It subtracts."}]}'
    replies = [call("create_file", path="calc.sh", content=CALC), "Done.", call("read_file", path="calc.sh"), review]
    async with live_server(tmp_path, replies=replies) as client:
        await allow(client, "create_file")
        chat = await client.chat()
        await chat.send("write calc.sh")
        await chat.switch("reviewer")
        await started(chat, "review_changes", focus="arithmetic")
        await chat.rest()
        assert await ended(chat) == ("answered", "completed")
        shown = next(m for m in await chat.of_type("tool_result") if m["payload"]["tool"] == "changes")
        assert "+add() { echo $(($1 - $2)); }" in shown["content"] and "arithmetic" in words(client, 2)
        assert "Result of changes (ok):" in words(client, 2), (
            "what files hold stands there as data, not as a person's words"
        )
        (message,) = await chat.of_type("review")
        assert message["payload"]["findings"][0]["problem"] == "It subtracts."


async def test_review_changes_says_when_nothing_was_changed(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Nothing to review."]) as client:
        chat = await client.chat(role="reviewer")
        await chat.send("/review_changes")
        assert "No file was changed in this chat." in words(client, 0)
        assert await ended(chat) == ("answered", "completed")


@proves("WFL-3")
async def test_summarize_chat_uses_the_conversation_and_no_tool(tmp_path: Path) -> None:
    replies = ["Hello.", call("read_file", path="a.txt"), "You greeted me; nothing is open."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "a"}) as client:
        chat = await client.chat()
        await chat.send("good morning")
        await chat.send("/summarize_chat audience=me")
        assert "good morning" in words(client, 1) and "for me" in words(client, 1)
        assert [result["status"] for result in await chat.results()] == ["refused"]
        assert await ended(chat) == ("answered", "completed")


@proves("WFL-3")
async def test_create_project_writes_the_readme_lays_out_and_checks(tmp_path: Path) -> None:
    replies = [
        call("create_file", path="clock/clock.sh", content="now() { echo 12:00; }\n"),
        call("create_file", path="clock/check.sh", content='. ./clock.sh\n[ "$(now)" = 12:00 ]\n'),
        "Laid out.",
        call("execute_command", command="cd clock && bash check.sh"),
        call(
            "update_file",
            path="clock/README.md",
            edits=[
                {"find": "A clock for the terminal.", "replace": "A clock for the terminal.\n\nTest: bash check.sh"}
            ],
        ),
        "It runs.",
    ]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send('/create_project name=clock purpose="A clock for the terminal."')
        assert not (client.workspace / "clock").exists(), "a person is asked first"
        while (await chat.show())["state"] == "awaiting_approval":
            await chat.decide()
        assert await ended(chat) == ("answered", "completed")
        readme = (client.workspace / "clock" / "README.md").read_text()
        assert readme == "# clock\n\nA clock for the terminal.\n\nTest: bash check.sh\n"
        assert {result["status"] for result in await chat.results()} == {"ok"}
        assert "python project in the folder `clock`" in words(client, 0)


async def test_create_project_touches_nothing_that_exists(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"clock/README.md": "mine"}) as client:
        chat = await client.chat()
        await chat.send("/create_project name=clock")
        assert await ended(chat) == ("failed", "failed")
        assert (client.workspace / "clock" / "README.md").read_text() == "mine" and client.model.requests == []


@proves("WFL-3")
async def test_write_tests_ends_only_when_the_tests_have_run(tmp_path: Path) -> None:
    replies = [
        call("read_file", path="calc.sh"),
        "I will test add.",
        call("create_file", path="test_calc.sh", content=CHECK),
        "Written.",
    ]
    async with live_server(tmp_path, replies=[*replies], files={"calc.sh": GOOD}) as client:
        await allow(client, "create_file", "execute_command")
        chat = await client.chat()
        await started(chat, "write_tests", path="calc.sh", command=COMMAND)
        await chat.rest()
        assert await ended(chat) == ("terminated", "completed")
        assert (await chat.results())[-1]["facts"]["exit_code"] == 0
        assert COMMAND in words(client, 2)


async def test_write_tests_fails_when_its_tests_do_whatever_the_model_claims(tmp_path: Path) -> None:
    replies = ["I will test add.", call("create_file", path="test_calc.sh", content=CHECK), "All tests pass."]
    async with live_server(tmp_path, replies=replies, files={"calc.sh": CALC}) as client:
        await allow(client, "create_file", "execute_command")
        chat = await client.chat()
        await started(chat, "write_tests", path="calc.sh", command=COMMAND)
        await chat.rest()
        assert await ended(chat) == ("failed", "failed")
        assert (await progress(chat))[-1] == (3, "failed")


@proves("WFL-3")
async def test_fix_failing_test_sees_it_fail_mends_and_sees_it_pass(tmp_path: Path) -> None:
    replies = [
        call("read_file", path="calc.sh"),
        call("update_file", path="calc.sh", edits=[{"find": "$1 - $2", "replace": "$1 + $2"}]),
        "add subtracted; now it adds.",
    ]
    async with live_server(tmp_path, replies=replies, files={"calc.sh": CALC, "test_calc.sh": CHECK}) as client:
        await allow(client, "update_file", "execute_command")
        chat = await client.chat()
        await started(chat, "fix_failing_test", command=COMMAND, hint="look at add")
        await chat.rest()
        assert await ended(chat) == ("terminated", "completed")
        commands = [one for one in await chat.results() if one["tool"] == "execute_command"]
        assert [one["facts"]["exit_code"] for one in commands] == [1, 0]
        assert "add 2 3 is -1" in words(client, 0) and "look at add" in words(client, 0)
        assert (client.workspace / "calc.sh").read_text() == GOOD


async def test_fix_failing_test_does_not_take_a_claim_for_a_mend(tmp_path: Path) -> None:
    replies = ["I could not find it.", "It is fixed."]
    async with live_server(tmp_path, replies=replies, files={"calc.sh": CALC, "test_calc.sh": CHECK}) as client:
        await allow(client, "execute_command")
        chat = await client.chat()
        await started(chat, "fix_failing_test", command=COMMAND)
        await chat.rest()
        assert await ended(chat) == ("failed", "failed")


@proves("WFL-3")
async def test_refactor_component_checks_proposes_asks_changes_and_checks_again(tmp_path: Path) -> None:
    replies = [
        call("read_file", path="calc.sh"),
        "Rename the arguments.",
        call("read_file", path="calc.sh"),
        call("update_file", path="calc.sh", content="add() { local left=$1 right=$2; echo $((left + right)); }\n"),
        "Renamed.",
    ]
    async with live_server(tmp_path, replies=replies, files={"calc.sh": GOOD, "test_calc.sh": CHECK}) as client:
        await allow(client, "execute_command")
        chat = await client.chat()
        await started(chat, "refactor_component", path="calc.sh", goal="clear names", check=COMMAND)
        assert (await chat.rest())["state"] == "awaiting_answer"
        assert (client.workspace / "calc.sh").read_text() == GOOD
        (question,) = await chat.of_type("question")
        assert question["content"] == "Shall the refactoring of calc.sh go ahead as proposed?"
        answer = {"custom": "yes, but keep it short"}
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", answer, expect=200)
        assert (await chat.rest())["state"] == "awaiting_approval"
        await chat.decide()
        assert await ended(chat) == ("terminated", "completed")
        assert "keep it short" in words(client, 2) and "left + right" in (client.workspace / "calc.sh").read_text()


async def test_refactor_component_begins_nothing_without_a_check_that_passes(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"calc.sh": CALC, "test_calc.sh": CHECK}) as client:
        await allow(client, "execute_command")
        chat = await client.chat()
        await started(chat, "refactor_component", path="calc.sh", goal="x", check=COMMAND)
        await chat.rest()
        assert await ended(chat) == ("failed", "failed") and client.model.requests == []
