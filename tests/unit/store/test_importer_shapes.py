"""Old messages in the many shapes that others stored them in: words, parts, types, and plans and questions that can still be used."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from anycowork.domain.messages import Message, MessageType
from anycowork.store.sql.chat_file import ImportReport
from anycowork.store.sql.database import Database
from anycowork.store.sql.importer import Importer
from support.spec import proves
from support.stored import CLOCK, opened

PLAN = {"goal": "Greet", "steps": [{"step_number": 1, "action": "Write hello.txt"}]}
QUESTION = {"type": "question", "question": "Which?", "options": [{"label": "A", "value": "a"}]}


async def load(database: Database, source: object) -> ImportReport:
    importer = Importer(database.writer, CLOCK, workspace="/w", principal="person:ann")
    return await importer.load(json.dumps(source).encode())


@proves("MIG-1")
@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        ({"content": json.dumps(PLAN), "message_type": "Plan"}, "plan"),
        ({"content": f"```json\n{json.dumps(PLAN)}\n```", "message_type": "plan"}, "plan"),
        ({"content": "see there", "message_type": "plan", "metadata_json": json.dumps(PLAN)}, "plan"),
        ({"content": "see there", "message_type": "plan", "payload": PLAN}, "plan"),
        ({"content": json.dumps(QUESTION), "message_type": "Question"}, "question"),
    ],
)
async def test_an_old_plan_or_question_is_one_wherever_it_was_kept(
    tmp_path: Path, stored: dict[str, object], kind: str
) -> None:
    async with opened(tmp_path) as database:
        await load(database, {"id": "c", "messages": [{"id": "m", "role": "assistant", **stored}]})
        found = await database.store.messages.find("c", "m")
        assert found is not None and (found.message_type, found.content) == (kind, stored["content"])
        assert found.payload is not None and found.payload["format_version"] == "1.0"


@proves("MIG-1")
@pytest.mark.parametrize("words", ["First this, then that.", "", "{", '{"goal": "no steps"}'])
async def test_what_only_calls_itself_a_plan_is_text_and_keeps_its_words(tmp_path: Path, words: str) -> None:
    async with opened(tmp_path) as database:
        await load(database, {"id": "c", "messages": [{"content": words, "message_type": "plan"}]})
        assert [(m.message_type, m.content) for m in await database.store.messages.all("c")] == [("text", words)]


@proves("MIG-1", "PLN-2")
async def test_the_newest_imported_plan_of_a_chat_stands_open_and_older_ones_are_superseded(tmp_path: Path) -> None:
    plans = [{"id": str(n), "role": "assistant", "message_type": "plan", "content": json.dumps(PLAN)} for n in (1, 2)]
    async with opened(tmp_path) as database:
        await load(database, [{"id": "c", "messages": plans}, {"id": "d", "messages": plans}])
        for chat in ("c", "d"):  # the second one has the same ids, and gets others
            rows = [await database.store.plans.find(message.id) for message in await database.store.messages.all(chat)]
            assert [(row.chat_id, row.state.value) for row in rows if row] == [(chat, "superseded"), (chat, "open")]


@proves("MIG-1/4")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([{"Text": "rust "}, {"Text": {"text": "and more"}}], "rust and more"),
        (["plain ", {"type": "text", "text": {"value": "parts"}}, {"type": "image"}], "plain parts"),
        ({"type": "text", "text": "one part"}, "one part"),
        ({"unknown": [1]}, '{"unknown":[1]}'),
        (None, ""),
        (5, "5"),
    ],
)
def test_content_is_read_in_every_shape_it_was_stored_in(content: JsonValue, words: str) -> None:
    assert Message.from_stored("c", {"content": content}).content == words


@proves("MIG-1", "MSG-1")
@pytest.mark.parametrize("word", ["ToolCall", "tool-call", "TOOL_CALL", "Tool Call", "tool_call"])
def test_a_message_type_is_known_however_it_was_spelled(word: str) -> None:
    assert Message.from_stored("c", {"message_type": word}).message_type is MessageType.TOOL_CALL


@proves("MIG-1")
async def test_an_object_that_is_no_chat_is_named_and_makes_none(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        report = await load(database, {"dependencies": {"left-pad": "1"}})
        assert (report.chats, len(report.problems)) == (0, 1)


async def test_arguments_that_nest_too_deeply_stay_readable_as_text(tmp_path: Path) -> None:
    nested = '{"path": ' + "[" * 5_000 + "]" * 5_000 + "}"
    old = {"id": "m", "role": "assistant", "content": "", "tool_calls": [{"id": "k", "tool": "t", "arguments": nested}]}
    async with opened(tmp_path) as database:
        report = await load(database, {"id": "c", "messages": [old]})
        [*_, made] = await database.store.messages.all("c")
        assert report.chats == 1 and made.payload is not None and made.payload["parameters"] == {"arguments": nested}


@proves("MIG-1", "MSG-1")
@pytest.mark.parametrize(
    "stored",
    [
        {"id": "k", "tool": "read_file", "parameters": {"path": "a.txt"}, "terminate": False},
        {"id": "k", "tool_name": "read_file", "arguments": '{"path": "a.txt"}'},
        {"id": "k", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.txt"}'}},
    ],
)
async def test_old_fields_with_calls_and_results_become_cards(tmp_path: Path, stored: dict[str, object]) -> None:
    old = [
        {"id": "m", "role": "assistant", "content": "Let me look.", "tool_calls": [stored]},
        {"id": "n", "role": "tool", "content": "hello", "tool_result": {"tool_call_id": "k", "result": "hello"}},
        {"id": "o", "role": "tool", "content": "", "tool_result": {"tool_call_id": "k", "error": "no such file"}},
    ]
    async with opened(tmp_path) as database:
        await load(database, {"id": "c", "messages": old})
        words, made, good, bad = await database.store.messages.all("c")
        assert (words.id, words.message_type, words.content) == ("m", "text", "Let me look.")
        assert made.message_type is MessageType.TOOL_CALL and made.payload is not None
        assert made.payload == {"id": "k", "tool": "read_file", "parameters": {"path": "a.txt"}, "terminate": False}
        assert (good.id, good.message_type, good.content) == ("n", "tool_result", "hello")
        assert good.payload is not None and (good.payload["tool_call_id"], good.payload["status"]) == ("k", "ok")
        assert bad.payload is not None and (bad.content, bad.payload["status"]) == ("no such file", "error")


@proves("MIG-1")
@pytest.mark.parametrize(
    ("message", "result", "call_id"),
    [
        ({"tool_call_id": "k"}, {"result": "hello"}, "k"),
        ({"tool_call_id": "k"}, {"id": "result-1", "result": "hello"}, "k"),
        ({"tool_call_id": "other"}, {"tool_call_id": "k", "result": "hello"}, "k"),
        ({}, {"id": "k", "result": "hello"}, "k"),
        ({"tool_call_id": 7}, {"result": "hello"}, "7"),
        ({"tool_call_id": ["k"]}, {"result": "hello"}, None),
    ],
)
async def test_a_result_belongs_to_the_call_that_it_or_its_message_names(
    tmp_path: Path, message: dict[str, object], result: dict[str, object], call_id: str | None
) -> None:
    old = {"id": "n", "role": "tool", "content": "hello", "tool_result": result, **message}
    async with opened(tmp_path) as database:
        await load(database, {"id": "c", "messages": [old]})
        (card,) = await database.store.messages.all("c")
        assert card.payload is not None and card.payload["tool_call_id"] == call_id


@proves("MIG-1")
@pytest.mark.parametrize("junk", [None, 5, "x", {}, [], [5, {}, {"tool": 7}, {"function": {}}]])
async def test_fields_that_hold_no_call_leave_the_message_as_it_was(tmp_path: Path, junk: JsonValue) -> None:
    async with opened(tmp_path) as database:
        message = {"id": "m", "role": "assistant", "content": "words", "tool_calls": junk}
        await load(database, {"id": "c", "messages": [message]})
        assert [(m.id, m.content, m.message_type) for m in await database.store.messages.all("c")] == [
            ("m", "words", "text")
        ]
