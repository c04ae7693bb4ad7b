"""The real server on a real PostgreSQL: everything that it does on SQLite, from the first message to the history after a restart."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from anycowork.cli.audit import verify
from anycowork.cli.options import Invocation
from integration.cli.test_audit import check_export
from support.live_server import LiveServer, live_server
from support.postgres import run_sql
from support.scripted_model import call
from support.spec import proves

Json = dict[str, Any]


@proves("OPS-9/5")
async def test_audit_export_of_postgres_verifies(tmp_path: Path, database_url: str) -> None:
    await check_export(tmp_path, database_url)


async def snapshots(client: LiveServer, path: str) -> list[Json]:
    found: list[Json] = (await client.ask("GET", f"{path}/snapshots"))["snapshots"]
    return found


async def test_a_chat_goes_from_message_to_approval_change_restore_restart_and_history(
    tmp_path: Path, database_url: str
) -> None:
    edit = call("update_file", path="a.txt", edits=[{"find": "old", "replace": "new"}])
    async with live_server(
        tmp_path, replies=[edit, "It is new.", edit], files={"a.txt": "old\n"}, database_url=database_url
    ) as client:
        chat = await client.chat()
        assert (await chat.send("Make it new, please."))["state"] == "awaiting_approval"
        assert (await chat.decide())["state"] == "idle"
        assert (client.workspace / "a.txt").read_text() == "new\n"
        before, _ = await snapshots(client, chat.path)
        await client.ask("POST", f"{chat.path}/snapshots/{before['id']}/restore", {}, expect=200)
        assert (client.workspace / "a.txt").read_text() == "old\n"
        assert (await chat.send("Again."))["state"] == "awaiting_approval"
        said = await chat.messages()
    assert not list((tmp_path / "data").glob("*.db")), "nothing is kept in the data folder's own database"
    async with live_server(tmp_path, replies=["It is new again."], database_url=database_url) as client:
        chat.client = client
        assert await chat.messages() == said, "the history is as it was"
        assert (await chat.decide())["state"] == "idle", "the turn that waited for a person goes on after a restart"
        assert (client.workspace / "a.txt").read_text() == "new\n"
        found = (await client.ask("GET", "/search?q=please"))["results"]
        assert [result["context_id"] for result in found] == [chat.id]
        events = await chat.events()
        assert [event["seq"] for event in events] == sorted({event["seq"] for event in events})
    data = {"data_dir": tmp_path / "data"}
    environ = {"ANYCOWORK_DATABASE_URL": database_url}
    verified = partial(asyncio.to_thread, verify, Invocation(data, environ, tmp_path), (chat.id,), every=True)
    assert await verified() == 0
    run_sql(database_url, f"DELETE FROM records WHERE chat_id = '{chat.id}' AND seq = 2")
    assert await verified() == 1
