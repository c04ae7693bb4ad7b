"""A running server is backed up as the page on operations says, and the copy opens with everything that was durable by then."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves


@proves("OPS-4/6")
async def test_copy_of_a_running_server_opens_with_all_chats_and_their_audit_log(tmp_path: Path) -> None:
    replies = [call("list_directory", path="."), "There is one file.", "Still one."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "a\n"}) as client:
        chat = await client.chat()
        await chat.send("What is there?")
        before = await chat.messages()
        copy = tmp_path / "copy"
        back_up(tmp_path / "data", copy / "data")
        await chat.send("And now?")  # the server went on meanwhile
        assert len(await chat.messages()) > len(before)
    async with live_server(copy, replies=["Restored."]) as client:
        restored = await client.ask("GET", f"/context/{chat.id}/messages?limit=500")
        assert restored["messages"] == before
        audit = await client.ask("POST", "/audit/verify")
        assert audit["full"] and audit["chains"] > 0 and not audit["broken"], audit


def back_up(data: Path, to: Path) -> None:
    """Copies the database first by SQLite's own backup, then the heads of the audit chains."""
    to.mkdir(parents=True, mode=0o700)
    with (
        closing(sqlite3.connect(data / "anycowork.db", timeout=30)) as source,
        closing(sqlite3.connect(to / "anycowork.db")) as target,
    ):
        source.backup(target)
    (to / "anycowork.db").chmod(0o600)
    shutil.copy(data / "audit-heads.jsonl", to)
