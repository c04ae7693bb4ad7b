"""Workers that joined over HTTP, each with a folder of its own: the commands of a job's tasks run there, and their changes are merged here."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from fastapi import Response
from typer.testing import CliRunner

from anycowork.api.routes import workers
from anycowork.cli.main import app
from support.jobs import approved, by_task, plan, report, until
from support.live_server import LiveServer, RequestRefused, live_server
from support.people import person
from support.scripted_model import Reply, call
from support.spec import proves
from support.workers import joined_worker, until_workers, workers_of

FILES = {
    "base.txt": "base\n",
    ".gitignore": "ignored/\n",
    "ignored/big.txt": "stays\n",
    ".env": "KEY=1\n",
    "sub/run.sh": "echo hi\n",
}
LOOK = "{ ls -A && cat base.txt; }"


def running(name: str, command: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "action": f"run {name}", "commands": [command], "paths": [f"{name}.txt"], **more}


def answers(**commands: str) -> Any:
    return by_task(
        {name: [call("execute_command", command=command), report(name)] for name, command in commands.items()}
    )


async def tasks_of(server: LiveServer, job: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {task["id"]: task for task in (await server.ask("GET", f"/jobs/{job['id']}/tasks"))["tasks"]}


@proves("JOB-12/1", "JOB-12/2", "JOB-12/3")
async def test_parallel_tasks_run_on_two_workers_without_a_common_folder(tmp_path: Path) -> None:
    write = {name: f"{LOOK} > {name}.txt; chmod 755 {name}.txt; rm -f gone-{name}.txt" for name in "ab"}
    files = FILES | {f"gone-{name}.txt": "old\n" for name in "ab"}
    async with (
        live_server(tmp_path, files=files) as server,
        joined_worker(tmp_path / "one", server) as one,
        joined_worker(tmp_path / "two", server) as two,
    ):
        server.model.mind = answers(**write)
        chat = await server.chat()
        steps = plan(*(running(name, write[name], paths=[f"{name}.txt", f"gone-{name}.txt"]) for name in "ab"))
        job = await approved(server, chat, plan=steps, parallel=2)
        done = await until(server, chat, job["id"], "completed", "failed")
        tasks = await tasks_of(server, job)
        assert done["status"] == "completed", [tasks, [one["content"] for one in await chat.of_type("tool_result")]]
        assert {task["worker"] for task in tasks.values()} == {one, two}, "each worker got one task"
        results = [result for result in await chat.results() if result["tool"] == "execute_command"]
        assert {result["facts"]["worker"] for result in results} == {one, two}
        for name in "ab":
            made = server.workspace / f"{name}.txt"
            assert made.stat().st_mode & 0o777 == 0o755
            seen = set(made.read_text().split())
            assert {"base.txt", "sub"} <= seen and not {".env", "ignored", ".git"} & seen, seen
            assert not (server.workspace / f"gone-{name}.txt").exists()
        assert (server.workspace / "ignored/big.txt").read_text() == "stays\n"
        assert list((tmp_path / "one/contents").glob("*/*")) and list((tmp_path / "two/contents").glob("*/*"))


@proves("JOB-12/2", "JOB-12/3")
async def test_changes_of_a_worker_wait_for_the_review_and_are_undone_when_it_is_gone(tmp_path: Path) -> None:
    command = "echo made > made.txt; echo more >> base.txt"
    async with live_server(tmp_path, files=FILES) as server:
        async with joined_worker(tmp_path / "one", server):
            server.model.mind = answers(made=command)
            chat = await server.chat()
            steps = plan(running("made", command, paths=["made.txt", "base.txt"]))
            job = await approved(server, chat, plan=steps, commit="job")
            await until(server, chat, job["id"], "awaiting_commit", "failed")
            assert not (server.workspace / "made.txt").exists(), "nothing is written before a person has seen it"
        await server.ask("POST", f"/jobs/{job['id']}/commit", {})
        assert (server.workspace / "made.txt").read_text() == "made\n"
        assert (server.workspace / "base.txt").read_text() == "base\nmore\n"
        await server.ask("POST", f"/jobs/{job['id']}/tasks/made/undo", {})
        assert not (server.workspace / "made.txt").exists()
        assert (server.workspace / "base.txt").read_text() == "base\n"


async def test_the_loop_answers_others_while_what_travels_is_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed, threads = workers._packed, list[int]()

    def noting(data: bytes) -> Response:
        threads.append(threading.get_ident())
        return packed(data)

    monkeypatch.setattr(workers, "_packed", noting)
    async with live_server(tmp_path, files=FILES) as server, joined_worker(tmp_path / "one", server):
        server.model.mind = answers(a="cp base.txt a.txt")
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(running("a", "cp base.txt a.txt")))
        assert (await until(server, chat, job["id"], "completed", "failed"))["status"] == "completed"
    assert len(threads) >= 2 and threading.get_ident() not in threads, "a manifest and contents"


async def test_a_step_waits_until_a_worker_offers_its_label(tmp_path: Path) -> None:
    command = "echo gpu > g.txt"
    async with live_server(tmp_path, files=FILES) as server:
        server.model.mind = answers(g=command)
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(running("g", command, needs=["gpu"])))
        async with asyncio.timeout(60):
            while not (task := (await tasks_of(server, job))["g"])["waiting_for"]:
                await asyncio.sleep(0.05)
        assert task["status"] == "pending" and "gpu" in task["waiting_for"]
        async with (
            joined_worker(tmp_path / "plain", server),
            joined_worker(tmp_path / "one", server, labels=("gpu",)) as one,
        ):
            done = await until(server, chat, job["id"], "completed", "failed")
            task = (await tasks_of(server, job))["g"]
            assert (done["status"], task["worker"], task["waiting_for"]) == ("completed", one, None)


@proves("OPS-6/1")
async def test_the_list_of_workers_names_no_task_of_a_hidden_chat(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, files=FILES) as server,
        joined_worker(tmp_path / "one", server),
        person(server, "Ada", "admin") as ada,
        person(server, "Ben", "admin") as ben,
    ):
        command, held = "echo done > secret-plan.txt", asyncio.Event()
        asked = Reply(call("execute_command", command=command), hold=held)
        server.model.mind = by_task({"secret-plan": [asked, report("secret-plan")]})
        chat = await ada.chat()
        job = await approved(ada, chat, plan=plan(running("secret-plan", command)))
        [worker] = await until_workers(server, lambda listed: bool(listed[0]["tasks"]))
        [seen_by_ada], [seen_by_ben] = await workers_of(ada), await workers_of(ben)
        assert worker["tasks"] == seen_by_ada["tasks"] == ["secret-plan"] and seen_by_ben["tasks"] == []
        held.set()
        assert (await until(ada, chat, job["id"], "completed", "failed"))["status"] == "completed"


@proves("JOB-12/4")
async def test_workers_are_invited_listed_and_removed(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path) as server,
        joined_worker(tmp_path / "one", server, labels=("gpu", "node20")) as one,
    ):
        [worker] = await until_workers(server, bool)
        assert (worker["id"], worker["labels"], worker["level"]) == (one, ["gpu", "node20"], "full")
        assert worker.keys() >= {"host", "processor", "tasks", "cache_bytes", "since", "refused"}
        await server.ask("DELETE", f"/workers/{one}", expect=204)
        assert await workers_of(server) == []
        with pytest.raises(RequestRefused, match="404"):
            await server.ask("DELETE", f"/workers/{one}")


@pytest.mark.parametrize("url", ["http://team.example", "http://192.0.2.7:8484", "ftp://127.0.0.1", "team.example"])
def test_plain_http_to_another_machine_is_refused_before_a_connection(url: str) -> None:
    result = CliRunner().invoke(app, ["worker", "--join", url, "--token", "ac-join-x"])
    assert result.exit_code == 2 and "127.0.0.1" in result.output.replace("\n", " ")
