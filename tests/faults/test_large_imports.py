"""A file of chats is imported whatever its size and whatever it holds: in bounded memory, each chat whole or not at all.

`make test-large` repeats the first test with ANYCOWORK_LARGE_MESSAGES messages.
"""

import json
import mmap
import os
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.cli.import_chats import import_files
from anycowork.cli.options import Invocation
from anycowork.store.sql import chat_file
from anycowork.store.sql.chat_file import MOST_LISTED, ImportReport, chats_in
from anycowork.store.sql.database import Database
from anycowork.store.sql.importer import Importer
from faults.test_record_memory import MOST_BYTES, peak_below
from support.spec import proves
from support.stored import CLOCK, opened

MESSAGES = int(os.environ.get("ANYCOWORK_LARGE_MESSAGES", "500"))
TEXT = "A sentence of some length, as people and agents write them. " * 60
GOOD = {"id": "good", "title": "Good", "messages": [{"id": "g", "role": "user", "content": "kept"}]}


async def load(database: Database, text: bytes | mmap.mmap) -> ImportReport:
    return await Importer(database.writer, CLOCK, workspace="/w", principal="person:ann").load(text)


@proves("OPS-4/4")
async def test_a_long_chat_is_imported_in_bounded_memory(tmp_path: Path) -> None:
    file = tmp_path / "long.json"
    with file.open("w") as out:
        out.write('{"id": "long", "messages": [')
        for number in range(MESSAGES):
            one = {"id": f"m{number}", "role": "user", "content": f"{number} {TEXT}"}
            out.write(("," if number else "") + json.dumps(one))
        out.write("]}")
    async with opened(tmp_path) as database:
        with file.open("rb") as opened_file:
            text = mmap.mmap(opened_file.fileno(), 0, access=mmap.ACCESS_READ)
        with peak_below(MOST_BYTES):
            report = await load(database, text)
        assert (report.chats, report.messages, report.problems) == (1, MESSAGES, [])
        assert await database.store.audit.verify_chat("long") is None
        assert (await load(database, text)).already_there == 1


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def with_message(value: str) -> str:
    return f'{{"id": "bad", "messages": [{{"id": "a", "content": "first"}}, {value}]}}'


@proves("OPS-4/4", "MIG-1")
@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (with_message('{"content": "half'), "not JSON"),
        (with_message('{"content": "x"} {'), "not JSON"),
        (with_message(f'{{"content": {nested(1_000_000)}}}'), "nested deeper"),
        (with_message(f'{{"content": {nested(200)}}}'), "message 2: it is nested deeper"),
        (with_message('{"content": 1e999999}'), "message 2: not JSON (Number out of range"),
        (with_message('{"content": ' + "9" * 5_000 + "}"), "message 2: not JSON (Integer value out of range"),
        (with_message('{"content": "\\ud800"}'), "not JSON"),
        (with_message('{"content": "' + "x" * 2_000 + '"}'), "message 2: it has more than"),
        ('{"id": "bad", "title": "' + "x" * 2_000 + '", "messages": []}', "beside its messages"),
        ('{"id": "bad", "' + "x" * 2_000 + '": 1, "messages": []}', "beside its messages"),
        ('{"id": "bad", "messages": {}}', "'messages' is a list"),
        ('["bad"]', "a chat is an object, this is a list"),
        ("null", "a chat is an object, this is null"),
        ('{"dependencies": {}}', "this object has none"),
    ],
    ids=lambda given: "" if given.startswith(("{", "[")) else given[:30],
)
async def test_a_chat_that_cannot_be_read_is_named_and_nothing_of_it_remains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str, says: str
) -> None:
    if "more than" in says or "beside" in says:
        monkeypatch.setattr(chat_file, "LARGEST_VALUE", 1_500)  # 64 MB, in a cheap form
    async with opened(tmp_path) as database:
        report = await load(database, f"{json.dumps(GOOD)}\n{bad}\n".encode())
        assert [problem.where for problem in report.problems] == ["line 2"] and says in report.problems[0].reason
        chats, _ = await database.store.chats.page(limit=10)
        expected = {"good", "bad"} if "'messages' is a list" in says else {"good"}
        assert {chat.id for chat in chats} == expected
        assert [m.content for m in await database.store.messages.all("good")] == ["kept"]
        assert await database.store.messages.all("bad") == []


async def test_a_file_that_breaks_off_imports_nothing_and_says_where(tmp_path: Path) -> None:
    pretty = json.dumps([GOOD, {**GOOD, "id": "other"}], indent=1)
    async with opened(tmp_path) as database:
        for text in (pretty[:-30].encode(), b"\xff\xfe\x00", b"[" * 1_000_000, b'"just text"', b"", b"\n \n"):
            report = await load(database, text)
            assert (report.chats, [problem.where for problem in report.problems]) == (0, ["file"]), text[:20]
        assert await database.store.chats.page(limit=10) == ([], None)
        broken = await load(database, b'{"id": "u", "messages": [{"content": "\xff"}]}')
        assert "utf-8" in broken.problems[0].reason and broken.chats == 0


async def test_a_million_wrong_values_are_counted_and_a_thousand_listed(tmp_path: Path) -> None:
    wrong = ", ".join(["7"] * (MOST_LISTED + 25))
    async with opened(tmp_path) as database:
        report = await load(database, f"[{wrong}, {json.dumps(GOOD)}]".encode())
        assert (report.chats, len(report.problems), report.not_listed) == (1, MOST_LISTED, 25)
        inside = await load(database, f'{{"id": "x", "messages": [{wrong}]}}'.encode())
        assert (inside.chats, len(inside.problems), inside.not_listed) == (1, MOST_LISTED, 25)


async def test_doubled_ids_far_apart_are_found_as_if_all_were_in_memory(tmp_path: Path) -> None:
    between = [{"id": str(number), "content": "x"} for number in range(500)]
    first, same, other = ({"id": "m", "content": word} for word in ("one", "one", "two"))
    async with opened(tmp_path) as database:
        report = await load(database, json.dumps({"id": "c", "messages": [first, *between, same, other]}).encode())
        history = await database.store.messages.all("c")
        assert report.messages == 502 and len({message.id for message in history}) == 502
        assert [message.content for message in history if message.content != "x"] == ["one", "two"]


SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@settings(max_examples=40)
@given(st.dictionaries(st.text(), JSON), st.lists(JSON) | JSON, st.sampled_from([None, 2]))
def test_a_chat_read_piece_by_piece_is_the_chat_and_has_the_hash_that_it_always_had(
    fields: dict[str, object], told: object, indent: int | None
) -> None:
    item = {**fields, "messages": told}
    text = json.dumps([item], indent=indent).encode()
    report = ImportReport()
    (found,) = chats_in(text, report)
    listed = {"messages": list(found.messages())} if "messages" not in found.fields else {}
    decoded = msgspec.json.decode(text)[0]
    assert {**found.fields, **listed} == decoded and not report.problems
    assert found.content_hash == sha256(msgspec.json.encode(decoded, order="sorted")).hexdigest()


def test_the_command_reads_a_pipe_and_an_empty_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe, empty = tmp_path / "pipe", tmp_path / "empty.json"
    empty.touch()
    source, sink = os.pipe()
    os.write(sink, json.dumps(GOOD).encode())
    os.close(sink)
    pipe.symlink_to(f"/proc/self/fd/{source}")
    invocation = Invocation({"data_dir": tmp_path / "data", "workspace": tmp_path}, {}, tmp_path)
    try:
        assert import_files(invocation, [pipe, empty]) == 1
    finally:
        os.close(source)
    printed = capsys.readouterr()
    assert "1 chat with 1 message" in printed.out and f"{empty}, file: not JSON" in printed.err
