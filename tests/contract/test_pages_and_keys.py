"""Any store: pages for clients, client keys, trusted files, idempotent requests, image bytes."""

from dataclasses import replace

import msgspec
import pytest

from anycowork.domain.chats import ChatState
from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.events import EventType
from anycowork.domain.journal import Change, SetChat
from anycowork.domain.messages import Speaker
from anycowork.domain.ports import MessagePage
from anycowork.domain.principals import Principal, PrincipalKind
from anycowork.store.sql.database import Database
from support.store_factories import OpenStore
from support.stored import add_chat, message, note, said


def ids(page: MessagePage) -> list[str]:
    return [msgspec.json.decode(body)["id"] for body in page.bodies]


async def with_messages(database: Database, count: int) -> None:
    await database.journal.write(add_chat("c1", *(message(f"m{n}") for n in range(count))))


async def test_without_a_cursor_the_newest_messages_come_ascending(open_store: OpenStore) -> None:
    async with open_store() as database:
        await with_messages(database, 10)
        page = await database.store.messages.page("c1", limit=3)
        assert ids(page) == ["m7", "m8", "m9"] and page.last_seq == 10
        older = await database.store.messages.page("c1", before=page.next, limit=100)
        assert ids(older) == [f"m{n}" for n in range(7)] and older.next is None


async def test_pages_after_a_message_lead_to_the_end(open_store: OpenStore) -> None:
    async with open_store() as database:
        await with_messages(database, 10)
        first = await database.store.messages.page("c1", after="m1", limit=5)
        assert ids(first) == ["m2", "m3", "m4", "m5", "m6"]
        rest = await database.store.messages.page("c1", after=first.next, limit=5)
        assert ids(rest) == ["m7", "m8", "m9"] and rest.next is None
        between = await database.store.messages.page("c1", after="m1", before="m5", limit=5)
        assert ids(between) == ["m2", "m3", "m4"]


async def test_a_cursor_that_is_none_is_named(open_store: OpenStore) -> None:
    async with open_store() as database:
        await with_messages(database, 1)
        with pytest.raises(Invalid, match="neither a message") as caught:
            await database.store.messages.page("c1", before="nonsense", limit=5)
        assert caught.value.param == "before"
        with pytest.raises(Invalid, match="not a cursor"):
            await database.store.chats.page(limit=5, cursor="nonsense")


async def test_chats_come_newest_updated_first_page_by_page(open_store: OpenStore) -> None:
    async with open_store() as database:
        assert await database.store.chats.page(limit=3) == ([], None)
        for n in range(5):
            await database.journal.write(add_chat(f"c{n}"))
        await database.journal.write(said("m", chat_id="c1"))
        first, cursor = await database.store.chats.page(limit=3)
        rest, end = await database.store.chats.page(limit=3, cursor=cursor)
        assert [chat.id for chat in first + rest] == ["c1", "c4", "c3", "c2", "c0"] and end is None
        assert [chat.last_seq for chat in first + rest] == [2, 0, 0, 0, 0]


async def test_a_chat_moves_up_with_every_word_of_a_person_and_by_the_second_while_its_agent_works(
    open_store: OpenStore,
) -> None:
    async def updated_at() -> str:
        chat = await database.store.chats.find("c1")
        assert chat is not None
        return chat.updated_at

    step = replace(message("s1"), role=Speaker.TOOL)
    async with open_store() as database:
        await database.journal.write(add_chat())
        added = await updated_at()
        await database.journal.write(Change("c1", (step,)))
        assert await updated_at() == added or (await updated_at())[:19] > added[:19]
        await database.journal.write(said("m1"))
        said_at = await updated_at()
        assert said_at > added
        await database.journal.write(Change("c1", (SetChat(state=ChatState.RUNNING),)))
        assert await updated_at() > said_at


@pytest.mark.parametrize(
    ("q", "found"), [("ÄRGER", ["c0"]), ("100%", ["c1"]), ("%", ["c1"]), ("_", ["c2"]), ("\\", ["c3"]), ("nothing", [])]
)
async def test_titles_are_searched_whatever_the_case_and_without_wildcards(
    open_store: OpenStore, q: str, found: list[str]
) -> None:
    async with open_store() as database:
        for n, title in enumerate(["Viel ärger hier", "100% done", "snake_case", "back\\slash"]):
            await database.journal.write(add_chat(f"c{n}", title=title))
        chats, _ = await database.store.chats.page(limit=10, q=q)
        assert [chat.id for chat in chats] == found


async def test_chats_are_found_by_their_states_whatever_is_newer(open_store: OpenStore) -> None:
    waiting = {ChatState.AWAITING_APPROVAL, ChatState.AWAITING_ANSWER}
    async with open_store() as database:
        for n, state in enumerate([*ChatState, *[ChatState.IDLE] * 5, ChatState.AWAITING_ANSWER]):
            await database.journal.write(add_chat(f"c{n}", SetChat(state)))
        first, cursor = await database.store.chats.page(limit=2, states=waiting)
        rest, end = await database.store.chats.page(limit=2, states=waiting, cursor=cursor)
        assert ([chat.id for chat in first + rest], end) == (["c9", "c3", "c2"], None)
        assert {chat.state for chat in first + rest} == waiting


async def test_the_sidebar_sees_its_own_kinds_of_every_chat_by_position(open_store: OpenStore) -> None:
    async with open_store() as database:
        for chat_id in ("c1", "c2"):
            await database.journal.write(add_chat(chat_id, message("m", chat_id=chat_id)))
            await database.journal.write(Change(chat_id, (), (note("x"), note("y", EventType.USAGE))))
        records, _ = await database.store.records.sidebar_page(0, 10)
        assert [(r.chat_id, r.type) for r in records] == [("c1", EventType.ERROR), ("c2", EventType.ERROR)]
        assert await database.store.records.sidebar_page(records[0].position, 10) == (records[1:], False)
        assert await database.store.records.last_position() > records[1].position


async def test_no_chats_have_no_newest_turns(open_store: OpenStore) -> None:
    async with open_store() as database:
        assert await database.store.turns.newest_of([]) == {}


async def test_a_key_is_found_until_it_is_revoked(open_store: OpenStore) -> None:
    key = Principal("k1", PrincipalKind.CLIENT_KEY, "Editor")
    async with open_store() as database:
        await database.principals.add(key, key_hash="h")
        with pytest.raises(Conflict):
            await database.principals.add(Principal("k2", PrincipalKind.CLIENT_KEY, "Other"), key_hash="h")
        assert await database.principals.find("h") == key
        assert await database.principals.revoke("k1") and not await database.principals.revoke("k1")
        assert await database.principals.find("h") is None
        holders = await database.principals.all()
        assert [(h.principal, h.revoked_at is not None) for h in holders] == [(key, True)]


async def test_trust_is_kept_per_root_and_file(open_store: OpenStore) -> None:
    async with open_store() as database:
        await database.roots.register("/w", registered_by="person:ann")
        await database.roots.register("/w", registered_by="person:bob")
        await database.roots.set_trust("/w", ".mcp.json", "h1")
        await database.roots.set_trust("/w", "AGENTS.md", "h2")
        await database.roots.set_trust("/w", ".mcp.json", None)
        roots = await database.roots.all()
        assert [(r.root, r.registered_by, r.trust) for r in roots] == [("/w", "person:ann", {"AGENTS.md": "h2"})]
        with pytest.raises(NotFound):
            await database.roots.set_trust("/elsewhere", "a", "h")
        await database.roots.remove("/w")
        assert await database.roots.all() == []


async def test_a_blob_is_found_by_its_hash(open_store: OpenStore) -> None:
    async with open_store() as database:
        hash_ = await database.blobs.put(b"content")
        assert await database.blobs.put(b"content") == hash_
        assert await database.blobs.get(hash_) == b"content" and await database.blobs.get("0") is None
