"""The full-text index holds exactly the stored messages, finds them newest first, and takes any query."""

import json
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import Invalid
from anycowork.domain.journal import Change, RemoveChat
from anycowork.domain.messages import Message, MessageType, Speaker
from anycowork.store.sql import message_search
from anycowork.store.sql.database import Database
from anycowork.store.sql.importer import Importer
from anycowork.store.sqlite.connection import connect_to_read
from anycowork.store.sqlite.database import MIGRATIONS, migrate
from support.spec import proves
from support.stored import CLOCK, add_chat, message, opened, said


async def found(database: Database, query: str, limit: int = 10) -> list[str]:
    results, _ = await database.store.messages.search(query, limit=limit)
    return [result.message_id for result in results]


@proves("UI-9")
async def test_words_of_all_chats_are_found_newest_first_with_the_chats_title(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1", message("m1", "The disk is full.")))
        await database.journal.write(
            add_chat("c2", message("m2", "Which DISK? The external diskette.", chat_id="c2"), title="Disks")
        )
        assert await found(database, "disk ") == ["m2", "m1"]
        assert await found(database, "disk full") == ["m1"]
        assert await found(database, '"full disk"') == []
        assert await found(database, "diske") == ["m2"], "the last word may be unfinished"
        [result], _ = await database.store.messages.search("external", limit=1)
        assert (result.chat_id, result.title, result.role) == ("c2", "Disks", "user")
        assert result.to_json()["snippet"] == "Which DISK? The external diskette."


PLAN = {
    "type": "plan",
    "format_version": "1.0",
    "goal": "Free the disk",
    "steps": [
        {"id": "s1", "step_number": 1, "action": "List the caches", "reason": "They are large", "tools_needed": ["ls"]},
        {"id": "s2", "step_number": 2, "action": "Delete the oldest ones", "dependencies": ["s1"]},
    ],
}


@pytest.mark.parametrize("content", [json.dumps(PLAN), f"```json\n{json.dumps(PLAN, indent=2)}\n```"])
@pytest.mark.parametrize("kind", [MessageType.PLAN, MessageType.TEXT])
async def test_the_snippet_of_a_plan_has_its_words_and_no_json(tmp_path: Path, content: str, kind: MessageType) -> None:
    payload = PLAN if kind is MessageType.PLAN else None
    plan = Message("m1", "c1", Speaker.ASSISTANT, content, kind, payload)
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1", plan))
        [result], _ = await database.store.messages.search("caches", limit=1)
        assert result.to_json()["snippet"] == "Free the disk List the caches They are large Delete the oldest ones"
        assert [part.text for part in result.parts if part.match] == ["caches"]


async def test_the_snippet_of_an_approved_plan_has_its_words_and_no_json(tmp_path: Path) -> None:
    content = f"Execute the approved plan.\n\n```json\n{json.dumps(PLAN, indent=2)}\n```"
    approved = Message("m1", "c1", Speaker.USER, content, MessageType.TEXT, {"plan_id": "p1"})
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1", approved))
        [result], _ = await database.store.messages.search("caches", limit=1)
        words = "Free the disk List the caches They are large Delete the oldest ones"
        assert result.to_json()["snippet"] == f"Execute the approved plan. {words}"


@pytest.mark.parametrize("depth", [500, 2_000, 200_000])
async def test_a_plan_that_nests_its_lists_breaks_no_search(tmp_path: Path, depth: int) -> None:
    nested = f'{{"type": "plan", "goal": "Free the disk", "steps": {"[" * depth}{"]" * depth}}}'
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1", message("m1", nested)))
        [result], _ = await database.store.messages.search("disk", limit=1)
        assert "disk" in result.to_json()["snippet"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            {"type": "question", "question": "Which disk?", "options": [{"value": "sda", "label": "The first"}]},
            "Which disk? The first sda",
        ),
        (
            {"type": "review", "summary": "One disk fault", "findings": [{"path": "a.py", "problem": "Leaks"}]},
            "One disk fault a.py Leaks",
        ),
        ({"type": "other", "text": "disk"}, '{"type": "other", "text": "disk"}'),
    ],
)
async def test_questions_and_reviews_are_words_too_and_other_json_is_shown_as_it_is(
    tmp_path: Path, document: dict, words: str
) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1", message("m1", json.dumps(document))))
        [result], _ = await database.store.messages.search("disk", limit=1)
        assert result.to_json()["snippet"] == words


async def test_pages_lead_through_every_match_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1", *(message(f"m{n}", f"word {n}") for n in range(7))))
        seen, cursor = list[str](), None
        for _ in range(4):
            page, cursor = await database.store.messages.search("word", limit=3, before=cursor)
            seen += [result.message_id for result in page]
            if cursor is None:
                break
        assert seen == [f"m{n}" for n in reversed(range(7))]
        with pytest.raises(Invalid):
            await database.store.messages.search("word", limit=3, before="m1")


async def test_calls_and_output_of_tools_are_not_indexed_and_a_deleted_chat_is_gone(tmp_path: Path) -> None:
    output = Message("m2", "c1", Speaker.TOOL, "secret output", MessageType.TOOL_RESULT, {}, created_at="then")
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1", message("m1", "kept words"), output))
        assert await found(database, "output") == [] and await found(database, "kept") == ["m1"]
        await database.journal.write(Change("c1", (RemoveChat(),)))
        assert await found(database, "kept") == []
        terms = "SELECT count(*) FROM message_search WHERE message_search MATCH 'kept'"
        assert await database.writer.run(lambda c: c.execute(terms).fetchone()) == (0,)
        check = "INSERT INTO message_search (message_search) VALUES ('integrity-check')"
        await database.writer.run(lambda c: c.execute(check))


async def test_messages_of_an_older_database_and_imported_ones_are_found(tmp_path: Path) -> None:
    older = tmp_path / "older"
    shutil.copytree(MIGRATIONS, older, ignore=lambda _, names: [name for name in names if name >= "0080"])
    path = tmp_path / "anycowork.db"
    path.touch()
    migrate(path, migrations=older)
    import sqlite3

    with sqlite3.connect(path) as connection:
        body = b'{"message":{"id":"m1","role":"user","content":"an older word","message_type":"text"}}'
        connection.execute(
            "INSERT INTO chats (id, title, title_folded, workspace, config, state, next_seq, created_by, created_at, updated_at)"
            " VALUES ('c1', 'Old', 'old', '/w', '{}', 'idle', 2, 'p', 't', 't')"
        )
        connection.execute(
            "INSERT INTO records (position, chat_id, seq, type, body) VALUES (1, 'c1', 1, 'message', ?)", (body,)
        )
    connection.close()
    async with opened(tmp_path) as database:
        assert await found(database, "older") == ["m1"]
        importer = Importer(database.writer, CLOCK, "/w", "person")
        await importer.load(b'{"messages": [{"id": "i1", "role": "user", "content": "an imported word"}]}')
        assert await found(database, "word") == ["i1", "m1"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory):
    """A store with one message, to read from only."""
    import asyncio

    folder = tmp_path_factory.mktemp("index")

    async def fill() -> None:
        async with opened(folder) as database:
            await database.journal.write(add_chat("c1", message("m1", "hello world")))

    asyncio.run(fill())
    reader = connect_to_read(folder / "anycowork.db", busy_seconds=1)
    yield reader
    reader.close()


GARBAGE = [
    '"',
    '""',
    "*",
    "hello*",
    "NEAR(",
    "a AND",
    "-hello",
    "content:x",
    "^hello",
    "\0",
    "\ud800x",
    "(" * 400,
    "''; --",
]


@given(st.one_of(st.sampled_from(GARBAGE), st.text(st.characters(), max_size=60)))
def test_no_query_is_an_error_of_sql(index, query: str) -> None:
    message_search.search(index, query, limit=5, before=None)


async def test_a_page_of_results_costs_the_same_in_a_store_ten_times_as_large(tmp_path: Path) -> None:
    """CPU time: of the matching messages only those of the page are read."""
    costs = []
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat("c1"))
        for size in (1_000, 10_000):
            there = 0 if size == 1_000 else 1_000
            batch = [message(f"m{n}", f"the report number {n} is written as JSON") for n in range(there, size)]
            await database.journal.write(Change("c1", tuple(batch)))
            costs.append(min([await _cpu(database) for _ in range(5)]))
        await database.journal.write(said("last", "an end"))
    assert costs[1] < 8 * costs[0] + 0.002, costs


async def _cpu(database: Database) -> float:
    began = time.thread_time()
    results, _ = await database.store.messages.search("report written", limit=20)
    assert len(results) == 20
    return time.thread_time() - began
