"""A server and workers on one database: workers run approved jobs, people decide on the server, and what does not fit is left to others."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from anycowork.config.settings import AgentEntry
from anycowork.engine.run_table import RunState
from anycowork.server.cluster.job_runs import KIND
from support.jobs import Answers, approved, by_task, plan, report, until, writing
from support.live_server import RequestRefused, live_server
from support.postgres import run_sql
from support.scripted_model import Reply, ScriptedModel, call
from support.spec import proves
from support.workers import live_worker, until_printed, until_workers, worker_process, workers_of

SECONDS = 60.0

WORK = [call("create_file", path="t0.txt", content="0\n"), report("t0 is written"), "The file is written."]


async def test_an_approved_job_runs_on_the_worker_and_not_on_the_server(tmp_path: Path, database_url: str) -> None:
    async with (
        live_server(tmp_path, database_url=database_url) as server,
        live_worker(tmp_path / "worker", database_url, replies=WORK) as worker,
    ):
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(writing("t0")))
        done = await until(server, chat, job["id"], "completed", "failed")
        assert (done["status"], done["final_response"]) == ("completed", "The file is written."), done
        assert (server.workspace / "t0.txt").read_text() == "0\n"
        assert len(worker.model.requests) == 3 and not server.model.requests
        peers = worker.services.database.peers
        async with asyncio.timeout(SECONDS):
            while (
                peers is not None and peers.held
            ):  # until the worker has given the chat back, it answers for it, messages too
                await asyncio.sleep(0.01)
        server.model.replies[:] = ["Hello."]
        assert (await chat.send("Hello?"))["state"] == "idle", "the chat is free again, and its turns run on the server"
        assert len(worker.model.requests) == 3


@proves("JOB-7/2")
async def test_a_job_that_is_submitted_twice_runs_once_and_its_run_ends_with_it(
    tmp_path: Path, database_url: str
) -> None:
    hold = asyncio.Event()
    async with (
        live_server(tmp_path, database_url=database_url) as server,
        live_worker(tmp_path / "worker", database_url, replies=[WORK[0], Reply(WORK[1], hold=hold), WORK[2]]) as worker,
    ):
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(writing("t0")))
        await worker.model.asked(2)
        engine, here = server.server.job_engine, worker.services.job_engine
        assert engine is not None and here is not None
        found = await engine.find(job["id"])
        assert found is not None and (found.state, found.owner) == (RunState.ACTIVE, here.worker_id)
        for _ in range(2):
            await engine.submit(KIND, {"job_id": job["id"]}, key=job["id"])
        assert await engine.find(job["id"]) == found
        hold.set()
        async with asyncio.timeout(SECONDS):
            while (position := await engine.find(job["id"])) and position.state is not RunState.COMPLETED:
                await asyncio.sleep(0.05)
        assert len(worker.model.requests) == 3 and not server.model.requests, "each step was done once"
        runs = [e for e in await chat.events() if e["type"] == "task-started"]
        assert len(runs) == 1


async def test_people_control_a_job_on_a_worker_through_the_server(tmp_path: Path, database_url: str) -> None:
    hold = asyncio.Event()
    replies = [WORK[0], Reply(WORK[1], hold=hold)]
    async with (
        live_server(tmp_path, database_url=database_url) as server,
        live_worker(tmp_path / "worker", database_url, replies=replies) as worker,
    ):
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(writing("t0"), writing("t1", "t0")))
        await worker.model.asked(2)
        (listed,) = await until_workers(server, lambda found: bool(found and found[0]["jobs"]))
        assert listed["jobs"] == [job["id"]] and listed["refused"] == []
        path = f"/jobs/{job['id']}"
        assert (await server.ask("POST", f"{path}/pause", {}))["status"] == "paused"
        assert (await server.ask("POST", f"{path}/resume", {}))["status"] == "running"
        with pytest.raises(RequestRefused, match=r"409.*This job is running, not paused"):
            await server.ask("POST", f"{path}/resume", {})
        body = {"content": "Use short names.", "when": "idle"}
        assert "queued_id" in await server.ask("POST", f"{chat.path}/messages", body, expect=202)
        assert (await server.ask("POST", f"{path}/cancel", {}))["status"] == "cancelled"
        assert not worker.services.scheduler.is_busy(chat.id), "what ran on the worker is stopped"
        events = await chat.events(until="job-completed")
        assert {e["principal"] for e in events if e["type"] == "job-updated"} == {"person:owner"}


async def test_a_decision_on_the_server_continues_the_task_on_the_worker(tmp_path: Path, database_url: str) -> None:
    replies = [call("delete_file", path="old.txt"), *WORK]
    async with (
        live_server(tmp_path, database_url=database_url, files={"old.txt": "old\n"}) as server,
        live_worker(tmp_path / "worker", database_url, replies=replies) as worker,
    ):
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(writing("t0")))
        async with asyncio.timeout(SECONDS):
            async for event in chat.follow():
                if event["type"] == "permission-request":
                    break
        (pending,) = await chat.approvals()
        run_sql(database_url, "DELETE FROM engine_runs; DELETE FROM dbos.workflow_status")  # the journal is the truth
        decision = {"decisions": [{"id": pending["id"], "decision": "allow_once"}]}
        await server.ask("POST", f"{chat.path}/approvals", decision, expect=200)
        done = await until(server, chat, job["id"], "completed", "failed")
        assert done["status"] == "completed" and not (server.workspace / "old.txt").exists()
        assert len(worker.model.requests) == 4 and not server.model.requests


@proves("JOB-7/3")
async def test_the_job_of_a_worker_that_leaves_goes_on_elsewhere(tmp_path: Path, database_url: str) -> None:
    async with live_server(tmp_path, database_url=database_url) as server:
        server.model.replies[:] = [report("t0 was written already"), "The file is written."]
        chat = await server.chat()
        hold = asyncio.Event()
        async with live_worker(
            tmp_path / "worker", database_url, replies=[WORK[0], Reply(WORK[1], hold=hold)]
        ) as worker:
            job = await approved(server, chat, plan=plan(writing("t0")))
            await worker.model.asked(2)
        done = await until(server, chat, job["id"], "completed", "failed")
        assert (done["status"], done["tasks"][0]["attempt"]) == ("completed", 2)
        assert await workers_of(server) == []


@proves("JOB-7/3")
async def test_a_worker_that_leaves_ends_the_task_that_it_works_on_and_begins_no_other(
    tmp_path: Path, database_url: str
) -> None:
    hold = asyncio.Event()
    async with ScriptedModel([WORK[0], Reply(WORK[1], hold=hold), "Nobody asks me."]) as model:
        with worker_process(tmp_path / "worker", database_url, model.base_url) as process:
            async with live_server(tmp_path, database_url=database_url) as server:
                replies = [call("create_file", path="t1.txt", content="1\n"), report("t1"), "Both are written."]
                server.model.replies[:] = replies
                chat = await server.chat()
                await until_workers(server, bool)
                job = await approved(server, chat, plan=plan(writing("t0"), writing("t1", "t0")))
                await model.asked(2)
                process.terminate()
                await asyncio.to_thread(until_printed, tmp_path / "worker" / "log", "Finishing what runs")
                hold.set()
                assert await asyncio.to_thread(process.wait, SECONDS) == 0
                done = await until(server, chat, job["id"], "completed", "failed")
                assert [(task["status"], task["attempt"]) for task in done["tasks"]] == [("completed", 1)] * 2
                assert len(model.requests) == 2 and len(server.model.requests) == len(replies)


async def test_jobs_with_private_copies_stay_on_the_server(tmp_path: Path, database_url: str) -> None:
    async with (
        live_server(tmp_path, database_url=database_url, replies=WORK) as server,
        live_worker(tmp_path / "worker", database_url) as worker,
    ):
        chat = await server.chat()
        job = await approved(server, chat, plan=plan(writing("t0")), commit="job")
        done = await until(server, chat, job["id"], "awaiting_commit", "failed")
        assert done["status"] == "awaiting_commit" and not worker.model.requests


async def test_a_worker_with_other_roles_or_another_folder_refuses_and_the_server_works(
    tmp_path: Path, database_url: str
) -> None:
    async with live_server(tmp_path, database_url=database_url) as server:
        chat = await server.chat()
        others: list[dict[str, Any]] = [
            {"ask": "at_commit"},
            {"agents": {"scribe": AgentEntry(role="actor")}},
            {"sandbox_paths": (str(tmp_path),)},
            {},
        ]
        for case, settings in enumerate(others):
            folder = tmp_path / f"worker{case}"
            async with live_worker(folder, database_url, **settings) as worker:
                server.model.replies[:] = [
                    call("create_file", path=f"{case}.txt", content="x"),
                    report("done"),
                    "Done.",
                ]
                if not settings:
                    (server.workspace / ".anycowork" / "workspace-id").unlink()
                    (server.workspace / ".anycowork" / "workspace-id").mkdir()
                job = await approved(server, chat, plan=plan(writing(str(case))))
                done = await until(server, chat, job["id"], "completed", "failed")
                assert done["status"] == "completed" and not worker.model.requests
                if settings:
                    (listed,) = await workers_of(server)
                    assert [one["job_id"] for one in listed["refused"]] == [job["id"]]
                    assert "differ from those of the servers" in listed["refused"][0]["reason"]


async def test_a_task_for_another_agent_is_done_on_the_server_beside_workers(tmp_path: Path, database_url: str) -> None:
    """It writes into a private copy, which a worker does not have; the chat's turn waits for it on the server."""
    answers: Answers = {"scribe": [WORK[0], report("t0 is written")]}
    own = [call("ask_agent", agent="scribe", task="write t0", paths=["t0.txt"]), "It was written."]
    agents = {"scribe": {"role": "actor", "description": "writes short texts"}}
    async with (
        live_server(tmp_path, database_url=database_url, agents=agents) as server,
        live_worker(tmp_path / "worker", database_url) as worker,
    ):
        server.model.mind = by_task(answers, lambda told: own.pop(0))
        await until_workers(server, bool)
        chat = await server.chat()
        await chat.send("Have t0 written.", until="rest")
        asked = await chat.approvals()
        assert [approval["tool"] for approval in asked] == ["ask_agent"]
        decisions = [{"id": asked[0]["id"], "decision": "allow_once"}]
        await server.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
        async with asyncio.timeout(SECONDS):
            async for event in chat.follow():
                if event["type"] == "turn-ended" and event.get("task_id") is None:
                    break
        assert (await chat.last())["content"] == "It was written."
        [result] = [message for message in await chat.of_type("tool_result") if message["task_id"] is None]
        assert result["payload"]["status"] == "ok" and "t0 is written" in result["content"]
        assert (server.workspace / "t0.txt").read_text() == "0\n" and not worker.model.requests
