"""Old chats load: with defaults where fields are missing, with everything unknown kept, and the good ones though others are bad."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.chats import ChatConfig
from anycowork.domain.journal import Change, SetChat
from anycowork.domain.messages import Message, MessageType
from anycowork.store.sql.chat_file import ImportReport
from anycowork.store.sql.database import Database
from anycowork.store.sql.importer import Importer
from support.spec import proves
from support.stored import CLOCK, body, opened, said

OLD = {
    "id": "old-1",
    "title": "From before",
    "agent_mode": "plan",
    "colour": "mauve",
    "config": {"model_id": "gpt", "temperature": 0.5},
    "messages": [
        {
            "id": "a",
            "role": "user",
            "content": [{"type": "text", "text": "parts "}, {"type": "text", "text": "joined"}],
            "stars": 3,
        },
        {"role": "assistant", "content": "no id, no type", "message_type": "normal"},
        {"id": "b", "role": "assistant", "content": "odd", "message_type": "hologram", "payload": [1]},
    ],
}


async def load(database: Database, source: str | bytes) -> ImportReport:
    importer = Importer(database.writer, CLOCK, workspace="/w", principal="person:ann")
    return await importer.load(source.encode() if isinstance(source, str) else source)


@proves("MIG-1/3", "MIG-1/5")
async def test_an_old_chat_opens_with_defaults_shown_at_the_first_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        report = await load(database, json.dumps(OLD))
        assert (report.chats, report.messages, report.problems) == (1, 3, [])
        chat = await database.store.chats.find("old-1")
        assert chat is not None and (chat.role, chat.workspace, chat.last_seq) == ("planner", "/w", 3)
        messages = [msgspec.json.decode(b) for b in (await database.store.messages.page("old-1", limit=10)).bodies]
        assert [m["content"] for m in messages] == ["parts joined", "no id, no type", "odd"]
        assert [m["message_type"] for m in messages] == ["text", "text", "text"]
        assert messages[1]["id"] and messages[0]["agent_role"] is None and [m["seq"] for m in messages] == [1, 2, 3]
        assert [m.message_type for m in await database.store.messages.all("old-1")] == [MessageType.TEXT] * 3


@proves("MIG-1/1", "MIG-1/2")
@pytest.mark.parametrize(
    ("old", "role"),
    [
        ({}, "actor"),
        ({"config": {"agent_mode": "plan"}}, "planner"),
        ({"agent_mode": "act"}, "actor"),
        ({"config": {"mode": "plan"}}, "planner"),
        ({"config": {"agent_role": "reviewer"}, "agent_mode": "act"}, "reviewer"),
        ({"config": {"agent_role": "gone-role"}}, "gone-role"),
    ],
)
async def test_a_stored_chat_has_the_role_it_names_and_without_one_is_an_actors(
    tmp_path: Path, old: dict[str, object], role: str
) -> None:
    async with opened(tmp_path) as database:
        await load(database, json.dumps({"id": "x", **old}))
        chat = await database.store.chats.find("x")
        assert chat is not None and chat.role == role


@proves("MIG-1/6", "MIG-2")
async def test_defaults_are_saved_on_the_next_write_and_unknown_fields_survive_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await load(database, json.dumps({**OLD, "id": "x"}))
        await database.writer.run(
            lambda connection: (
                connection.execute("UPDATE chats SET config = ?", ('{"agent_mode": "plan", "t": 1}',)).rowcount
            )
        )
        await database.journal.write(Change("x", (SetChat(title="Renamed"),)))
        await database.journal.write(Change("x", (SetChat(config=ChatConfig("actor")),)))
        stored = await database.writer.run(
            lambda connection: connection.execute("SELECT config FROM chats").fetchone()[0]
        )
        config = json.loads(stored)
        assert (config["agent_role"], config["mode"], config["t"]) == ("actor", "act", 1)
        chat = await database.store.chats.find("x")
        assert chat is not None and chat.extra["colour"] == "mauve" and chat.title == "Renamed"


@proves("MIG-2")
@given(
    st.dictionaries(
        st.text(min_size=1).filter(lambda key: key not in ("id", "role", "seq", "chat_id")),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=5
        ),
    )
)
def test_whatever_a_stored_message_holds_survives_being_read_and_written(fields: dict[str, object]) -> None:
    stored = json.loads(json.dumps({"id": "m", "role": "user", **fields}, ensure_ascii=False))
    once = Message.from_stored("c", stored)
    assert Message.from_stored("c", once.to_json()) == once
    known = set(Message("", "", once.role, "").to_json())
    assert {key: value for key, value in once.to_json().items() if key not in known} == {
        key: value for key, value in stored.items() if key not in known
    }


@proves("MIG-1")
async def test_times_of_any_kind_are_shown_as_ours_and_a_missing_one_is_the_chats(tmp_path: Path) -> None:
    told = [
        {"role": "user", "content": "a", "created_at": time} for time in (1_700_000_000, "2026-01-24 10:00:00", None)
    ]
    old = {"session_id": "s-1", "created_at": 1_600_000_000, "messages": told}
    async with opened(tmp_path) as database:
        await load(database, json.dumps(old))
        chat = await database.store.chats.find("s-1")
        assert chat is not None and chat.created_at == "2020-09-13T12:26:40.000000Z"
        messages = [msgspec.json.decode(b) for b in (await database.store.messages.page("s-1", limit=10)).bodies]
        assert [m["created_at"] for m in messages] == [
            "2023-11-14T22:13:20.000000Z",
            "2026-01-24T10:00:00.000000Z",
            chat.created_at,
        ]


@proves("MIG-2")
async def test_unknown_fields_of_imported_messages_are_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await load(database, json.dumps(OLD))
        page = await database.store.messages.page("old-1", limit=10)
        assert msgspec.json.decode(page.bodies[0])["stars"] == 3
        records = await database.store.records.after("old-1", 0, 10)
        assert body(records[0])["message"]["stars"] == 3  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    "source",
    [
        json.dumps([OLD, {"id": "two"}]),
        json.dumps({"contexts": [OLD, {"id": "two"}], "exported_at": "x"}),
        json.dumps({"chats": [OLD, {"id": "two"}]}),
        "\ufeff" + json.dumps(OLD) + "\n\n" + json.dumps({"id": "two"}) + "\n",
    ],
)
async def test_every_shape_of_file_is_read(tmp_path: Path, source: str) -> None:
    async with opened(tmp_path) as database:
        report = await load(database, source)
        assert (report.chats, report.messages, report.problems) == (2, 3, [])
        assert await database.store.chats.find("old-1") and await database.store.chats.find("two")


async def test_bad_items_are_named_and_the_good_ones_load(tmp_path: Path) -> None:
    lines = [
        json.dumps(OLD),
        "{broken",
        "7",
        json.dumps({"id": "two", "messages": ["?", {"content": "ok"}]}),
        '{"messages": 3}',
    ]
    async with opened(tmp_path) as database:
        report = await load(database, "\n".join(lines))
        assert (report.chats, report.messages) == (3, 4)
        assert [p.where for p in report.problems] == ["line 2", "line 3", "line 4, message 1", "line 5"]
        assert (await load(database, "true")).problems[0].where == "file"


async def test_the_same_file_twice_changes_nothing_and_a_doubled_id_gets_a_new_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await load(database, json.dumps(OLD))
        again = await load(database, json.dumps(OLD))
        assert (again.chats, again.already_there) == (0, 1)
        other = {**OLD, "title": "Other"}
        assert (await load(database, json.dumps(other))).chats == 1
        assert (await load(database, json.dumps(other))).already_there == 1
        chats, _ = await database.store.chats.page(limit=10)
        assert len(chats) == 2 and len({chat.id for chat in chats}) == 2


async def test_ids_that_cannot_stand_in_an_address_or_are_doubled_are_replaced(tmp_path: Path) -> None:
    messages = [
        {"id": "m", "content": "1"},
        {"id": "m", "content": "2"},
        {"id": "m", "content": "1"},
        {"id": 7, "content": "3"},
    ]
    async with opened(tmp_path) as database:
        report = await load(database, json.dumps({"id": "../up", "messages": messages}))
        chats, _ = await database.store.chats.page(limit=10)
        history = await database.store.messages.all(chats[0].id)
        assert "/" not in chats[0].id and report.messages == 3
        assert [m.content for m in history] == ["1", "2", "3"] and len({m.id for m in history}) == 3


async def test_an_imported_chat_goes_on_where_it_ended(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await load(database, json.dumps(OLD))
        await database.journal.write(said("new", chat_id="old-1"))
        assert [r.seq for r in await database.store.records.after("old-1", 0, 10)] == [1, 2, 3, 4]
        assert await database.store.audit.verify_chat("old-1") is None


async def test_a_chat_that_is_nested_too_deep_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    deep = '{"id": "deep", "messages": ' + "[" * 500 + "]" * 500 + "}"
    async with opened(tmp_path) as database:
        report = await load(database, f"[{deep}, {json.dumps(OLD)}]")
        assert report.chats == 1 and [problem.where for problem in report.problems] == ["item 1"]
        assert "nested deeper" in report.problems[0].reason
        whole = await load(database, "[" * 100_000)
        assert whole.chats == 0 and "nested deeper" in whole.problems[0].reason
