"""What nobody needs any more does not stay: kept contents of deleted chats, old receipts, caches, and the room in the database."""

import asyncio
import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from anycowork.config.settings import Settings
from anycowork.sandbox.layers.stage import Staging
from anycowork.server.disk_usage import Maintenance, disk_shares, human_size
from anycowork.store.sqlite.connection import connect_to_write
from anycowork.store.sqlite.database import compact
from support.live_server import LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

MIB = 1 << 20
SIZES = Path(__file__).parents[2] / "support/sizes.json"  # the test of the page reads it too


def packed(client: LiveServer) -> int:
    folder = client.workspace.parent / "data/snapshots"
    return sum(file.stat().st_size for file in folder.glob("*"))


async def until_packed(client: LiveServer, most: int) -> None:
    async with asyncio.timeout(60):
        while packed(client) > most:
            await asyncio.sleep(0.01)


@proves("SNAP-3")
async def test_deleting_a_chat_gives_back_what_its_undo_needed(tmp_path: Path) -> None:
    large, other = "x" * 400_000, "y" * 200_000
    replies = [call("delete_file", path="a.txt"), "Done.", call("delete_file", path="b.txt"), "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": large, "b.txt": other}) as client:
        chats = []
        for _ in range(2):
            chat = await client.chat()
            await chat.send("delete it")
            await chat.decide()
            chats.append(chat)
        assert packed(client) > 1_200_000  # each content, and the difference that its deletion made
        await client.ask("DELETE", chats[0].path, expect=204)
        await until_packed(client, 500_000)
        snapshots = (await client.ask("GET", f"{chats[1].path}/snapshots"))["snapshots"]
        await client.ask("POST", f"{chats[1].path}/snapshots/{snapshots[0]['id']}/restore", {})
        assert (client.workspace / "b.txt").read_text() == other


@proves("OPS-2")
async def test_a_receipt_is_forgotten_after_a_week_and_no_sooner(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        receipts = client.server.database.idempotency
        headers = {"Idempotency-Key": "one"}
        first = await client.ask("POST", "/context", {}, headers=headers)
        now = datetime.now(UTC)
        for days, known in ((6, True), (8, False)):
            later = Maintenance(
                receipts=receipts,
                snapshots=client.server.maintenance._snapshots,
                staging=client.server.maintenance._staging,
                now=lambda days=days: now + timedelta(days=days),
            )
            await later.round()
            again = await client.ask("POST", "/context", {}, headers=headers)
            assert (again["id"] == first["id"]) is known


@proves("SNAP-3")
async def test_records_of_very_many_paths_count_against_the_quota(tmp_path: Path) -> None:
    """A file that is made has no content to keep, but its path is recorded all the same."""
    making = [call("execute_command", command=f"mkdir {name} && touch {name}/{{1..400}}") for name in "ab"]
    async with live_server(tmp_path, replies=[*making, "Done."], snapshot_quota_bytes=150_000) as client:
        chat = await client.chat()
        await chat.send("make them")
        while (await chat.show())["state"] == "awaiting_approval":
            await chat.decide()
        await client.server.maintenance.round()
        snapshots = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
        assert [snapshot["pruned"] for snapshot in snapshots] == [True, True, False, False]


def database_of(path: Path, *, rows: int) -> sqlite3.Connection:
    connection = connect_to_write(path)
    connection.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, body BLOB)")
    with closing(connection.cursor()) as cursor:
        cursor.executemany("INSERT INTO things (body) VALUES (?)", ((os.urandom(10_000),) for _ in range(rows)))
    return connection


@proves("OPS-2")
@pytest.mark.parametrize(("removed", "is_done"), [(0, False), (100, False), (280, True)])
def test_a_database_shrinks_once_most_of_it_is_empty(tmp_path: Path, removed: int, is_done: bool) -> None:
    path = tmp_path / "it.db"
    with closing(database_of(path, rows=300)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = path.stat().st_size
        connection.execute("DELETE FROM things WHERE id <= ?", (removed,))
        assert compact(connection, path, worth_it=MIB) is is_done
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (300 - removed,)
        assert (path.stat().st_size < before / 4) is is_done


def test_a_database_that_is_being_read_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "it.db"
    with closing(database_of(path, rows=300)) as connection, closing(connect_to_write(path, busy_seconds=0)) as other:
        connection.execute("DELETE FROM things WHERE id <= 280")
        other.execute("BEGIN IMMEDIATE")
        with closing(connect_to_write(path, busy_seconds=0)) as third:
            assert not compact(third, path, worth_it=MIB)
        other.execute("ROLLBACK")
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (20,)


@proves("OPS-2")
async def test_a_person_sees_what_takes_room_and_what_bounds_it(tmp_path: Path) -> None:
    async with live_server(
        tmp_path, replies=[call("execute_command", command="head -c 100000 /dev/urandom > ~/.cache/x")]
    ) as client:
        client.model.replies.append("Done.")
        chat = await client.chat()
        await chat.send("fill it")
        await chat.decide()
        found = {share["name"]: share for share in (await client.ask("GET", "/storage"))["storage"]}
        assert found["chats and records"]["bytes"] > 0 and found["chats and records"]["most"] is None
        cached = found["caches of commands"]
        assert 100_000 <= cached["bytes"] < cached["most"] == 4 * 1024**3
        assert cached["setting"] == "command_cache_bytes"


def test_a_data_folder_that_is_not_there_takes_no_room(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "none")
    assert {share.bytes for share in disk_shares(settings, Staging(tmp_path / "none/staging"))} == {0}
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("bytes_", "said"), json.loads(SIZES.read_text()))
def test_sizes_are_said_as_the_page_says_them(bytes_: int | None, said: str) -> None:
    assert human_size(bytes_) == said
