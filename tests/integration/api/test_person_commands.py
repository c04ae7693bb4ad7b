"""A person runs commands of their own in a chat's workspace: recorded as theirs, undone like anything else, noted for the model."""

from pathlib import Path

import pytest

from anycowork.checkpoints import workspace_images
from support.live_server import live_server
from support.person_commands import end_of, printed, run, start
from support.spec import proves


@proves("UI-10")
async def test_a_persons_command_is_recorded_as_theirs_and_undone_like_anything_else(tmp_path: Path) -> None:
    files = {"a.txt": "one\n", "sub/b.txt": "two\n", "keep.txt": "kept\n"}
    async with live_server(tmp_path, replies=["Noted.", "Again."], files=files) as client:
        chat, folder = await client.chat(), client.workspace
        done = await run(chat, "echo hello; pwd; echo more >> a.txt; rm -r sub; mkdir new; echo x > new/c.txt; exit 3")
        assert (done["ended"], done["exit_code"], done["by"]) == ("exited", 3, "person:owner")
        assert done["output"] == f"hello\n{folder}\n" and done["files"] == 3 and done["no_undo"] is None
        first, last = await chat.messages()
        assert (first["role"], last["role"]) == ("system", "system")
        assert "ended" not in first["payload"]["person_command"], "it is on record before it runs"
        assert last["content"].startswith("You ran a command of your own (exit code 3): echo hello")

        changes = (await client.ask("GET", f"{chat.path}/changes"))["changes"]
        assert {(one["path"], one["status"], one["changed_by"]) for one in changes} == {
            ("a.txt", "modified", "you"),
            ("sub/b.txt", "deleted", "you"),
            ("new/c.txt", "added", "you"),
        }
        await client.ask("POST", f"{chat.path}/snapshots/{done['snapshot']}/restore", {"only": True})
        left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        assert left == ["a.txt", "keep.txt", "sub", "sub/b.txt"] and (folder / "a.txt").read_text() == "one\n"

        await chat.send("What did I do?")
        asked = str(client.model.requests[0])
        assert "The person ran a command of their own" in asked and "exit code 3" in asked
        assert asked.index("The person ran") < asked.index("What did I do?")
        assert f"hello\\n{folder}" not in asked, "the model is told of the command, not what it printed"
        for format, words in (("markdown", "You (a command of your own)"), ("html", "Output</summary>")):
            async with client.session.get(f"{client.url}{chat.path}/export?format={format}") as answer:
                assert words in await answer.text()
        verified = await client.server.services.server.verify_audit()
        assert all(not one.get("problems") for one in verified)


async def test_a_running_command_shows_its_output_and_is_stopped_with_everything_it_started(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "one\n"}) as client:
        chat = await client.chat()
        command_id = await start(chat, "echo begun; echo now > a.txt; sleep 600")
        await printed(chat, command_id, "begun")
        body = {"command": "true"}
        refused = await client.ask("POST", f"{chat.path}/person-commands", body, expect=409)
        assert "stop it" in refused["error"]["message"]
        await client.ask("POST", f"{chat.path}/person-commands/{command_id}/stop", {})
        done = await end_of(chat, command_id)
        assert (done["ended"], done["exit_code"], done["output"], done["files"]) == ("stopped", None, "begun\n", 1)
        assert (await client.ask("GET", f"{chat.path}/person-commands")) == {"reason": None, "running": []}
        await client.ask("POST", f"{chat.path}/person-commands/{command_id}/stop", {}, expect=404)
        flood = await run(chat, "yes")
        assert flood["ended"] == "too_much_output" and len(flood["output"]) == 1_000_000


async def test_a_command_that_runs_when_the_server_stops_is_ended_and_recorded(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        await start(chat, "sleep 600")
    async with live_server(tmp_path) as client:
        messages = (await client.ask("GET", f"/context/{chat.id}/messages"))["messages"]
        assert messages[-1]["payload"]["person_command"]["ended"] == "stopped"


async def test_a_workspace_that_is_too_large_to_keep_says_that_the_command_cannot_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace_images, "MOST_PATHS", 1)
    async with live_server(tmp_path, files={"a.txt": "one\n", "b.txt": "two\n"}) as client:
        done = await run(await client.chat(), "echo more >> a.txt")
        assert done["snapshot"] is None and "too much to keep" in done["no_undo"]


@pytest.mark.parametrize(
    ("setting", "host", "offered"),
    [("auto", "127.0.0.1", True), ("auto", "0.0.0.0", False), ("on", "0.0.0.0", True), ("off", "127.0.0.1", False)],
)
async def test_commands_are_off_where_other_machines_reach_the_server_unless_switched_on(
    tmp_path: Path, setting: str, host: str, offered: bool
) -> None:
    async with live_server(tmp_path, person_commands=setting, host=host, token="x" * 40) as client:
        chat = await client.chat()
        offer = await client.ask("GET", f"{chat.path}/person-commands")
        assert (offer["reason"] is None) is offered
        expect = 202 if offered else 403
        await client.ask("POST", f"{chat.path}/person-commands", {"command": "true"}, expect=expect)
