"""A database of the release before opens: every message is there as it was, and the chain holds."""

import getpass
import shutil
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from anycowork.domain.audit import START, link
from anycowork.domain.events import EventType, NewEvent, Record
from anycowork.domain.journal import Change, RemoveChat, Reserve
from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.domain.metering import ModelUsage
from anycowork.domain.values import replace
from anycowork.store.sqlite.database import MIGRATIONS, migrate
from support.spec import proves
from support.stored import CLOCK, add_chat, message, new_chat, note, opened, said

OURS = Message(
    "m1", "c1", Speaker.TOOL, "found\n", MessageType.TOOL_RESULT, {"status": "ok"}, "actor", "t1", created_at="then"
)
CAME = {"id": "m2", "role": "assistant", "content": [{"type": "text", "text": "old"}], "mood": {"kept": True}}


@proves("MIG-2")
async def test_messages_of_an_older_database_are_read_out_of_their_records(tmp_path: Path) -> None:
    path = tmp_path / "anycowork.db"
    _with_two_copies(path, tmp_path)
    async with opened(tmp_path) as database:
        old = Message.from_stored("c1", CAME)  # type: ignore[arg-type]  # a dict of Json
        assert await database.store.messages.all("c1") == [OURS, old]
        assert await database.store.messages.find("c1", "m2") == old
        page = await database.store.messages.page("c1", limit=1)
        assert msgspec.json.decode(page.bodies[0]) == {**old.to_json(), "seq": 2} and page.next == "2"
        assert [m.seq for m in await database.store.records.after("c1", 0, 10)] == [1, 2]
        assert await database.store.audit.verify_chat("c1") is None
        await database.journal.write(said("m3"))
        assert [m.id for m in await database.store.messages.all("c1")] == ["m1", "m2", "m3"]
        assert await database.store.audit.verify_chat("c1") is None
        assert await database.store.records.last_position() == 41, "40 was given to a record that is gone"
        raw = await database.writer.run(lambda c: c.execute("SELECT id, raw FROM messages ORDER BY id").fetchall())
        assert raw == [("m1", None), ("m2", msgspec.json.encode(CAME)), ("m3", None)]


@proves("MIG-2")
async def test_snapshots_of_an_older_database_keep_their_order_their_paths_and_their_chat(tmp_path: Path) -> None:
    _with_older_snapshots(tmp_path / "anycowork.db", tmp_path)
    async with opened(tmp_path) as database:
        store = database.store
        found, older = await store.snapshots.page("c1", limit=10)
        assert [(one.id, one.position) for one in found] == [("s1", 3), ("s2", 4)] and older is None
        before = await store.snapshots.find("c1", "s1")
        assert before is not None and [image.path for image in before.images] == ["a.txt"]
        assert await store.snapshots.find("c2", "s1") is None
        assert [change.before.id for change in await store.snapshots.changes_since(before)] == ["s1"]
        await database.journal.write(Change("c1", (replace(before, id="s3", change_id="later", position=0),)))
        later = await store.snapshots.find("c1", "s3")
        assert later is not None and later.position == 5
        assert [change.before.id for change in await store.snapshots.changes_since(before)] == ["s1", "s3"]


@proves("MIG-2")
async def test_what_chats_of_an_older_database_used_is_told_as_before(tmp_path: Path) -> None:
    _with_usage_by_request(tmp_path / "anycowork.db", tmp_path)
    async with opened(tmp_path) as database:
        used = await database.store.usage.of_chat("c1")
        assert used.window == 33, "what the newest settled request filled"
        assert used.models == (
            ModelUsage("b/two", 3, 70, 31, 5, 1, 0, estimated=True),
            ModelUsage("a/one", 1, 0, 10, 1, 0, 2, estimated=False),
        )
        assert await database.store.usage.of_turn("c1", "t2") == (
            ModelUsage("b/two", 1, 0, 30, 3, 1, 0, estimated=True),
        )
        await database.journal.write(Change("c1", (Reserve("u9", "t2", "turn", "b/two", 5),)))
        assert sum(one.reserved for one in (await database.store.usage.of_chat("c1")).models) == 75


async def test_a_position_is_never_given_again_when_the_newest_records_are_removed(tmp_path: Path) -> None:
    shown: list[Record] = []
    async with opened(tmp_path, shown.append) as database:
        await database.journal.write(add_chat("c1", message("m1")))
        await database.journal.write(add_chat("c2", message("m1", chat_id="c2")))
        await database.journal.write(Change("c2", (RemoveChat(),)))
        await database.journal.write(Change("c1", (), (note("next"),)))
        await database.journal.write(add_chat("c3", message("m1", chat_id="c3")))
        await database.journal.write(Change("c3", (RemoveChat(),)))
    async with opened(tmp_path, shown.append) as database:
        await database.journal.write(said("m2"))
    assert [record.position for record in shown] == [1, 2, 3, 4, 5]


async def test_a_removed_chat_can_be_added_again_and_begins_a_chain_of_its_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1", message("m1")))
        await database.journal.write(Change("c1", (RemoveChat(),)))
        await database.journal.write(add_chat("c1", message("m1")))
        assert [m.id for m in await database.store.messages.all("c1")] == ["m1"]
        assert await database.store.audit.verify_chat("c1") is None


def test_an_upgrade_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    path, folder = tmp_path / "anycowork.db", tmp_path / "migrations"
    folder.mkdir()
    (folder / "0001-a.sql").write_text("CREATE TABLE a (x INTEGER);\nINSERT INTO a VALUES (1);")
    (folder / "0002-b.sql").write_text("CREATE TABLE b (x INTEGER);\nINSERT INTO gone VALUES (1);")
    with pytest.raises(sqlite3.Error, match="gone"):
        migrate(path, migrations=folder)
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE name IN ('a', 'b')").fetchall()
    assert found == [], "whoever is broken off begins again from where it was"
    (folder / "0002-b.sql").write_text("CREATE TABLE b (x INTEGER);")
    migrate(path, migrations=folder)
    migrate(path, migrations=folder)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT x FROM a").fetchall() == [(1,)]


def test_a_database_is_made_for_a_user_and_on_a_machine_without_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    monkeypatch.setattr(socket, "getfqdn", nameless)
    migrate(tmp_path / "anycowork.db")
    with closing(sqlite3.connect(tmp_path / "anycowork.db")) as connection:
        assert connection.execute("SELECT count(*) FROM chats").fetchone() == (0,)


def _with_two_copies(path: Path, folder: Path) -> None:
    """As the release before left it: each message in `messages` and in its record, one of them imported."""
    before = folder / "migrations"
    before.mkdir()
    for file in sorted(MIGRATIONS.glob("000[123]-*.sql")):
        shutil.copy(file, before)
    migrate(path, migrations=before)
    chat, chain = new_chat(), START
    connection = sqlite3.connect(path)
    for seq, (told, v, stored) in enumerate(
        [(OURS, 1, None), (Message.from_stored("c1", CAME), 0, msgspec.json.encode(CAME))],  # type: ignore[arg-type]
        start=1,
    ):
        wire = {**told.to_json(), "seq": seq}
        envelope = NewEvent(EventType.MESSAGE, {"message": wire}).envelope(
            seq=seq, record_id=CLOCK.new_id(), chat_id="c1", recorded_at=CLOCK.now()
        )
        body = msgspec.json.encode(envelope, order="sorted")
        chain = link(chain, body)
        connection.execute(
            "INSERT INTO records (chat_id, seq, id, type, body, hash) VALUES ('c1', ?, ?, 'message', ?, ?)",
            (seq, CLOCK.new_id(), body, chain),
        )
        connection.execute(
            "INSERT INTO messages (chat_id, seq, id, message_type, v, body) VALUES ('c1', ?, ?, 'text', ?, ?)",
            (seq, told.id, v, stored or msgspec.json.encode(wire, order="sorted")),
        )
    connection.execute("UPDATE sqlite_sequence SET seq = 40 WHERE name = 'records'")
    connection.execute(
        "INSERT INTO chats (id, title, title_folded, workspace, config, state, next_seq, chain, created_by, created_at, updated_at)"
        " VALUES ('c1', 'A', 'a', '/w', '{}', 'idle', 3, ?, 'person:ann', ?, ?)",
        (chain, chat.created_at, chat.created_at),
    )
    connection.execute("INSERT INTO house (opened_at, closed_at) VALUES ('then', 'later')")
    connection.commit()
    connection.close()


def _with_a_chat_of_then(path: Path, folder: Path, migrations: str) -> sqlite3.Connection:
    """A database that knows only these migrations, with one chat in it."""
    before = folder / "migrations"
    before.mkdir()
    for file in sorted(MIGRATIONS.glob(migrations)):
        shutil.copy(file, before)
    migrate(path, migrations=before)
    connection = sqlite3.connect(path)
    connection.execute(
        "INSERT INTO chats (id, title, title_folded, workspace, config, state, next_seq, created_by, created_at, updated_at)"
        " VALUES ('c1', 'A', 'a', '/w', '{}', 'idle', 3, 'person:ann', 'then', 'then')"
    )
    return connection


def _with_older_snapshots(path: Path, folder: Path) -> None:
    """As the releases before kept them: one change of one file, with both its sides."""
    connection = _with_a_chat_of_then(path, folder, "000[1-7]-*.sql")
    for position, id_, moment in ((3, "s1", "before"), (4, "s2", "after")):
        connection.execute(
            "INSERT INTO snapshots (position, id, chat_id, change_id, workspace, moment, files, additions, deletions, diff_size, created_at)"
            " VALUES (?, ?, 'c1', 'k1', '/w', ?, 1, 0, 0, 0, 'then')",
            (position, id_, moment),
        )
        connection.execute(
            "INSERT INTO snapshot_paths (snapshot_id, path, kind, hash, mode, size, mtime, additions, deletions)"
            " VALUES (?, ?, 'file', 'h', 420, 1, 0, 0, 0)",
            (id_, b"a.txt"),
        )
    connection.execute("INSERT INTO house (opened_at, closed_at) VALUES ('then', 'later')")
    connection.commit()
    connection.close()


def _with_usage_by_request(path: Path, folder: Path) -> None:
    """As the releases before kept it: a row for every request, the third of them broken off."""
    connection = _with_a_chat_of_then(path, folder, "000*.sql")
    connection.executemany(
        "INSERT INTO usage (id, chat_id, turn_id, purpose, model, reserved, prompt, completion, cached, reasoning, estimated, settled)"
        " VALUES (?, 'c1', ?, 'turn', ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            ("u1", "t1", "b/two", 50, 1, 2, 0, 0, 0, 1),
            ("u2", "t1", "a/one", 60, 10, 1, 0, 2, 0, 1),
            ("u3", "t1", "b/two", 70, 0, 0, 0, 0, 0, 0),
            ("u4", "t2", "b/two", 80, 30, 3, 1, 0, 1, 1),
        ],
    )
    connection.execute("INSERT INTO house (opened_at, closed_at) VALUES ('then', 'later')")
    connection.commit()
    connection.close()
