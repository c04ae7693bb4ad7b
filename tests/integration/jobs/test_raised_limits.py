"""A spent budget is no dead end: a person raises it, and the job goes on with what never started."""

import asyncio
from pathlib import Path

from support.jobs import approved, plan, report, until, writing
from support.live_server import live_server
from support.scripted_model import Reply, call
from support.spec import proves

USED = {"prompt_tokens": 1_000, "completion_tokens": 10}


@proves("JOB-5/5")
async def test_job_goes_on_after_its_limit_was_raised_and_what_never_started_stays_pending(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    replies = []
    for name in names:
        replies += [
            Reply(call("create_file", path=f"{name}.txt", content=name), usage=USED),
            Reply(report(f"{name} is there"), usage=USED),
        ]
    async with live_server(tmp_path, replies=[*replies, "Done."]) as client:
        chat = await client.chat()
        steps = plan(writing("a"), writing("b", "a"), writing("c", "b"))
        job = await approved(client, chat, plan=steps, limits={"job": {"tokens": 4_000}})
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["status"] == "failed" and job["error"]["code"] == "limit_reached"
        assert [task["status"] for task in job["tasks"]][2] == "pending", "it never started"
        used = job["usage"]["tokens"]
        assert used == 1_010 * len(client.model.requests), "what was used, without what was set aside"
        assert f"{used:,} of 4,000 are used, and the next request may need" in job["error"]["message"]
        path = f"/jobs/{job['id']}"
        shown = await client.ask("PATCH", path, {"limits": {"job": {"tokens": 400_000}}})
        assert shown["limits"]["job"] == {"tokens": 400_000} and shown["status"] == "running"
        job = await until(client, chat, job["id"], "completed")
        assert [task["status"] for task in job["tasks"]] == ["completed"] * 3 and job["error"] is None
        refused = await client.ask("PATCH", path, {"limits": {"job": {"tokens": 5}}}, expect=409)
        assert "no limit stopped it" in refused["error"]["message"]
        client.model.replies += [*(Reply(report("looked"), usage=USED) for _ in names), "Done."]
        looks = plan(*({"id": name, "action": "look"} for name in names))
        job = await approved(client, chat, plan=looks, commit="job", limits={"job": {"tokens": 3_500}})
        job = await until(client, chat, job["id"], "awaiting_commit", "failed")
        assert job["status"] == "awaiting_commit" and job["error"]["code"] == "limit_reached", "what is done waits"
        raised = await client.ask("PATCH", f"/jobs/{job['id']}", {"limits": {"job": {"tokens": 400_000}}})
        assert raised["status"] == "running"
        job = await until(client, chat, job["id"], "awaiting_commit")
        assert job["error"] is None


@proves("JOB-5/5")
async def test_what_a_spent_job_is_said_to_have_used_is_what_it_used(tmp_path: Path) -> None:
    much = {"prompt_tokens": 50_000, "completion_tokens": 10}
    async with live_server(tmp_path, replies=[Reply(call("list_directory", path="."), usage=much)]) as client:
        chat = await client.chat()
        steps = plan({"id": "t", "action": "look"})
        job = await approved(client, chat, plan=steps, limits={"job": {"tokens": 40_000}})
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["usage"]["tokens"] == 50_010
        assert job["error"]["message"] == (
            "The budget of the job is spent (50,010 of 40,000 tokens). Raise the limit to go on."
        )


@proves("JOB-5/5")
async def test_task_that_met_its_own_limit_is_tried_again_when_a_person_raises_it(tmp_path: Path) -> None:
    replies = [Reply(call("read_file", path="a.txt"), usage=USED), Reply(report("looked"), usage=USED)]
    replies += [Reply(report("drawn"), usage=USED), "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}) as client:
        chat = await client.chat()
        steps = plan({"id": "t", "action": "look"}, {"id": "u", "action": "draw", "dependencies": ["t"]})
        job = await approved(client, chat, plan=steps, limits={"task": {"tokens": 100}})
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["tasks"][1]["status"] == "skipped"
        assert job["tasks"][0]["error"]["code"] == "limit_reached"
        raised = {"limits": {"task": {"tokens": None}}}
        shown = await client.ask("PATCH", f"/jobs/{job['id']}", raised)
        assert shown["limits"]["task"] == {}
        job = await until(client, chat, job["id"], "completed")
        assert [task["status"] for task in job["tasks"]] == ["completed", "completed"]


@proves("JOB-5/5")
async def test_task_that_runs_uses_what_a_person_adds_to_its_limit(tmp_path: Path) -> None:
    raised = asyncio.Event()
    looks = Reply(
        call("list_directory", path="."), usage={"prompt_tokens": 3_900, "completion_tokens": 10}, hold=raised
    )
    async with live_server(tmp_path, replies=[looks, report("looked"), "Done."]) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan({"id": "t", "action": "look"}), limits={"task": {"tokens": 4_000}})
        await client.model.asked(1)
        await client.ask("PATCH", f"/jobs/{job['id']}", {"limits": {"task": {"tokens": 400_000}}})
        raised.set()
        job = await until(client, chat, job["id"], "failed", "completed")
        assert (job["status"], job["tasks"][0]["attempt"]) == ("completed", 1), job["error"]


@proves("JOB-5/5")
async def test_tasks_that_ask_at_the_same_time_share_one_budget(tmp_path: Path) -> None:
    steps = plan(*({"id": f"t{number}", "action": "look", "role": "planner"} for number in range(8)))
    used = {"prompt_tokens": 1_000, "completion_tokens": 7}
    replies = [Reply(report("looked"), usage=used) for _ in range(9)]
    async with live_server(tmp_path, replies=replies, parallel_tasks=8) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=steps, limits={"job": {"tokens": 3_000}})
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["error"]["code"] == "limit_reached"
        assert job["usage"]["tokens"] <= 3_000, "no request was made that the others left no room for"
