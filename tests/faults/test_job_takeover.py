"""A job whose server is killed: another server on the same database takes it over, and no finished task runs again."""

import asyncio
import threading
from pathlib import Path

import pytest

from anycowork.server.cluster import server_peers
from support.fork_server import ForkServer
from support.jobs import approved, plan, report, until, writing
from support.live_server import LiveChat, live_server
from support.postgres import database_url
from support.scripted_model import Reply, call, serve_in_thread
from support.server import child_server
from support.spec import proves

__all__ = ["database_url"]


@proves("JOB-6/1", "JOB-7/4")
async def test_job_of_a_killed_server_is_finished_by_another_one(
    tmp_path: Path, database_url: str, fork_server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_peers, "TAKEOVER_SECONDS", 0.2)
    killed, living = tmp_path / "killed", tmp_path / "living"
    for folder in (killed / "data", living):
        folder.mkdir(parents=True, mode=0o700)
    (killed / "data" / "config.toml").write_text(f'database_url = "{database_url}"\n')
    hold = threading.Event()
    begun = [call("create_file", path="t0.txt", content="0\n"), report("t0 is written")]
    broken = [call("create_file", path="t1.txt", content="1\n"), Reply(report("t1 is written"), hold=hold)]
    rest = [report("t1 was written already"), "All files are written."]
    with (
        serve_in_thread([*begun, *broken]) as model,
        child_server(fork_server, killed, model_url=model.base_url) as child,
    ):
        async with child.connect() as client:
            chat = await client.chat()
            job = await approved(client, chat, plan=plan(writing("t0"), writing("t1", "t0")))
            async with asyncio.timeout(60):
                async for event in chat.follow():
                    if event["type"] == "tool-result" and event.get("task_id") == "t1":
                        break  # its file is written, and its report is awaited
            # Only now: before a run has begun, any server that sees the job may begin it.
            async with live_server(living, replies=rest, database_url=database_url, workspace=child.workspace) as other:
                same_name = {"name": "openai", "base_url": other.model.base_url, "models": ["scripted"]}
                await other.ask("POST", "/providers", same_name, expect=201)
                child.kill()
                there = LiveChat(other, chat.opened)
                done = await until(other, there, job["id"], "completed", "failed", seconds=90)
                events = await there.events()
        hold.set()
        assert done["status"] == "completed", done["error"]
        assert [(task["id"], task["status"], task["attempt"]) for task in done["tasks"]] == [
            ("t0", "completed", 1),
            ("t1", "completed", 2),
        ]
        assert (child.workspace / "t0.txt").read_text() == "0\n" and (child.workspace / "t1.txt").read_text() == "1\n"
        assert "interrupted" in {e.get("reason") for e in events if e["type"] == "turn-ended"}
        assert sum(e["type"] == "task-started" and e["task"]["id"] == "t0" for e in events) == 1
