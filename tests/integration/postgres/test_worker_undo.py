"""What a worker changed is undone from the server, if the server can read the worker's data folder; else it is told where to undo it."""

import platform
import shutil
from pathlib import Path

import pytest

from anycowork.checkpoints.other_packs import ID_FILE
from support.jobs import approved, bytes_of, plan, report, until, writing
from support.live_server import RequestRefused, live_server
from support.scripted_model import call
from support.spec import proves
from support.workers import live_worker

LARGE = "x" * (5 << 20)  # a content of this size has a file of its own


@proves("SNAP-5/2")
async def test_what_a_worker_changed_is_undone_on_the_server_or_the_server_says_where(
    tmp_path: Path, database_url: str
) -> None:
    edit = [{"find": "old", "replace": "new"}]
    replies = [
        call("update_file", path="t0.txt", edits=edit),
        call("delete_file", path="large.txt"),
        report("t0 is changed"),
        "Done.",
    ]
    step = writing("t0", tools_needed=["update_file", "delete_file"], paths=["t0.txt", "large.txt"])
    files, data = {"t0.txt": "old\n", "large.txt": LARGE}, tmp_path / "worker" / "data"
    async with live_server(tmp_path, database_url=database_url, files=files) as server:
        chat = await server.chat()
        async with live_worker(tmp_path / "worker", database_url, replies=replies) as worker:
            job = await approved(server, chat, plan=plan(step))
            done = await until(server, chat, job["id"], "completed", "failed")
            assert done["status"] == "completed" and len(worker.model.requests) == 4, done["error"]
        assert (server.workspace / "t0.txt").read_text() == "new\n" and not (server.workspace / "large.txt").exists()
        path = f"/jobs/{job['id']}/tasks/t0/undo"
        data.rename(tmp_path / "elsewhere")
        with pytest.raises(RequestRefused, match=r"409.*content_elsewhere") as refused:
            await server.ask("POST", path, {})
        told = str(refused.value)
        assert f"the worker on {platform.node()} ({data / 'snapshots'})" in told
        assert f"anycowork serve --data-dir {data}" in told and "Nothing was changed" in told
        assert (server.workspace / "t0.txt").read_text() == "new\n"
        for name, forge in {"another id": _another_id, "other contents": _other_contents}.items():
            shutil.copytree(tmp_path / "elsewhere" / "snapshots", data / "snapshots")
            forge(data / "snapshots")
            with pytest.raises(RequestRefused, match=r"409|410"):
                await server.ask("POST", path, {})
            assert (server.workspace / "t0.txt").read_text() == "new\n", name
            shutil.rmtree(data)
        (tmp_path / "elsewhere").rename(data)
        before = bytes_of(data / "snapshots")
        undone = await server.ask("POST", path, {})
        assert sorted(undone["restored"]) == ["large.txt", "t0.txt"]
        assert (server.workspace / "t0.txt").read_text() == "old\n"
        assert (server.workspace / "large.txt").read_text() == LARGE
        assert bytes_of(data / "snapshots") == before, "nothing is written there"
        again = await server.ask("POST", f"{chat.path}/snapshots/{undone['undo_snapshot']}/restore", {})
        assert again["restored"] == ["t0.txt"], "undoing the undo needs nothing of the worker"


def _another_id(folder: Path) -> None:
    (folder / ID_FILE).write_text("0" * 32 + "\n")


def _other_contents(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name != ID_FILE:
            content = bytearray(path.read_bytes())
            content[-3:] = b"???"
            path.write_bytes(content)
