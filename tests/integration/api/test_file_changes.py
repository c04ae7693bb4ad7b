"""A person edits files of a chat's workspace, sees what changed since the chat began, and takes it back."""

import hashlib
from pathlib import Path

from support.live_server import LiveChat, live_server
from support.scripted_model import call
from support.spec import proves

LONG = "".join(f"line {number}\n" for number in range(1, 31))


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def save(chat: LiveChat, path: str, text: str, before: str | None, expect: int = 200) -> dict:
    body = {"path": path, "text": text, "sha256": None if before is None else sha(before)}
    return await chat.client.ask("PUT", f"{chat.path}/file", body, expect=expect)


async def change(chat: LiveChat, path: str, **more: str) -> dict:
    query = "".join(f"&{key}={value}" for key, value in more.items())
    return await chat.client.ask("GET", f"{chat.path}/changes/file?path={path}{query}")


async def revert(chat: LiveChat, path: str, expect: int = 200, **more: object) -> dict:
    return await chat.client.ask("POST", f"{chat.path}/changes/revert", {"path": path, **more}, expect=expect)


@proves("UI-10")
async def test_a_saved_text_is_the_persons_recorded_change_and_can_be_taken_back(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Nothing."], files={"a.txt": "one\n", "dos.txt": "a\r\nb\r\n"}) as client:
        chat, folder = await client.chat(), client.workspace
        saved = await save(chat, "a.txt", "okapi\n", "one\n")
        assert (folder / "a.txt").read_text() == "okapi\n" and saved["sha256"] == sha("okapi\n")
        conflict = await save(chat, "a.txt", "three\n", "one\n", expect=409)
        assert conflict["error"]["code"] == "content_changed" and (folder / "a.txt").read_text() == "okapi\n"
        await save(chat, "dos.txt", "a\nb\nc\n", "a\r\nb\r\n")
        assert (folder / "dos.txt").read_bytes() == b"a\r\nb\r\nc\r\n"
        await save(chat, "new/b.txt", "new\n", None)
        await save(chat, "new/b.txt", "again\n", None, expect=409)
        await save(chat, "none.txt", "x", "y", expect=404)
        await save(chat, ".git/config", "x", None, expect=403)
        assert (await save(chat, "new/b.txt", "new\n", "new\n"))["snapshot"] is None
        words = [(one["role"], one["content"]) for one in await chat.messages()]
        assert words[0] == ("system", "You edited a.txt (+1 −1).") and len(words) == 3
        snapshots = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
        assert all(one["by_person"] for one in snapshots)
        await client.ask("POST", f"{chat.path}/snapshots/{saved['snapshot']}/restore", {"only": True})
        assert (folder / "a.txt").read_text() == "one\n"
        await chat.send("What did I say?")
        assert len(client.model.requests) == 1 and "okapi" not in str(client.model.requests)


@proves("UI-10")
async def test_changes_are_one_net_difference_per_file_and_go_back_by_hunk(tmp_path: Path) -> None:
    first = [{"find": "line 2\n", "replace": "LINE 2\n"}]
    second = [{"find": "line 28\n", "replace": "LINE 28\nmore\n"}]
    replies = [
        call("read_file", path="long.txt"),
        call("update_file", path="long.txt", edits=first),
        call("update_file", path="long.txt", edits=second),
        call("create_file", path="new.txt", content="new\n"),
        call("create_file", path="gone.txt", content="gone\n"),
        call("delete_file", path="gone.txt"),
        "Done.",
    ]
    async with live_server(tmp_path, replies=replies, files={"long.txt": LONG}) as client:
        chat, folder = await client.chat(), client.workspace
        rule = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", body=rule, expect=201)
        await chat.send("Change it twice.")
        listed = (await client.ask("GET", f"{chat.path}/changes"))["changes"]
        assert [
            (one["path"], one["status"], one["additions"], one["deletions"], one["changed_by"]) for one in listed
        ] == [
            ("long.txt", "modified", 3, 2, "agent"),
            ("new.txt", "added", 1, 0, "agent"),
        ]
        shown = await change(chat, "long.txt")
        assert shown["diff"].count("@@ -") == 2 and "+LINE 2\n" in shown["diff"]
        await revert(chat, "long.txt", 422, state=shown["state"], hunks=[2])
        await revert(chat, "long.txt", state=shown["state"], hunks=[0])
        assert (folder / "long.txt").read_text() == LONG.replace("line 28\n", "LINE 28\nmore\n")
        await revert(chat, "long.txt", 409, state=shown["state"], hunks=[0])
        left = await change(chat, "long.txt")
        assert left["changed_by"] == "both"
        back = await revert(chat, "long.txt", state=left["state"])
        assert (folder / "long.txt").read_text() == LONG
        await client.ask("POST", f"{chat.path}/snapshots/{back['snapshot']}/restore", {"only": True})
        assert "LINE 28" in (folder / "long.txt").read_text()
        added = await change(chat, "new.txt")
        await revert(chat, "new.txt", state=added["state"])
        assert not (folder / "new.txt").exists()
        await client.ask("GET", f"{chat.path}/changes/file?path=new.txt", expect=404)


@proves("UI-10")
async def test_the_difference_of_a_secret_is_shown_only_when_asked_for(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[], files={".env": "KEY=old\n"}) as client:
        chat = await client.chat()
        await save(chat, ".env", "KEY=new\n", "KEY=old\n")
        assert (await change(chat, ".env"))["diff"] is None
        assert "+KEY=new" in (await change(chat, ".env", reveal="true"))["diff"]
        assert "KEY=" not in str(await chat.messages())
