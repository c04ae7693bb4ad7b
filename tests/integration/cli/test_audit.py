"""The audit log: every decision and effect is in the chain, and whoever changes or removes one is found, offline."""

import asyncio
import json
import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from anycowork.cli.audit import export, verify
from anycowork.cli.options import Invocation
from support.live_server import LiveChat, LiveServer, live_server
from support.people import person
from support.scripted_model import call
from support.spec import proves


def verified(tmp_path: Path, *what: str, every: bool = False) -> int:
    return verify(Invocation({"data_dir": tmp_path / "data"}, {}, tmp_path), what, every=every)


async def worked(client: LiveServer) -> LiveChat:
    """A chat in which one change was allowed, one denied, and one refused by the role."""
    chat = await client.chat()
    client.model.replies[:] = [
        call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]),
        call("delete_file", path="a.txt"),
        "So be it.",
    ]
    await chat.send("change, then delete it")
    await chat.decide()
    await chat.decide("deny", note="keep it")
    await chat.switch("planner")
    client.model.replies[:] = [call("delete_file", path="a.txt"), "I may not."]
    await chat.send("try again")
    return chat


async def fetched(client: LiveServer, chat: LiveChat) -> str:
    async with client.session.get(f"{client.url}{chat.path}/audit/log") as response:
        assert response.status == 200 and response.content_type == "application/x-ndjson"
        return await response.text()


@proves("AUD-1")
async def test_every_decision_and_effect_stands_in_the_log_with_who_role_and_result(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await worked(client)
        lines = [json.loads(line) for line in (await fetched(client, chat)).splitlines()]
        records = [json.loads(line["record"]) for line in lines[:-1]]
        assert lines[-1]["records"] == len(records)
        decided = [record for record in records if record["type"] == "permission-decided"]
        assert [(each["approval"]["state"], each["principal"]) for each in decided] == [
            ("allowed", decided[0]["principal"]),
            ("denied", decided[0]["principal"]),
        ]
        assert decided[0]["principal"].startswith("person:") and decided[1]["approval"]["note"] == "keep it"
        results = [record["tool_result"] for record in records if record["type"] == "tool-result"]
        assert [(each["status"], each["agent_role"]) for each in results] == [
            ("ok", "actor"),
            ("denied", "actor"),
            ("refused", "planner"),
        ]
        contents = [message["content"] for message in await chat.of_type("tool_result")]
        assert [each["content_sha256"] for each in results] == [sha256(text.encode()).hexdigest() for text in contents]
        assert {record["type"] for record in records} >= {"tool-call", "snapshot", "role-changed", "permission-request"}


@proves("AUD-1")
async def test_the_log_says_whose_word_let_a_call_in(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await client.chat()
        allowed = {"tool": "create_file", "resource": "/new/*", "effect": "allow", "scope": "global"}
        rule = await client.ask("POST", "/rules", allowed, expect=201)
        client.model.replies[:] = [
            call("create_file", path="new/b.txt", content="2\n"),
            call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]),
            "Both.",
        ]
        await chat.send("make one, change the other")
        [approval] = await chat.approvals()
        await chat.decide()
        records = [
            json.loads(json.loads(line).get("record", "{}")) for line in (await fetched(client, chat)).splitlines()
        ]
        results = [record["tool_result"] for record in records if record.get("type") == "tool-result"]
        assert [each["facts"]["allowed_by"] for each in results] == [f"rule:{rule['id']}", f"approval:{approval['id']}"]


@proves("AUD-1")
async def test_an_untouched_log_holds_in_the_database_and_as_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await worked(client)
        (tmp_path / "log.jsonl").write_text(await fetched(client, chat))
        assert verified(tmp_path, every=True) == 0, "also beside the running server"
    assert verified(tmp_path, chat.id, "log.jsonl") == 0
    assert capsys.readouterr().out.count(": holds, ends with") == 5


@proves("OPS-9/3", "OPS-9/5")
async def test_export_of_a_running_server_is_private_and_verifies_and_only_an_admin_gets_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await check_export(tmp_path)
    assert capsys.readouterr().out.count("Holds: 1 chats") == 2
    assert (
        await asyncio.to_thread(export, Invocation({"data_dir": tmp_path / "none"}, {}, tmp_path), Path("x.zip")) == 1
    )
    assert not (tmp_path / "x.zip").exists()


async def check_export(tmp_path: Path, database_url: str | None = None) -> None:
    async with (
        live_server(tmp_path, files={"a.txt": "1\n"}, database_url=database_url) as client,
        person(client, "Ada") as ada,
    ):
        await worked(client)
        invocation = Invocation({"data_dir": tmp_path / "data", "database_url": database_url}, {}, tmp_path)
        assert await asyncio.to_thread(export, invocation, Path("audit.zip")) == 0
        assert (tmp_path / "audit.zip").stat().st_mode & 0o777 == 0o600
        async with client.session.get(f"{client.url}/audit/export") as response:
            assert response.status == 200 and response.content_type == "application/zip"
            (tmp_path / "fetched.zip").write_bytes(await response.read())
        assert await asyncio.to_thread(verified, tmp_path, "fetched.zip") == 0
        await ada.ask("GET", "/audit/export", expect=403)


@proves("AUD-1")
@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE records SET body = replace(body, 'keep it', 'drop it') WHERE type = 'permission-decided'",
        "DELETE FROM records WHERE type = 'permission-decided'",
        "DELETE FROM records WHERE position = (SELECT MAX(position) FROM records)",
        "DELETE FROM chats",
        "UPDATE chats SET chain = ''",
        "UPDATE records SET type = 'message' WHERE type = 'permission-decided'",
        "UPDATE records SET seq = seq + 1000 WHERE position = (SELECT MAX(position) FROM records)",
    ],
)
async def test_a_changed_or_missing_record_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], tampering: str
) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        await worked(client)
    connection = sqlite3.connect(tmp_path / "data" / "anycowork.db")
    assert connection.execute(tampering).rowcount >= 1
    connection.commit()
    connection.close()
    assert verified(tmp_path, every=True) == 1
    whole = "does not hold: the chat itself is missing"
    assert (whole if "chats" in tampering and "DELETE" in tampering else "broken at record ") in capsys.readouterr().err


def changed(tmp_path: Path, *statements: str) -> None:
    connection = sqlite3.connect(tmp_path / "data" / "anycowork.db")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@proves("AUD-1")
@pytest.mark.parametrize("keeping", [1, 5, 10])
async def test_a_cut_tail_is_found_though_the_end_was_moved_back(tmp_path: Path, keeping: int) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        await worked(client)
    assert verified(tmp_path) == 0
    last = f"(SELECT seq FROM records WHERE message_id IS NULL ORDER BY seq LIMIT 1 OFFSET {keeping - 1})"
    changed(
        tmp_path,
        f"DELETE FROM records WHERE seq > {last}",
        "UPDATE chats SET chain = (SELECT hash FROM records ORDER BY seq DESC LIMIT 1)",
    )
    assert verified(tmp_path) == 1


@proves("AUD-1")
async def test_a_removed_chat_is_found_unless_a_person_deleted_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat, other = await worked(client), await client.chat()
        await client.ask("DELETE", other.path, expect=204)
    assert verified(tmp_path) == 0
    changed(tmp_path, "PRAGMA foreign_keys = OFF", "DELETE FROM records", "DELETE FROM chats")
    assert verified(tmp_path) == 1
    told = capsys.readouterr().err
    assert chat.id in told and other.id not in told


@proves("AUD-1")
async def test_heads_that_were_changed_cut_or_removed_are_found(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await worked(client)
        (tmp_path / "log.jsonl").write_text(await fetched(client, chat))
    heads = tmp_path / "data" / "audit-heads.jsonl"
    whole = heads.read_text()
    lines = whole.splitlines(keepends=True)
    assert heads.stat().st_mode & 0o777 == 0o600 and len(lines) > 2
    for bad in (whole.replace(chat.id, "another"), "".join(lines[1:]), "".join(lines[:1] + lines[2:]), "none\n"):
        heads.write_text(bad)
        assert verified(tmp_path) == 1, bad
    heads.write_text("".join(lines[:-1]))
    assert verified(tmp_path, "log.jsonl") == 1, "a log that was fetched names a later head"
    heads.unlink()
    assert verified(tmp_path) == 1
    async with live_server(tmp_path) as client:
        await client.chat()
    assert verified(tmp_path) == 1, "begun anew is not as before"


@proves("AUD-1")
async def test_the_chats_of_an_earlier_release_join_the_heads(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await worked(client)
    heads = tmp_path / "data" / "audit-heads.jsonl"
    heads.unlink()
    changed(tmp_path, "UPDATE house SET audit_heads = 0")
    assert verified(tmp_path) == 0
    async with live_server(tmp_path) as client:
        await client.chat()
    assert chat.id in heads.read_text() and verified(tmp_path) == 0


@proves("AUD-1")
async def test_a_head_that_was_cut_off_by_a_kill_is_written_again(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        await client.chat()
    heads = tmp_path / "data" / "audit-heads.jsonl"
    with heads.open("a") as file:
        file.write('{"count": 2, "at"')
    assert verified(tmp_path) == 0
    async with live_server(tmp_path) as client:
        await client.chat()
    assert verified(tmp_path) == 0 and len(heads.read_text().splitlines()) == 2


@proves("AUD-1")
async def test_a_changed_or_cut_file_is_found(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        log = await fetched(client, await worked(client))
    lines = log.splitlines(keepends=True)
    for number, bad in enumerate(
        [
            log.replace("keep it", "drop it"),
            "".join(lines[:3] + lines[4:]),
            "".join(lines[:-2] + lines[-1:]),
            "".join(lines[:-1]),
            "not a log\n",
            "",
        ]
    ):
        (tmp_path / "log.jsonl").write_text(bad)
        assert verified(tmp_path, "log.jsonl") == 1, number


async def test_without_a_name_every_chat_is_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with live_server(tmp_path) as client:
        assert verified(tmp_path) == 0
        assert "no chat yet" in capsys.readouterr().out
        chats = [await client.chat(), await client.chat()]
        assert verified(tmp_path) == 0
    told = capsys.readouterr().out
    assert all(chat.id in told for chat in chats)


async def test_a_missing_database_and_an_unknown_chat_are_broken(tmp_path: Path) -> None:
    assert verified(tmp_path) == 1
    assert verified(tmp_path, "nowhere") == 1, "there is no database"
    async with live_server(tmp_path) as client:
        assert (await client.ask("GET", "/context/nowhere/audit/log", expect=404))["error"]["code"] == "chat_not_found"
    assert verified(tmp_path, "nowhere") == 1
