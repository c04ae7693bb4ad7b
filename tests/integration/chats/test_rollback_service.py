"""Checkpoints through the front door: every changing call is imaged, shown, and can be taken back exactly."""

import os
from pathlib import Path
from typing import Any

from support.live_server import LiveChat, live_server
from support.scripted_model import call
from support.spec import proves
from support.tool_workspace import tree

Json = dict[str, Any]


async def do(chat: LiveChat, *replies: str) -> None:
    """The model makes these calls, one turn each, and the person allows them all."""
    for reply in replies:
        chat.client.model.replies[:] = [reply, "Done."]
        shown = await chat.send("go on")
        while shown["state"] == "awaiting_approval":
            shown = await chat.decide()
        assert shown["state"] == "idle"


async def snapshots(chat: LiveChat) -> list[Json]:
    found: list[Json] = (await chat.client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
    return found


async def restore(chat: LiveChat, snapshot_id: str, *, expect: int = 200, **requested: Any) -> Json:
    return await chat.client.ask("POST", f"{chat.path}/snapshots/{snapshot_id}/restore", requested, expect=expect)


@proves("SNAP-1", "EVT-1/9")
async def test_every_changing_call_has_a_snapshot_before_and_after_with_its_diff(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "one\ntwo\n"}) as client:
        chat = await client.chat()
        await do(chat, call("update_file", path="a.txt", edits=[{"find": "two", "replace": "2\n3"}]))
        before, after = await snapshots(chat)
        assert (before["moment"], after["moment"]) == ("before", "after")
        assert (after["files"], after["additions"], after["deletions"]) == (1, 2, 1)
        assert before["tool_call_id"] == after["tool_call_id"] is not None
        shown = await client.ask("GET", f"{chat.path}/snapshots/{after['id']}/diff")
        assert shown["files"] == [{"path": "a.txt", "status": "modified", "additions": 2, "deletions": 1}]
        assert "-two\n+2\n+3\n" in shown["diff"]
        events = [event for event in await chat.events() if event["type"] == "snapshot"]
        assert [event["snapshot"]["moment"] for event in events] == ["before", "after"]
        assert [event["snapshot"]["id"] for event in events] == [before["id"], after["id"]]


@proves("SNAP-1")
async def test_reading_takes_no_snapshot(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "one\n"}) as client:
        chat = await client.chat()
        await do(chat, call("read_file", path="a.txt"))
        assert await snapshots(chat) == []


@proves("SNAP-2/1", "SNAP-2/2", "SNAP-2/3")
async def test_rollback_restores_bytes_modes_and_deletions(tmp_path: Path) -> None:
    files = {"m.txt": "m", "a.txt": "one\r\n", "gone.sh": "#!/bin/sh\n", "old/deep/b.bin": "\x00\x01", "old/c.txt": "c"}
    async with live_server(tmp_path, files=files) as client:
        (client.workspace / "gone.sh").chmod(0o755)
        (client.workspace / "old" / "empty").mkdir()
        (client.workspace / "old" / "link").symlink_to("c.txt")
        was, modes = tree(client.workspace), modes_in(client.workspace)
        chat = await client.chat()
        await do(
            chat,
            call("update_file", path="a.txt", edits=[{"find": "one", "replace": "1"}]),
            call("delete_file", path="gone.sh"),
            call("execute_command", command="chmod 700 m.txt"),
            call("move_file", path="old", to="new/place"),
            call("create_file", path="brand/new/file.txt", content="x"),
            call("delete_file", path="new/place/c.txt"),
        )
        assert tree(client.workspace) != was
        first = (await snapshots(chat))[0]
        answer = await restore(chat, first["id"])
        assert tree(client.workspace) == was and modes_in(client.workspace) == modes
        assert answer["conflicts"] == [] and "brand/new/file.txt" in answer["deleted"]
        assert {"a.txt", "gone.sh", "old/link"} <= set(answer["restored"])


@proves("SNAP-2/5")
async def test_a_restore_can_be_undone_and_redone(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "old\n"}) as client:
        chat = await client.chat()
        await do(
            chat,
            call("update_file", path="a.txt", edits=[{"find": "old", "replace": "new"}]),
            call("create_file", path="b/c.txt", content="made"),
        )
        made = tree(client.workspace)
        first = (await snapshots(chat))[0]
        undo = (await restore(chat, first["id"]))["undo_snapshot"]
        assert tree(client.workspace) == {"a.txt": b"old\n"}
        undo_of_undo = (await restore(chat, undo))["undo_snapshot"]
        assert tree(client.workspace) == made
        await restore(chat, undo_of_undo)
        assert tree(client.workspace) == {"a.txt": b"old\n"}


@proves("SNAP-2/4")
async def test_a_dry_run_shows_what_would_happen_and_changes_nothing(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "old\n"}) as client:
        chat = await client.chat()
        await do(
            chat,
            call("update_file", path="a.txt", edits=[{"find": "old", "replace": "new"}]),
            call("create_file", path="b.txt", content="made"),
        )
        now = tree(client.workspace)
        listed = await snapshots(chat)
        preview = await restore(chat, listed[0]["id"], dry_run=True)
        assert (preview["restored"], preview["deleted"]) == (["a.txt"], ["b.txt"])
        assert "-new\n+old\n" in preview["diff"] and preview["undo_snapshot"] is None
        assert tree(client.workspace) == now and await snapshots(chat) == listed


@proves("SNAP-2", "SNAP-2/4", "SNAP-5/3")
async def test_what_the_user_changed_meanwhile_is_a_conflict_until_named(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "old\n", "b.txt": "old\n"}) as client:
        chat = await client.chat()
        await do(
            chat,
            call("update_file", path="a.txt", edits=[{"find": "old", "replace": "new"}]),
            call("update_file", path="b.txt", edits=[{"find": "old", "replace": "new"}]),
        )
        (client.workspace / "a.txt").write_text("the user's own\n")
        first = (await snapshots(chat))[0]
        assert (await restore(chat, first["id"], dry_run=True))["conflicts"] == ["a.txt"]
        refused = await restore(chat, first["id"], expect=409)
        assert refused["conflicts"] == ["a.txt"] and refused["error"]["code"] == "restore_conflict"
        assert (await restore(chat, first["id"], overwrite=["b.txt"], expect=409))["conflicts"] == ["a.txt"]
        assert tree(client.workspace) == {"a.txt": b"the user's own\n", "b.txt": b"new\n"}
        await restore(chat, first["id"], paths=["b.txt"])
        assert tree(client.workspace) == {"a.txt": b"the user's own\n", "b.txt": b"old\n"}
        undo = (await restore(chat, first["id"], overwrite=["a.txt"]))["undo_snapshot"]
        assert tree(client.workspace) == {"a.txt": b"old\n", "b.txt": b"old\n"}
        await restore(chat, undo)
        assert tree(client.workspace) == {"a.txt": b"the user's own\n", "b.txt": b"old\n"}, "nothing was lost for good"


@proves("SNAP-5/3")
async def test_what_the_user_did_between_two_changes_is_shown_before_it_is_lost(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await client.chat()
        await do(chat, call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]))
        (client.workspace / "a.txt").write_text("2\nmine\n")
        await do(chat, call("update_file", path="a.txt", edits=[{"find": "2", "replace": "3"}]))
        listed = await snapshots(chat)
        assert (await restore(chat, listed[0]["id"], expect=409))["conflicts"] == ["a.txt"]
        await restore(chat, listed[2]["id"])
        assert tree(client.workspace) == {"a.txt": b"2\nmine\n"}


@proves("SNAP-5/1")
async def test_one_call_is_undone_and_later_independent_work_stays(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n", "b.txt": "1\n"}) as client:
        chat = await client.chat()
        await do(
            chat,
            call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]),
            call("update_file", path="b.txt", edits=[{"find": "1", "replace": "2"}]),
        )
        await restore(chat, (await snapshots(chat))[0]["id"], only=True)
        assert tree(client.workspace) == {"a.txt": b"1\n", "b.txt": b"2\n"}


@proves("SNAP-2")
async def test_restore_names_what_another_chat_did_since_and_takes_it_back_when_told(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat, other = await client.chat(), await client.chat()
        await do(chat, call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]))
        await do(other, call("create_file", path="b.txt", content="other"))
        after = (await snapshots(chat))[1]
        refused = await restore(chat, after["id"], expect=409)
        assert refused["error"]["code"] == "restore_conflict" and "b.txt" in refused["error"]["message"]
        await restore(chat, after["id"], overwrite=["b.txt"])
        assert tree(client.workspace) == {"a.txt": b"2\n"}
        theirs = (await snapshots(other))[0]
        assert (await restore(chat, theirs["id"], expect=404))["error"]["code"] == "snapshot_not_found"


@proves("SNAP-2", "SNAP-2/4")
async def test_a_chat_at_work_is_not_rolled_back(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await client.chat()
        await do(chat, call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]))
        client.model.replies[:] = [call("delete_file", path="a.txt")]
        await chat.send("delete it")
        refused = await restore(chat, (await snapshots(chat))[0]["id"], expect=409)
        assert refused["error"]["code"] == "turn_running"
        assert (await restore(chat, (await snapshots(chat))[0]["id"], dry_run=True))["restored"] == ["a.txt"]
        assert tree(client.workspace) == {"a.txt": b"2\n"}


@proves("SNAP-2")
async def test_a_restore_is_written_into_the_chat_with_who_wanted_it(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await client.chat()
        await do(chat, call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]))
        answer = await restore(chat, (await snapshots(chat))[0]["id"])
        last = await chat.last()
        assert last["role"] == "system" and "1 file restored" in last["content"]
        assert last["payload"]["restore"]["undo_snapshot"] == answer["undo_snapshot"]
        events = [event for event in await chat.events(until="snapshot") if event["type"] == "snapshot"]
        assert events[-1]["principal"].startswith("person:") and events[-1]["snapshot"]["tool_call_id"] is None
        assert await client.server.database.store.audit.verify_chat(chat.id) is None


@proves("SNAP-2/6")
async def test_git_is_never_touched_by_a_restore(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n", ".git/config": "[core]\n"}) as client:
        chat = await client.chat()
        await do(chat, call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]))
        (client.workspace / ".git" / "config").write_text("[user]\n")
        (client.workspace / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        await restore(chat, (await snapshots(chat))[0]["id"])
        assert (client.workspace / ".git" / "config").read_text() == "[user]\n"
        assert (client.workspace / ".git" / "HEAD").exists() and (client.workspace / "a.txt").read_text() == "1\n"


async def test_a_folder_that_the_user_filled_meanwhile_stays_with_what_is_in_it(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        await do(chat, call("create_file", path="new/a.txt", content="a"))
        (client.workspace / "new" / "mine.txt").write_text("mine")
        answer = await restore(chat, (await snapshots(chat))[0]["id"])
        assert answer["kept"] == ["new"] and answer["deleted"] == ["new/a.txt"]
        assert tree(client.workspace) == {"new": "folder", "new/mine.txt": b"mine"}


async def test_an_unknown_snapshot_and_a_path_that_was_never_touched_are_said(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await client.chat()
        await do(chat, call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]))
        unknown = await restore(chat, "nowhere", expect=404)
        assert unknown["error"]["code"] == "snapshot_not_found"
        first = (await snapshots(chat))[0]["id"]
        refused = await restore(chat, first, paths=["z.txt"], expect=422)
        assert refused["error"]["param"] == "paths" and tree(client.workspace) == {"a.txt": b"2\n"}


async def test_a_workspace_that_vanished_is_said_and_nothing_is_made_in_its_place(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await client.chat()
        await do(chat, call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]))
        first = (await snapshots(chat))[0]["id"]
        client.workspace.rename(tmp_path / "elsewhere")
        assert (await restore(chat, first, expect=422))["error"]["code"] == "bad_workspace"
        assert not client.workspace.exists() and (tmp_path / "elsewhere" / "a.txt").read_text() == "2\n"


@proves("SNAP-3")
async def test_the_oldest_snapshots_make_room_for_new_ones(tmp_path: Path) -> None:
    files = {f"{n}.txt": f"{n}" * 30_000 for n in range(5)}
    async with live_server(tmp_path, files=files, snapshot_quota_bytes=100_000) as client:
        chat = await client.chat()
        await do(chat, *(call("delete_file", path=f"{n}.txt") for n in range(5)))
        listed = await snapshots(chat)
        assert [each["pruned"] for each in listed].count(True) >= 4
        gone = await restore(chat, listed[0]["id"], expect=410)
        assert gone["error"]["code"] == "snapshot_pruned"
        kept = sum(file.stat().st_size for file in (tmp_path / "data" / "snapshots").iterdir())
        assert kept <= 100_000
        newest = [each for each in listed if each["moment"] == "before" and not each["pruned"]]
        await restore(chat, newest[0]["id"])
        assert (client.workspace / "4.txt").read_text() == files["4.txt"]


@proves("SNAP-3")
async def test_a_change_too_large_to_be_undone_is_not_made(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"big.txt": "x" * 50_000}, snapshot_quota_bytes=10_000) as client:
        chat = await client.chat()
        client.model.replies[:] = [call("delete_file", path="big.txt"), call("read_file", path="big.txt"), "Not done."]
        await chat.send("delete it")
        await chat.decide()
        result = (await chat.results())[0]
        assert result["error"]["code"] == "not_kept" and "snapshot_quota_bytes" in result["error"]["message"]
        assert (client.workspace / "big.txt").exists() and await snapshots(chat) == []


async def test_deleting_a_chat_takes_its_snapshots_along(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await client.chat()
        await do(chat, call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]))
        await client.ask("DELETE", chat.path)
        assert await client.server.database.retention.needed_hashes() == set()


def modes_in(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): os.lstat(path).st_mode for path in folder.rglob("*")}
