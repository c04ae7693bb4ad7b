"""An export holds the whole chat: as Markdown, as JSON that can be imported again, and as one inert HTML page."""

import json
import re
from pathlib import Path

import pytest

from anycowork.chats.export.chat_export import ExportFormat
from anycowork.cli.chats import _write
from anycowork.client.errors import ServerUnreachable
from anycowork.domain.errors import NotFound
from anycowork.domain.journal import Change, RemoveChat
from anycowork.domain.principals import OWNER
from anycowork.server.clock import SystemClock
from anycowork.store.sql.importer import Importer
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves
from support.stored import opened

HOSTILE = "</div><script>alert(1)</script> ```\n# not a heading ` \u202egnp.exe"
PLAN = {
    "goal": "Write a file",
    "steps": [
        {"id": "s1", "action": "Create b.txt", "reason": "asked", "tools_needed": ["create_file"], "paths": ["b.txt"]}
    ],
}


async def exported(client: LiveServer, chat: LiveChat, wanted: str) -> tuple[str, dict[str, str]]:
    async with client.session.get(f"{client.url}{chat.path}/export?format={wanted}") as response:
        assert response.status == 200
        return await response.text(), dict(response.headers)


@pytest.fixture
async def worked(tmp_path: Path):
    """A chat in which an approved plan was carried out."""
    replies = [json.dumps(PLAN), call("create_file", path="b.txt", content="one\ntwo\n"), HOSTILE]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat(role="planner", title="A <b>report</b>: one/two")
        await chat.send("Plan it")
        [plan] = await chat.of_type("plan")
        await client.ask("POST", f"{chat.path}/plans/{plan['id']}/approve", {})
        await chat.rest()
        yield client, chat


@proves("UI-9")
@proves("OPS-2")
async def test_the_three_forms_hold_conversation_plan_actual_diffs_and_audit_head(worked, tmp_path: Path) -> None:
    client, chat = worked
    end = json.loads((await exported(client, chat, "json"))[0])["exported"]["audit"]["end"]
    for wanted in ("markdown", "html"):
        text, headers = await exported(client, chat, wanted)
        for part in ("Plan it", "Create b.txt", "create_file", "+two", "done", end):
            assert part in text, (wanted, part)
        assert len(end) == 64
        assert headers["Content-Disposition"].startswith('attachment; filename="A-b-report-b-one-two.')
    page, headers = await exported(client, chat, "html")
    assert "<script" not in page and "&lt;script&gt;" in page and "\u202e" not in page
    assert "http" not in page.replace("http-equiv", ""), "it needs nothing from anywhere"
    assert "<h3>b.txt</h3>" in page and "<h3>Create file: <code>b.txt</code></h3>" in page, "headed in words"
    assert re.search(r"<dt>Created</dt><dd>\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC</dd>", page)
    assert "default-src 'none'" in page and "sandbox" in headers["Content-Security-Policy"]
    text, _ = await exported(client, chat, "markdown")
    assert "# not a heading" in text and text.count("\n## Audit\n") == 1
    await client.ask("GET", f"{chat.path}/export?format=pdf", expect=422)
    await client.ask("GET", "/context/nobody/export", expect=404)


@proves("OPS-2")
async def test_an_exported_chat_is_imported_with_the_same_messages(worked, tmp_path: Path) -> None:
    client, chat = worked
    before = await client.server.database.store.messages.all(chat.id)
    source, _ = await exported(client, chat, "json")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with opened(elsewhere) as database:
        report = await Importer(database.writer, SystemClock(), "/w", "person").load(source.encode())
        assert (report.chats, report.messages, report.problems) == (1, len(before), [])
        imported = await database.store.chats.find(chat.id)
        assert imported is not None and imported.title == "A <b>report</b>: one/two"
        after = await database.store.messages.all(chat.id)
        assert [(m.id, m.role, m.content, m.message_type, m.payload) for m in after] == [
            (m.id, m.role, m.content, m.message_type, m.payload) for m in before
        ]
        again = await Importer(database.writer, SystemClock(), "/w", "person").load(source.encode())
        assert again.already_there == 1


@proves("OPS-4/4")
async def test_chat_that_is_deleted_while_it_is_exported_leaves_no_file_that_looks_whole(
    worked, tmp_path: Path
) -> None:
    client, chat = worked
    database = client.server.database
    file = await client.server.services.export.export(OWNER, chat.id, ExportFormat.JSON)
    pieces = [await anext(aiter(file.content))]
    await database.journal.write(Change(chat.id, (RemoveChat(),)))
    with pytest.raises(NotFound):
        pieces += [piece async for piece in file.content]
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(b"".join(pieces))


async def test_export_that_fails_half_way_keeps_the_file_that_was_there(tmp_path: Path) -> None:
    async def failing():
        yield b"new"
        raise ServerUnreachable("gone")

    async def whole():
        yield b"new "
        yield b"and whole"

    target = tmp_path / "chat.md"
    target.write_bytes(b"old")
    with pytest.raises(ServerUnreachable):
        await _write(failing(), target)
    assert target.read_bytes() == b"old" and list(tmp_path.iterdir()) == [target]
    assert await _write(whole(), target) == 0
    assert target.read_bytes() == b"new and whole" and list(tmp_path.iterdir()) == [target]
    assert await _write(whole(), tmp_path / "missing" / "chat.md") == 1
