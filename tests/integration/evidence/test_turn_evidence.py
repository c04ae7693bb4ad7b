"""What a turn ends with: evidence in one of four words, from what was expected and what was found."""

from pathlib import Path

import pytest

from support.evidence import evidence_of, states, working_chat
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

MAKE = call("create_file", path="notes.md", content="one\n")


@proves("EVD-1/1", "EVD-2/1", "EVD-2/6")
async def test_a_model_that_claims_a_missing_file_is_told_and_corrects_itself(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["I wrote notes.md.", MAKE, "Now it is there."]) as client:
        chat = await working_chat(client)
        await chat.send("Create notes.md with one line.")
        found = await evidence_of(client, chat)
        assert found["status"] == "claimed" and states(found) == {("output", "notes.md"): "met"}
        assert found["expectations"][0]["from"] == "request"
        told = [m["content"] for m in await chat.messages() if "was expected" in m["content"]]
        assert told == ["Not done yet. 'notes.md' was expected. It does not exist."]


@proves("EVD-1/1", "EVD-3/2")
async def test_a_model_that_insists_is_told_twice_and_the_turn_ends_failed(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Done."] * 5) as client:
        chat = await working_chat(client)
        await chat.send("Create notes.md with one line.")
        found = await evidence_of(client, chat)
        assert found["status"] == "failed" and states(found) == {("output", "notes.md"): "unmet"}
        assert len(client.model.requests) == 3
        assert (await chat.last())["content"] == "Done."


@proves("EVD-1/1")
async def test_a_turn_that_only_should_change_something_has_a_word(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Done."] * 3, files={"shop.txt": "2\n"}) as client:
        chat = await working_chat(client)
        await chat.send("Correct the total in shop.txt.")
        assert await evidence_of(client, chat) == {"status": "claimed", "expectations": [], "checks": []}


@proves("EVD-1/1")
@pytest.mark.parametrize(
    ("request_text", "reply", "why"),
    [
        ("Create notes.md with one line.", call("create_file", path="notes.md", content=""), "It is empty."),
        (
            "Create notes.md with one line.",
            call("create_file", path="docs/notes.md", content="x\n"),
            "It does not exist.",
        ),
        ("Save the list in out/list.txt.", call("create_file", path="list.txt", content="x\n"), "It does not exist."),
        ("Fix the total in a.py.", call("create_file", path="b.py", content="def broken(:\n"), "It does not parse"),
    ],
    ids=["empty", "wrong folder", "wrong folder of a path", "does not parse"],
)
async def test_what_is_missing_is_named(tmp_path: Path, request_text: str, reply: str, why: str) -> None:
    async with live_server(tmp_path, replies=[reply, *["Done."] * 3], files={"a.py": "x = 1\n"}) as client:
        chat = await working_chat(client)
        await chat.send(request_text)
        found = await evidence_of(client, chat)
        assert found["status"] == "failed"
        assert [one for one in found["expectations"] if one["why"].startswith(why)]


@proves("EVD-2/2")
async def test_a_path_that_is_to_stay_asks_at_the_gate_and_says_why(tmp_path: Path) -> None:
    replies = [call("update_file", path="b.py", content="x = 2\n"), "Done."]
    files = {"a.py": "x = 1\n", "b.py": "x = 1\n"}
    async with live_server(tmp_path, replies=[call("read_file", path="b.py"), *replies], files=files) as client:
        chat = await working_chat(client)
        await chat.send("Fix the total in a.py, but leave b.py alone.")
        (approval,) = await chat.approvals()
        assert "'b.py' is to stay as it is in this turn." in " ".join(approval["reasons"])
        assert (client.workspace / "b.py").read_text() == "x = 1\n"
        await chat.decide("deny")
        assert states(await evidence_of(client, chat))[("protected", "b.py")] == "met"


@proves("EVD-2/2")
async def test_a_command_that_changes_a_path_that_is_to_stay_is_held(tmp_path: Path) -> None:
    run = call("execute_command", command="echo 'x = 2' > b.py; echo 'x = 3' > a.py")
    files = {"a.py": "x = 1\n", "b.py": "x = 1\n"}
    async with live_server(tmp_path, replies=[run, "Done."], files=files) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send("Ändere nur a.py.")
        (approval,) = await chat.approvals()
        assert approval["held"] and any("only a.py may change" in reason for reason in approval["reasons"])
        assert (client.workspace / "b.py").read_text() == "x = 1\n"


@proves("EVD-2/5")
async def test_an_answer_about_a_file_that_was_not_read_is_sent_back_and_then_failed(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["42"] * 3, files={"data.csv": "a\nb\n"}) as client:
        chat = await client.chat()
        await chat.send("How many rows are in data.csv?")
        found = await evidence_of(client, chat)
        assert found["status"] == "failed" and states(found)[("read", "data.csv")] == "unmet"


async def test_an_answer_about_a_file_that_was_read_has_no_evidence_and_no_more_calls(tmp_path: Path) -> None:
    replies = [call("read_file", path="data.csv"), "Two."]
    async with live_server(tmp_path, replies=replies, files={"data.csv": "a\nb\n"}) as client:
        chat = await client.chat()
        await chat.send("How many rows are in data.csv?")
        assert await evidence_of(client, chat) is None and len(client.model.requests) == 2


@proves("EVD-2/4")
async def test_a_change_on_a_mere_question_is_failed_and_not_pushed_back(tmp_path: Path) -> None:
    replies = [call("read_file", path="data.csv"), call("create_file", path="x.txt", content="x"), "Two."]
    async with live_server(tmp_path, replies=replies, files={"data.csv": "a\nb\n"}) as client:
        chat = await working_chat(client)
        await chat.send("¿Cuántas líneas hay en data.csv?")
        found = await evidence_of(client, chat)
        assert found["status"] == "failed" and len(client.model.requests) == 3


@proves("EVD-2/6")
async def test_a_greeting_has_no_evidence(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello."]) as client:
        chat = await client.chat()
        await chat.send("hello")
        assert await evidence_of(client, chat) is None


@proves("EVD-2/1")
async def test_what_a_person_states_is_checked_and_an_unknown_turn_is_not_found(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Done."] * 3) as client:
        chat = await client.chat()
        body = {"content": "go on", "expect": [{"kind": "output", "subject": "a b/ü.txt"}]}
        await client.ask("POST", f"{chat.path}/messages", body, expect=202)
        await chat.rest()
        found = await evidence_of(client, chat)
        assert found["status"] == "failed"
        assert found["expectations"] == [
            {"kind": "output", "subject": "a b/ü.txt", "state": "unmet", "from": "person", "why": "It does not exist."}
        ]
        await client.ask("GET", f"{chat.path}/evidence?turn_id=none", expect=404)
        wrong = {"content": "go on", "expect": [{"kind": "check", "subject": " "}]}
        await client.ask("POST", f"{chat.path}/messages", wrong, expect=422)
