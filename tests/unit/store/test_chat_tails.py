"""What is kept of the chats that were read: the same messages as in the database, within a bound."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from anycowork.domain.journal import Change, RemoveChat
from anycowork.domain.messages import Message, MessageType
from anycowork.domain.values import replace
from anycowork.store.sql import message_history, messages
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.database import Database
from anycowork.store.sql.held_rows import HeldRows
from anycowork.store.sql.message_history import ChatTail, ChatTails, MessageTable
from support.stored import add_chat, message, opened

MOST, MOST_OF_A_CHAT = 60_000, 25_000
CHATS = ("c1", "c2")
_added = st.lists(st.sampled_from(["text", "call", "result", "task", "long"]), min_size=1, max_size=30)
_chats = st.sampled_from(CHATS)
_read = st.tuples(st.just("read"), _chats, st.tuples(st.integers(0, 9), st.sampled_from([0, 2, 5, 12, 30])))
_acts = st.one_of(_read, _read, st.tuples(st.just("add"), _chats, _added), st.tuples(st.just("anew"), _chats, _added))


@settings(max_examples=60, deadline=None)
@given(st.lists(_acts, min_size=5, max_size=15))
@example([("read", "c1", (0, 5)), ("read", "c1", (0, 0))])
@example([("add", "c1", ["long"] * 9), ("read", "c1", (0, 0)), ("read", "c1", (0, 0))])
def test_whatever_happened_to_a_chat_it_is_read_as_by_a_server_that_knows_nothing(
    acts: list[tuple[str, str, object]],
) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(message_history, "MOST_BYTES", MOST)
        patch.setattr(message_history, "MOST_BYTES_OF_A_CHAT", MOST_OF_A_CHAT)
        patch.setattr(message_history, "MOST_RECENT", 50)
        patch.setattr(message_history, "_AT_A_TIME", 4)
        patch.setattr(message_history, "_BACK_AT_A_TIME", 5)
        patch.setattr(message_history, "_LENGTHS_AT_A_TIME", 11)
        asyncio.run(_check(Path(folder), acts))


async def _check(folder: Path, acts: list[tuple[str, str, object]]) -> None:
    async with opened(folder) as database:
        known = {chat_id: [_made(f"{chat_id}-{number}", chat_id, "text") for number in range(30)] for chat_id in CHATS}
        for chat_id in CHATS:
            await database.journal.write(add_chat(chat_id, *known[chat_id]))
        number = 0
        for act, chat_id, given_ in acts:
            match act, given_:
                case "add" | "anew", list() as kinds:
                    if act == "anew":
                        await database.journal.write(Change(chat_id, (RemoveChat(),)))
                        await database.journal.write(add_chat(chat_id))
                        known[chat_id] = []
                    added = [_made(f"m{number + at}", chat_id, kind) for at, kind in enumerate(kinds)]
                    number += len(added)
                    await database.journal.write(Change(chat_id, tuple(added)))
                    known[chat_id] += added
                case "read", (int() as since, int() as until):
                    await _compare(database, chat_id, known[chat_id], since=since, until=until)


async def _compare(database: Database, chat_id: str, known: list[Message], *, since: int, until: int) -> None:
    """`since` and `until` are counted from the end; beyond the beginning there is no such message."""
    first = known[-since].id if 0 < since <= len(known) else "none"
    last = known[-until].id if 0 < until <= len(known) else None
    ends: Callable[[Message], bool] | None = None if last is None else lambda one: one.id == last
    fresh = MessageTable(database.store._reader, database.store.records, HeldRows())
    again = await database.store.messages.recent(chat_id, since=first, until=ends)
    assert again == await fresh.recent(chat_id, since=first, until=ends)
    assert database.store.messages._tails.size <= MOST


def _made(name: str, chat_id: str, kind: str) -> Message:
    one = message(name, f"{name} says hello", chat_id=chat_id)
    match kind:
        case "call":
            return replace(one, message_type=MessageType.TOOL_CALL, payload={"id": "k1"})
        case "result":
            return replace(one, message_type=MessageType.TOOL_RESULT, payload={"tool_call_id": "k1"})
        case "task":
            return replace(one, task_id="a", job_id="j")
        case "long":
            return replace(one, content="x" * 4_000)
        case _:
            return one


async def test_the_second_turn_of_a_chat_reads_only_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    bodies = messages.bodies_between

    def counted(connection: SqlConnection, chat_id: str, first: int, last: int) -> list[tuple[int, bytes]]:
        found = bodies(connection, chat_id, first, last)
        read.append(len(found))
        return found

    monkeypatch.setattr(messages, "bodies_between", counted)
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1", *(message(f"m{number}") for number in range(300))))
        for rows in (300, 2, 0):
            read.clear()
            recent = await database.store.messages.recent("c1", since="none")
            assert sum(read) == rows and recent.complete
            if rows == 300:
                await database.journal.write(Change("c1", (message("new"), message("newer"))))
        assert len(recent.messages) == 302


def test_the_chat_that_was_read_least_recently_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_history, "MOST_BYTES", 10_000)
    tails = ChatTails()
    tail = ChatTail(newest=2, mark="x", oldest=1, rows=[(2, 1_000, message("b")), (1, 1_000, message("a"))])
    for chat_id in ("first", "second", "first", "third"):
        tails.keep(chat_id, tail)
    assert [tails.of(chat_id) for chat_id in ("first", "second", "third")] == [tail, None, tail]
    for chat_id in ("first", "third", "third"):
        tails.forget(chat_id)
    assert tails.size == 0


def test_of_a_large_chat_the_newest_part_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_history, "MOST_BYTES_OF_A_CHAT", 9_500)
    rows = [(number, 1_000, message(f"m{number}")) for number in range(50, 0, -1)]
    tails = ChatTails()
    tails.keep("c1", ChatTail(newest=50, mark="x", oldest=1, rows=rows))
    kept = tails.of("c1")
    assert kept == ChatTail(newest=50, mark="x", oldest=47, rows=rows[:4]) and tails.size <= 9_500
