"""`anycowork database backup` copies a running server's data folder: the copy opens with everything that was durable by then."""

import asyncio
import hashlib
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from support.live_server import live_server
from support.postgres import PostgresCluster
from support.scripted_model import call
from support.spec import proves


@proves("OPS-4/6")
async def test_copy_of_a_running_server_opens_with_chats_checkpoints_and_audit_log(tmp_path: Path) -> None:
    async def copy() -> None:
        assert await back_up(tmp_path / "data", tmp_path / "copy/data") == (0, "")

    await copied_while_it_runs_and_opened(tmp_path, copy)


@proves("OPS-4/6")
async def test_dump_of_postgresql_and_a_copy_of_the_folder_open_together(
    tmp_path: Path, postgres: PostgresCluster, database_url: str
) -> None:
    restored = postgres.new_database()

    async def copy() -> None:
        dump = tmp_path / "chats.dump"
        assert await run(str(postgres.programs / "pg_dump"), "-Fc", "-f", str(dump), "-d", database_url) == (0, "")
        in_postgres = {"ANYCOWORK_DATABASE_URL": database_url}
        assert await back_up(tmp_path / "data", tmp_path / "copy/data", **in_postgres) == (0, "")
        assert await run(str(postgres.programs / "pg_restore"), "-d", restored, str(dump)) == (0, "")

    await copied_while_it_runs_and_opened(tmp_path, copy, database_url, restored)
    assert not (tmp_path / "copy/data/anycowork.db").exists()


async def copied_while_it_runs_and_opened(
    tmp_path: Path, copy: Callable[[], Awaitable[None]], url: str | None = None, copied_url: str | None = None
) -> None:
    replies = [call("list_directory", path="."), "There is one file.", "Still one."]
    given, copied = ({"database_url": given} if given else {} for given in (url, copied_url))
    async with live_server(tmp_path, replies=replies, files={"a.txt": "old\n"}, **given) as client:
        chat = await client.chat()
        await chat.send("What is there?")
        old = hashlib.sha256(b"old\n").hexdigest()
        saved = await client.ask("PUT", f"{chat.path}/file", {"path": "a.txt", "text": "new\n", "sha256": old})
        before = await chat.messages()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(copy())
            await chat.send("And now?")  # the server goes on meanwhile
        assert len(await chat.messages()) > len(before)
    async with live_server(tmp_path / "copy", replies=["Restored."], **copied) as client:
        restored = await client.ask("GET", f"/context/{chat.id}/messages?limit=500")
        assert restored["messages"][: len(before)] == before
        audit = await client.ask("POST", "/audit/verify")
        assert audit["full"] and audit["chains"] > 0 and not audit["broken"], audit
        await client.ask("POST", f"{chat.path}/snapshots/{saved['snapshot']}/restore", {"only": True})
        assert (tmp_path / "workspace/a.txt").read_text() == "old\n"


async def test_backup_is_private_follows_no_links_and_never_replaces_anything(tmp_path: Path) -> None:
    data, copy, outside = tmp_path / "data", tmp_path / "copy", tmp_path / "outside"
    outside.mkdir()
    async with live_server(tmp_path):
        (data / "linked").symlink_to(outside)
        os.mkfifo(data / "pipe")
        (data / "roles").mkdir(exist_ok=True)
        (data / "roles/own.toml").write_text("# mine\n")
        assert await back_up(data, copy) == (0, "")
        status, said = await back_up(data, copy)
        assert status == 1 and "exists already" in said
        status, said = await back_up(data, data / "roles/copy")
        assert status == 2 and "in the data folder itself" in said
    assert copy.stat().st_mode & 0o777 == 0o700
    assert (copy / "anycowork.db").stat().st_mode & 0o777 == 0o600
    assert (copy / "roles/own.toml").read_text() == "# mine\n"
    assert (copy / "linked").readlink() == outside
    assert not {"pipe", "lock", "server.json", "staging"} & {path.name for path in copy.iterdir()}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "data", "outside", "workspace"]


async def test_backup_of_a_folder_without_a_server_names_it_and_leaves_nothing(tmp_path: Path) -> None:
    status, said = await back_up(tmp_path / "none", tmp_path / "copy")
    assert status == 2 and str(tmp_path / "none") in said
    (tmp_path / "empty").mkdir()
    status, said = await back_up(tmp_path / "empty", tmp_path / "copy")
    assert status == 2 and "no server has used" in said
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


async def test_backup_to_a_place_that_cannot_be_written_names_it_the_reason_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "file").write_text("not a folder\n")
    status, said = await back_up(tmp_path / "data", tmp_path / "file/below/copy")
    assert status == 1 and "Errno" not in said
    assert f"in {tmp_path / 'file/below'} (Not a directory)" in said and "name another place" in said


async def back_up(data: Path, to: Path, **environment: str) -> tuple[int, str]:
    command = (sys.executable, "-m", "anycowork", "database", "backup", str(to), "--data-dir", str(data))
    return await run(*command, **environment)


async def run(*command: str, **environment: str) -> tuple[int, str]:
    """Runs the command; returns its exit code and what it says of errors."""
    ran = await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await ran.communicate()
    return ran.returncode or 0, said.decode()
