"""What a person and the server's own faults do to a running job: cancel, park, internal errors, limits."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from anycowork.config.settings import PriceEntry, ProviderEntry
from anycowork.jobs import coordinator, policies
from support.jobs import approved, new_job, plan, report, until, until_idle
from support.live_server import LiveChat, live_server
from support.scripted_model import Answer, Body, Hang, Reply, ScriptedModel, call
from support.spec import proves


async def test_cancelling_a_paused_job_leaves_the_state_of_another_turn_alone(tmp_path: Path) -> None:
    hold = asyncio.Event()
    replies = [Reply(report("a"), hold=hold), Hang(headers=False)]
    steps = plan({"id": "a", "action": "look"}, {"id": "b", "action": "look again"})
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=steps)
        await client.model.asked(1)
        await client.ask("POST", f"/jobs/{job['id']}/pause", expect=200)
        hold.set()
        await until_idle(chat)
        await client.ask("POST", f"{chat.path}/messages", {"content": "Something else"}, expect=202)
        await client.model.asked(2)
        await client.ask("POST", f"/jobs/{job['id']}/cancel", expect=200)
        assert (await chat.show())["state"] == "running"
        events = await chat.events("job-completed")
        [ended] = [event for event in events if event["type"] == "job-completed"]
        assert "state" not in ended, "the chat's own turn still runs"
        await client.ask("POST", f"{chat.path}/stop", expect=200)


async def test_worker_is_asked_for_its_report_once_even_if_it_waited_for_a_person_in_between(tmp_path: Path) -> None:
    write = call("create_file", path="other.txt", content="x")
    replies = ["I think it is fine.", write, "Yes, fine.", *["Hm."] * 4]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        steps = plan({"id": "look", "action": "look around"})
        job = await approved(client, chat, plan=steps, on_failure="ask")
        assert (await chat.rest())["state"] == "awaiting_approval"
        [asked] = await chat.approvals()
        decision = {"decisions": [{"id": asked["id"], "decision": "allow_once"}]}
        await client.ask("POST", f"{chat.path}/approvals", decision, expect=200)
        assert (await chat.rest())["state"] == "awaiting_answer"
        [task] = (await client.ask("GET", f"/jobs/{job['id']}"))["tasks"]
        assert task["error"]["code"] == "no_report" and len(client.model.requests) == 3


async def test_fault_inside_the_coordinator_ends_the_job_as_failed_and_says_so(tmp_path: Path) -> None:
    hold = asyncio.Event()
    steps = plan({"id": "a", "action": "look"}, {"id": "b", "action": "look again"})
    async with live_server(tmp_path, replies=[Reply(report("a"), hold=hold)]) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=steps)
        await client.model.asked(1)
        with sqlite3.connect(next((tmp_path / "data").glob("*.db"))) as stored:
            stored.execute("UPDATE tasks SET dependencies = '[\"nowhere\"]', seq = 1000 WHERE id = 'b'")
        hold.set()
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["status"] == "failed" and job["error"]["code"] == "internal_error"
        assert [task["status"] for task in job["tasks"]] == ["completed", "failed"]
        assert (await chat.show())["state"] == "idle"


@proves("JOB-5/5")
async def test_limit_is_reserved_before_each_request_and_shared_by_all_tasks_of_the_job(tmp_path: Path) -> None:
    used = {"prompt_tokens": 1_000, "completion_tokens": 10}
    done = Reply(report("looked"), usage=used)
    steps = plan(*({"id": f"t{n}", "action": "look"} for n in range(4)))
    async with live_server(tmp_path, replies=[done] * 8) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=steps, limits={"job": {"tokens": 100}})
        job = await until(client, chat, job["id"], "failed", "completed")
        assert client.model.requests == [], "the first request alone would pass the limit"
        assert job["tasks"][0]["error"]["code"] == "limit_reached"
        job = await approved(client, chat, plan=steps, limits={"job": {"tokens": 3_500}})
        job = await until(client, chat, job["id"], "failed", "completed")
        assert 0 < len(client.model.requests) < 4
        assert job["usage"]["tokens"] <= 3_500


@proves("JOB-5/4")
async def test_model_that_never_ends_is_stopped_at_the_time_limit_of_the_job_or_the_task(tmp_path: Path) -> None:
    steps = plan({"id": "a", "action": "look"})
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        for limited in ("job", "task"):
            client.model.replies[:] = [Hang(headers=False)]
            job = await approved(client, chat, plan=steps, limits={limited: {"seconds": 0.2}})
            job = await until(client, chat, job["id"], "failed", "completed")
            [task] = job["tasks"]
            assert task["status"] == "failed" and task["attempt"] == 1
            assert task["error"]["code"] == "limit_reached"


@proves("JOB-5/6")
async def test_cost_of_a_job_and_of_a_task_is_limited(tmp_path: Path) -> None:
    used = {"prompt_tokens": 100_000, "completion_tokens": 10}  # thirty cents
    steps = plan({"id": "a", "action": "look"}, {"id": "b", "action": "look", "dependencies": ["a"]})
    async with ScriptedModel() as model:
        prices = {"scripted": PriceEntry(input=3, output=15)}
        provider = ProviderEntry(name="scripted", base_url=model.base_url, models=("scripted",), prices=prices)
        async with live_server(tmp_path, providers=(provider,)) as client:
            chat = await client.chat()
            model.replies[:] = [Reply(report("looked"), usage=used)] * 2
            job = await approved(client, chat, plan=steps, limits={"job": {"cost": 0.25}})
            job = await until(client, chat, job["id"], "failed", "completed")
            first, second = job["tasks"]
            assert first["status"] == "completed" and second["error"]["code"] == "limit_reached"
            assert len(model.requests) == 1, "the second task would have gone beyond the job's limit"
            model.replies[:] = [
                Reply(call("list_directory", path="."), usage=used),
                Reply(report("looked"), usage=used),
            ]
            job = await approved(client, chat, plan=plan(steps["steps"][0]), limits={"task": {"cost": 0.25}})
            job = await until(client, chat, job["id"], "failed", "completed")
            assert job["tasks"][0]["error"]["code"] == "limit_reached" and len(model.requests) == 2


@proves("JOB-6/1")
@pytest.mark.parametrize("phase", ["planning", "task", "answer"])
async def test_job_that_is_interrupted_again_and_again_ends_and_says_so(
    tmp_path: Path, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ends the server each time (a crash, a machine that goes off) may be the job itself: it is not tried for ever."""
    most = 2
    for module in (policies, coordinator):
        monkeypatch.setattr(module, "MOST_INTERRUPTIONS", most)

    def answer(body: Body) -> Answer:
        in_task = any("Task look: " in str(message["content"]) for message in body["messages"])
        return report("seen") if in_task and phase == "answer" else Hang(headers=False)

    path = job_id = ""
    for start in range(most + 2):
        async with live_server(tmp_path) as client:
            client.model.mind = answer
            if start == 0:
                chat = await client.chat()
                made = (
                    await new_job(client, chat, request="look around")
                    if phase == "planning"
                    else await approved(client, chat, plan=plan({"id": "look", "action": "look"}))
                )
                path, job_id = chat.path, made["id"]
            if start <= most:
                await client.model.asked(2 if start == 0 and phase == "answer" else 1)
                continue
            ended = await until(client, LiveChat(client, await client.ask("GET", path)), job_id, "failed", "completed")
            assert ended["status"] == ("completed" if phase == "answer" else "failed"), "only the words are missing"
            assert "interrupted" in str([ended["error"], *(task["error"] for task in ended["tasks"])])
            assert client.model.requests == []
