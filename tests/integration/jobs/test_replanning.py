"""Plans of jobs that are wrong, and plans for the rest of a job: the planner is told in words, and builds on what is done."""

import json
from pathlib import Path

from support.jobs import approved, new_job, plan, report, until, writing
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves


def file(name: str) -> str:
    return call("create_file", path=f"{name}.txt", content=f"{name}\n")


@proves("JOB-5/3")
async def test_new_plan_depends_on_a_completed_task_and_its_worker_gets_the_result(tmp_path: Path) -> None:
    again = plan(writing("c", "a"), writing("d", "c"))
    replies = [file("a"), report("a holds the letter a"), report("impossible", "failure"), json.dumps(again)]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(writing("a"), writing("b", "a")), on_failure="replan")
        job = await until(client, chat, job["id"], "awaiting_approval", "failed")
        assert job["status"] == "awaiting_approval", job["error"]
        client.model.replies += [file("c"), report("c"), file("d"), report("d"), "Done."]
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job["error"]
        assert {task["id"]: task["dependencies"] for task in job["tasks"]}["c"] == ["a"]
        briefs = [str(body["messages"]) for body in client.model.requests if "Task c: " in str(body["messages"])]
        assert "a holds the letter a" in briefs[0]


@proves("JOB-1/1", "JOB-2/2", "PLN-3")
async def test_planner_is_told_what_is_wrong_with_its_plan_until_it_is_right(tmp_path: Path) -> None:
    loop = plan(writing("a", "b"), writing("b", "a"))
    unknown = plan(writing("a", "nowhere"))
    replies = ["I shall think.", json.dumps(unknown), json.dumps(plan(writing("a")))]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await new_job(client, chat, request="Write a")
        job = await until(client, chat, job["id"], "awaiting_approval", "failed")
        assert job["status"] == "awaiting_approval", job["error"]
        told = [str(body["messages"][-1]["content"]) for body in client.model.requests]
        assert "one JSON object" in told[1] and "nowhere" in told[2]
        await client.ask("POST", f"/jobs/{job['id']}/cancel", {})
        client.model.replies = [json.dumps(loop), json.dumps(plan(writing("a")))]
        job = await new_job(client, chat, request="Write it once more")
        job = await until(client, chat, job["id"], "awaiting_approval", "failed")
        assert "wait for each other: a, b" in str(client.model.requests[-1]["messages"][-1]["content"])
        edited = {"steps": [{"id": "z", "action": "look around"}]}
        job = await client.ask("POST", f"/jobs/{job['id']}/approve", edited, expect=202)
        assert [task["description"] for task in job["tasks"]] == ["look around"], "what the person made of it"
        await client.ask("POST", f"/jobs/{job['id']}/cancel", {})


async def test_planner_that_never_writes_a_plan_ends_the_job_at_the_limit_of_faults(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Not now."] * 30) as client:
        chat = await client.chat()
        job = await new_job(client, chat, request="Write a")
        job = await until(client, chat, job["id"], "failed", "awaiting_approval")
        assert job["status"] == "failed" and 1 < len(client.model.requests) < 30


@proves("JOB-5/2")
async def test_dependants_of_a_failed_task_are_done_without_it_if_the_person_says_so(tmp_path: Path) -> None:
    replies = [report("no luck", "failure"), file("b"), report("b is there"), file("c"), report("c is there"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        steps = plan(writing("a"), writing("b", "a"), writing("c", "b"))
        job = await approved(client, chat, plan=steps, on_failure="ask")
        await chat.rest()
        [question] = await chat.of_type("question")
        assert question["content"].startswith(
            "Task 'write a.txt' failed: no luck. What should the job do? These tasks build on it"
        )
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": "without"})
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["status"] == "completed", job["error"]
        assert [task["status"] for task in job["tasks"]] == ["failed", "completed", "completed"]
        assert [task["dependencies"] for task in job["tasks"]] == [[], [], ["b"]], "c builds on b as before"
        assert job["error"]["code"] == "completed_with_gap" and job["final_response"] == "Done."


@proves("JOB-5/3")
async def test_job_that_fails_again_and_again_is_not_planned_for_ever(tmp_path: Path) -> None:
    """The planner's plan is approved each time, and its task fails each time."""
    again = [report("impossible", "failure"), json.dumps(plan(writing("b")))]
    async with live_server(tmp_path, replies=again * 20) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(writing("a")), on_failure="replan")
        for _ in range(10):
            job = await until(client, chat, job["id"], "awaiting_approval", "failed")
            if job["status"] == "failed":
                break
            await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        assert job["status"] == "failed" and len(client.model.requests) == 7, "three new plans, and no more"
