"""`anycowork database move`: a data folder's chats go to PostgreSQL whole, verified, once, and SQLite stays as it was."""

import asyncio
import sqlite3
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from anycowork.cli.database import move
from anycowork.cli.options import Invocation
from support.live_server import live_server
from support.scripted_model import call


def digest(folder: Path) -> str:
    return sha256((folder / "data" / "anycowork.db").read_bytes()).hexdigest()


async def test_everything_is_moved_verified_and_goes_on_there(
    tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    edit = call("update_file", path="a.txt", edits=[{"find": "old", "replace": "new"}])
    async with live_server(tmp_path, replies=[edit, "It is new."], files={"a.txt": "old\n"}) as client:
        chat = await client.chat()
        await chat.send("Make the zebra new.")
        await chat.decide("allow_session")
        said, snapshots = await chat.messages(), await client.ask("GET", f"{chat.path}/snapshots")
        rules = await client.ask("GET", "/rules")
    before = digest(tmp_path)
    flags = {"data_dir": tmp_path / "data", "database_url": database_url}
    moving = partial(asyncio.to_thread, move, Invocation(flags, {}, tmp_path))
    assert await moving() == 0
    shown = capsys.readouterr()
    assert "Copied and verified: 1 chats" in shown.out and "records:" in shown.err
    assert digest(tmp_path) == before, "the SQLite database is as it was"
    assert await moving() == 1
    assert "is not empty" in capsys.readouterr().err
    async with live_server(tmp_path, replies=["Again."], database_url=database_url) as client:
        chat.client = client
        assert await chat.messages() == said
        assert await client.ask("GET", f"{chat.path}/snapshots") == snapshots
        assert await client.ask("GET", "/rules") == rules
        assert len((await client.ask("GET", "/search?q=zebra"))["results"]) == 1
        assert (await chat.send("Again."))["state"] == "idle"
        assert await client.server.database.store.audit.verify_chat(chat.id) is None


async def test_a_target_in_use_and_a_missing_source_are_refused(
    tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with live_server(tmp_path, database_url=database_url):
        other = tmp_path / "other"
        flags = {"data_dir": other / "data", "database_url": database_url}
        assert await asyncio.to_thread(move, Invocation(flags, {}, tmp_path)) == 1
        assert "There is no database" in capsys.readouterr().err
        async with live_server(_made(other)):
            pass
        assert await asyncio.to_thread(move, Invocation(flags, {}, tmp_path)) == 1
        assert "A server uses the database" in capsys.readouterr().err
    assert await asyncio.to_thread(move, Invocation({"data_dir": other / "data"}, {}, tmp_path)) == 2
    assert "No database to move to" in capsys.readouterr().err


async def test_a_chain_that_was_broken_before_is_named_and_moved_as_it_is(
    tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with live_server(tmp_path, replies=["Hello."]) as client:
        chat = await client.chat()
        await chat.send("Hi.")
    with closing(sqlite3.connect(tmp_path / "data" / "anycowork.db")) as connection:
        connection.execute("UPDATE records SET body = CAST(body AS TEXT) || ' ' WHERE seq = 2")
        connection.commit()
    flags = {"data_dir": tmp_path / "data", "database_url": database_url}
    assert await asyncio.to_thread(move, Invocation(flags, {}, tmp_path)) == 0
    assert f"chat {chat.id}: its audit chain was broken before" in capsys.readouterr().err


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder
