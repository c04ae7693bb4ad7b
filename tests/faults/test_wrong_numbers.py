"""A text in any column of numbers, as a damaged or edited database has it: each answer says so or goes on, and none ends in a traceback."""

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path

import aiohttp
import pytest

from anycowork.config.settings import Settings
from support.jobs import approved, plan, report, until, writing
from support.live_server import TIMEOUT, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

KEYS = ("position", "seq")  # what rows are found by: another value is another row, or none
BAD = ("'many'", "9e999", "X'ff'")


def number_columns(path: Path) -> Iterator[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
                if kind in ("BIGINT", "INTEGER", "DOUBLE PRECISION") and column not in KEYS and "search" not in table:
                    yield table, column


@proves("OPS-2")
async def test_text_in_a_column_of_numbers_never_ends_in_a_traceback(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = Settings(data_dir=tmp_path / "data").database_path
    replies = [call("create_file", path="a.txt", content="a"), "Noted.", report("Nothing to do."), *["Noted."] * 900]
    async with live_server(tmp_path, replies=replies) as client:
        addresses = await written(client)
        columns = list(number_columns(path))
        assert len(columns) > 50
        untold = []
        for (table, column), bad in zip(columns, cycle(BAD), strict=False):
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute(f"CREATE TEMP TABLE sound AS SELECT * FROM {table}")
                try:
                    connection.execute(f"UPDATE {table} SET {column} = {bad}")
                except sqlite3.IntegrityError:
                    continue  # a check of the table refuses it
                for address in addresses:
                    status, text = await answered(client, address)
                    if status == 500 or (status == 503 and "damaged" not in text):
                        untold.append(f"{table}.{column} {address}: {text[:120]}")
                connection.execute(f"DELETE FROM {table}")
                connection.execute(f"INSERT INTO {table} SELECT * FROM sound")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE approvals SET created_at = 'yesterday'")
            assert (await answered(client, "/metrics"))[0] == 503
            connection.execute("UPDATE approvals SET created_at = '2026-01-01T00:00:00.000Z'")
            connection.execute("UPDATE chats SET title = CAST(x'ff' AS TEXT)")
            assert (await answered(client, "/context"))[0] == 503
            connection.execute("UPDATE chats SET title = 'A chat'")
        assert not untold, "\n".join(untold)
        assert not [record.message for record in caplog.records if record.levelno >= logging.ERROR]
        for address in addresses:
            assert (await answered(client, address))[0] not in (500, 503), address


async def written(client: LiveServer) -> list[str]:
    """Fills the tables; the addresses of everything there is to read."""
    chat = await client.chat()
    await chat.send("Write it.")
    await chat.decide()
    job = await approved(client, chat, plan=plan(writing("d")))
    await until(client, chat, job["id"], "completed", "failed")
    client.model.replies[:0] = [call("create_file", path="c.txt", content="c")]
    await chat.send("Write another.")
    assert await chat.approvals()
    key = await client.ask("POST", "/keys", {"name": "a program"}, expect=201)
    body = {"model": "scripted/scripted", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5}
    headers = {"Authorization": f"Bearer {key['key']}"}
    async with client.session.post(client.url + "/v1/chat/completions", json=body, headers=headers) as response:
        assert response.status == 200, await response.text()
    await client.ask("POST", "/v1/system-prompts", {"name": "Mine", "content": "Be kind."}, expect=201)
    snapshots = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
    of_chat = (
        "",
        "/messages",
        "/approvals",
        "/usage",
        "/snapshots",
        "/audit",
        "/jobs",
        "/changes",
        "/export?format=json",
    )
    return [
        *(chat.path + end for end in of_chat),
        f"{chat.path}/snapshots/{snapshots[0]['id']}/diff",
        f"/jobs/{job['id']}",
        *("/metrics", "/context", "/keys", "/usage", "/rules", "/v1/system-prompts", "/search?q=write"),
    ]


async def answered(client: LiveServer, address: str) -> tuple[int, str]:
    async with client.session.get(client.url + address, timeout=aiohttp.ClientTimeout(total=TIMEOUT)) as response:
        return response.status, (await response.read()).decode(errors="replace")
