"""How a workspace travels to joined workers: patterns of what stays at home, and a setup command whose files never come back."""

import asyncio
import stat
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from typer.testing import CliRunner

from anycowork.cli.joined_worker import CREDENTIAL, store_secret, stored_secret
from anycowork.cli.main import app
from anycowork.server.remote_worker import RemoteWorker
from anycowork.server.worker_connection import NotJoined, WorkerConnection
from support.jobs import approved, by_task, plan, report, until
from support.live_server import LiveServer, RequestRefused, live_server
from support.scripted_model import call
from support.workers import joined_worker, workers_of

FILES = {
    "base.txt": "base\n",
    ".gitignore": "ignored/\nother/\n",
    "ignored/in.txt": "in\n",
    "other/in.txt": "in\n",
    "big/data.txt": "data\n",
    ".env": "KEY=1\n",
}


async def set_travel(server: LiveServer, **body: Any) -> dict[str, Any]:
    [workspace] = (await server.ask("GET", "/workspaces"))["workspaces"]
    await server.ask("PUT", f"/workspaces/{workspace['id']}", body)
    [workspace] = (await server.ask("GET", "/workspaces"))["workspaces"]
    return dict(workspace)


async def done_job(server: LiveServer, *commands: str) -> dict[str, Any]:
    """A job with a task for each command, one after the other."""
    names = [f"t{number}" for number in range(len(commands))]
    server.model.mind = by_task(
        {
            name: [call("execute_command", command=command), report(name)]
            for name, command in zip(names, commands, strict=True)
        }
    )
    steps = [
        {"id": name, "action": name, "commands": [command], "paths": ["*", "**"], "depends_on": names[:number]}
        for number, (name, command) in enumerate(zip(names, commands, strict=True))
    ]
    chat = await server.chat()
    job = await approved(server, chat, plan=plan(*steps))
    done = await until(server, chat, job["id"], "completed", "failed")
    assert done["status"] == "completed", [message["content"] for message in await chat.of_type("tool_result")]
    return done


async def test_patterns_decide_what_stays_at_home(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as server, joined_worker(tmp_path / "one", server):
        workspace = await set_travel(server, travel={"leave_out": ["big/", "!ignored/", "!.env"]})
        assert workspace["travel"] == {"leave_out": ["big/", "!ignored/", "!.env"]} and workspace["setup"] is None
        await done_job(
            server, "find . -type f | sort > seen.txt; mkdir big; echo new > big/data.txt; echo new > ignored/new.txt"
        )
        seen = (server.workspace / "seen.txt").read_text().split()
        assert {"./base.txt", "./ignored/in.txt"} <= {*seen}, seen
        assert not [path for path in seen if path.startswith(("./big", "./other", "./.env"))], seen
        assert (server.workspace / "big/data.txt").read_text() == "data\n", "what stayed at home is not overwritten"
        assert (server.workspace / "ignored/new.txt").read_text() == "new\n", "what travels comes back"


async def test_setup_runs_once_for_a_content_and_its_files_never_come_back(tmp_path: Path) -> None:
    setup = "mkdir -p deps; date +%N > deps/id.txt; cat base.txt > deps/base.txt; echo spoiled > base.txt; echo x > made.txt"
    look = "cat deps/id.txt base.txt >> {}; echo more >> deps/id.txt; echo own > deps/own.txt"
    async with live_server(tmp_path, files=FILES) as server, joined_worker(tmp_path / "one", server):
        workspace = await set_travel(server, setup=setup)
        assert workspace["setup"] == setup and workspace["travel"] == {"leave_out": []}
        await done_job(server, look.format("first.txt"), look.format("second.txt"))
        first = (server.workspace / "first.txt").read_text()
        assert first == (server.workspace / "second.txt").read_text(), "one run served both tasks"
        assert first.endswith("base\n"), "a setup changes nothing that travelled"
        assert not (server.workspace / "deps").exists() and not (server.workspace / "made.txt").exists()
        (server.workspace / "base.txt").write_text("changed\n")
        await done_job(server, look.format("third.txt"))
        third = (server.workspace / "third.txt").read_text()
        assert third != first and third.endswith("changed\n"), "another content is set up anew"
        await set_travel(server, setup="echo no wheel >&2; exit 3")
        server.model.mind = by_task({"t": [call("execute_command", command="true"), report("t", status="failed")]})
        chat = await server.chat()
        step = {"id": "t", "action": "t", "commands": ["true"], "paths": ["*"]}
        job = await approved(server, chat, plan=plan(step), on_failure="ask")
        async with asyncio.timeout(60):
            while not (results := [result for result in await chat.results() if result["tool"] == "execute_command"]):
                await asyncio.sleep(0.05)
        await server.ask("POST", f"/jobs/{job['id']}/cancel", {})
        [result] = results
        assert result["status"] == "error" and "setup ended with 3" in str(result) and "no wheel" in str(result)


async def test_wrong_travel_settings_are_refused(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as server:
        for body in (
            {"travel": {"leave_out": ["a\nb"]}},
            {"travel": {"leave_out": [""]}},
            {"setup": "a\0b"},
            {"other": 1},
        ):
            with pytest.raises(RequestRefused, match="422"):
                await set_travel(server, **body)
        with pytest.raises(RequestRefused, match="404"):
            await server.ask("PUT", f"/workspaces/{'0' * 32}", {"setup": "true"})


async def test_a_worker_comes_back_with_its_own_secret_until_it_is_removed(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as server, aiohttp.ClientSession() as session:
        invite = await server.ask("POST", "/workers/invites", {}, expect=201)

        def worker() -> RemoteWorker:
            return RemoteWorker(WorkerConnection(server.url, session), None, tmp_path / "one", report=lambda line: None)

        joined = worker()
        worker_id = await joined.join(invite["token"], ["gpu"])
        store_secret(tmp_path / "one", server.url, joined.secret)
        assert stat.S_IMODE((tmp_path / "one" / CREDENTIAL).stat().st_mode) == 0o600
        assert stored_secret(tmp_path / "one", "http://127.0.0.1:1") is None, "it is for one server"
        secret = stored_secret(tmp_path / "one", server.url + "/")
        assert secret is not None
        assert await worker().join(secret, ["gpu"]) == worker_id
        [listed] = await workers_of(server)
        assert listed["id"] == worker_id and "no sandbox" in listed["refused"][0]["reason"]
        with pytest.raises(NotJoined, match="gpu"):
            await worker().join(secret, ["gpu", "secret-vault"])
        await server.ask("DELETE", f"/workers/{worker_id}", expect=204)
        with pytest.raises(NotJoined, match="removed"):
            await worker().join(secret, ["gpu"])


def test_a_worker_needs_a_token_once_and_a_folder_of_its_own(tmp_path: Path) -> None:
    joining = ["worker", "--join", "http://127.0.0.1:9", "--cache", str(tmp_path)]
    result = CliRunner().invoke(app, joining)
    assert result.exit_code == 2 and "--token" in result.output
    store_secret(tmp_path, "http://127.0.0.1:9", "ac-worker-x")
    result = CliRunner().invoke(app, joining)
    assert result.exit_code == 1 and "cannot be reached" in result.output
