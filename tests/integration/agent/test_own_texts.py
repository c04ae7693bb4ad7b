"""The server's own text about a call is not treated as a planted instruction."""

from pathlib import Path

from support.live_server import live_server
from support.scripted_model import call

ALL = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}


async def test_who_follows_the_advice_of_an_error_is_not_taken_for_led_astray(tmp_path: Path) -> None:
    replies = [
        call("read_file", path="a.txt"),
        call("create_file", path="a.txt", content="two\n"),  # told to use update_file instead
        call("update_file", path="a.txt", content="two\n"),
        "Done.",
    ]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "one\n"}) as client:
        await client.ask("POST", "/rules", ALL, expect=201)
        chat = await client.chat()
        await chat.send("let a.txt say two")
        assert "Use update_file" in (await chat.of_type("tool_result"))[1]["content"]
        assert (await chat.last())["content"] == "Done."
        assert (client.workspace / "a.txt").read_text() == "two\n"


async def test_nor_is_a_call_that_the_servers_objection_names(tmp_path: Path) -> None:
    replies = [
        call("update_file", path="a.txt", edits=[{"find": "none", "replace": "two"}]),
        "Done, a.txt was updated.",  # not taken: the last step failed
        call("update_file", path="a.txt", edits=[{"find": "one", "replace": "two"}]),
        "Done.",
    ]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "one\n"}) as client:
        await client.ask("POST", "/rules", ALL, expect=201)
        chat = await client.chat()
        await chat.send("let a.txt say two")
        assert "failed (update_file)" in (await chat.of_type("tool_result"))[1]["content"]
        assert (client.workspace / "a.txt").read_text() == "two\n"
