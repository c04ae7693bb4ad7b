"""Jobs through the front door: planned, approved, worked on task by task, answered."""

import asyncio
import json
from pathlib import Path

import pytest

from support.jobs import approved, new_job, plan, report, until, until_idle, writing
from support.live_server import RequestRefused, live_server
from support.scripted_model import TIMEOUT, HttpError, Reply, call
from support.spec import proves


def file(name: str) -> str:
    return call("create_file", path=f"{name}.txt", content=f"{name}\n")


@proves(
    "JOB-1/1",
    "JOB-1/2",
    "JOB-1/3",
    "JOB-1/4",
    "JOB-1/5",
    "JOB-4/1",
    "JOB-4/2",
    "JOB-7/1",
    "JOB-9/2",
    "EVT-1/6",
    "EVT-1/7",
)
async def test_request_is_planned_approved_worked_on_and_answered(tmp_path: Path) -> None:
    proposed = plan(writing("a", check="grep -q a a.txt"), writing("b", "a"))
    replies = [
        json.dumps(proposed),
        file("a"),
        report("a.txt has the letter a"),
        file("b"),
        report("b.txt is there"),
        "Both files are written.",
    ]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await new_job(client, chat, request="Write a and b")
        assert job["status"] == "planning" and job["tasks"] == []
        job = await until(client, chat, job["id"], "awaiting_approval")
        assert not (client.workspace / "a.txt").exists()
        assert "A task is one outcome that can be checked." in str(client.model.requests[0]["messages"])
        assert (await chat.show())["state"] == "idle"
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job
        assert job["final_response"] == "Both files are written."
        closing = str(client.model.requests[-1]["messages"])
        assert "a.txt has the letter a" in closing and "b.txt is there" in closing, "it is told what every task brought"
        assert [task["status"] for task in job["tasks"]] == ["completed", "completed"]
        assert [task["claimed"] for task in job["tasks"]] == [False, True]
        assert [task["result"] for task in job["tasks"]] == ["a.txt has the letter a", "b.txt is there"]
        assert job["current_step_index"] == 2 and [step["status"] for step in job["steps"]] == ["done", "claimed"]
        assert job["usage"]["tokens"] > job["tasks"][0]["usage"]["tokens"] > 0
        assert (client.workspace / "b.txt").read_text() == "b\n"
        assert (await chat.show())["state"] == "idle"

        messages = await chat.messages()
        assignments = [message for message in messages if message["message_type"] == "task_assignment"]
        assert [message["content"].splitlines()[0] for message in assignments] == [
            "Task a: write a.txt",
            "Task b: write b.txt",
        ]
        assert "a.txt has the letter a" in assignments[1]["content"]
        assert {message["task_id"] for message in messages if message["message_type"] == "task_result"} == {"a", "b"}
        calls = [message for message in messages if message["message_type"] == "tool_call"]
        assert calls and all(message["job_id"] == job["id"] and message["task_id"] for message in calls)
        own = [message["message_type"] for message in messages if message["task_id"] is None]
        assert own == ["text", "plan", "tool_result", "text"]

        events = await chat.events("turn-ended")
        assert [e["task"]["id"] for e in events if e["type"] == "task-started"] == ["a", "b"]
        assert [e["task"]["status"] for e in events if e["type"] == "task-completed"] == ["completed", "completed"]
        assert [e["job"]["status"] for e in events if e["type"] == "job-completed"] == ["completed"]
        updates = [e["plan"]["steps"] for e in events if e["type"] == "plan-update" and e["job_id"] == job["id"]]
        assert [[s["status"] for s in steps] for steps in updates[-4:]] == [
            ["running", "open"],
            ["done", "open"],
            ["done", "running"],
            ["done", "claimed"],
        ]


@proves("JOB-4/1", "JOB-4/2", "JOB-4/3")
async def test_worker_sees_its_task_and_what_it_builds_on_but_not_the_chat(tmp_path: Path) -> None:
    looked = [call("list_directory", path="."), report("found a door"), report("found a window"), report("found a cat")]
    replies = ["A secret of the chat: 4711.", *looked, report("looked"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("Tell me a secret")
        before = [{"id": name, "action": f"look at {name}"} for name in ("door", "window", "cat")]
        last = {"id": "look", "action": "look around", "dependencies": ["door", "window"]}
        job = await approved(client, chat, plan=plan(*before, last))
        await until(client, chat, job["id"], "completed")
        alone, worker, closing = (str(body["messages"]) for body in client.model.requests[4:])
        assert "Task look: look around" in worker and "4711" not in worker
        assert "found a door" in worker and "found a window" in worker and "found a cat" not in worker
        assert "list_directory" not in alone.rpartition("Task cat")[2] and "found a" not in alone, "nor other workers"
        assert "4711" in closing and "looked" in closing


@proves("JOB-1/4")
async def test_plan_that_the_primary_agent_writes_at_the_end_is_the_final_response_and_nobody_waits(
    tmp_path: Path,
) -> None:
    again = json.dumps(plan({"id": "more", "action": "look again"}))
    async with live_server(tmp_path, replies=[report("looked"), again]) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan({"id": "look", "action": "look around"}))
        job = await until(client, chat, job["id"], "completed")
        assert json.loads(job["final_response"])["steps"][0]["id"] == "more"
        shown = await chat.show()
        assert shown["state"] == "idle" and not shown.get("waiting")
        last = (await chat.messages())[-1]
        assert (last["message_type"], last["content"]) == ("text", job["final_response"])
        client.model.replies += [report("looked once more"), HttpError(400, {"error": {"message": "no words"}})]
        job = await approved(client, chat, plan=plan({"id": "look", "action": "look around"}))
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed" and "looked once more" in job["final_response"], (
            "only the words are missing"
        )


@proves("JOB-1/4", "JOB-2/1", "JOB-2/2", "JOB-4/5", "JOB-5/1")
async def test_failed_task_is_retried_twice_then_its_dependants_are_skipped_and_no_others(tmp_path: Path) -> None:
    replies = [*[report("no luck", "failure")] * 3, file("c"), report("c is there")]
    steps = plan(writing("a"), writing("b", "a"), writing("c"))
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=steps)
        job = await until(client, chat, job["id"], "failed", "completed")
        assert [task["status"] for task in job["tasks"]] == ["failed", "skipped", "completed"]
        assert job["tasks"][0]["attempt"] == 3 and job["tasks"][0]["error"]["message"] == "no luck"
        assert job["status"] == "failed" and "a, b" in job["error"]["message"]
        assert job["current_step_index"] == 3, "nothing more will become of any step"
        assert (await chat.show())["state"] == "idle"
        client.model.replies += [file("a"), report("a"), file("b"), report("b"), "All there."]
        await client.ask("POST", f"/jobs/{job['id']}/retry", {"task_id": "a"}, expect=202)
        job = await until(client, chat, job["id"], "completed")
        assert [task["status"] for task in job["tasks"]] == ["completed"] * 3
        assert job["final_response"] == "All there."
        third = str(client.model.requests[1]["messages"])
        assert "This is attempt 2" in third and "no luck" in third


@proves("JOB-5/2")
async def test_failed_task_asks_the_person_who_lets_the_job_go_on_without_it(tmp_path: Path) -> None:
    replies = [report("no luck", "failure"), file("b"), report("b is there")]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(writing("a"), writing("b")), on_failure="ask")
        assert (await chat.rest())["state"] == "awaiting_answer"
        [question] = await chat.of_type("question")
        assert question["task_id"] == "a" and "no luck" in question["content"]
        answer = {"value": "skip"}
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", answer)
        job = await until(client, chat, job["id"], "failed", "completed")
        assert [task["status"] for task in job["tasks"]] == ["failed", "completed"]
        assert job["tasks"][0]["error"]["decision"] == "skip"
        assert job["status"] == "completed" and job["error"]["message"] == "Completed without: a."
        assert len(await chat.of_type("question")) == 1, "and nobody is asked again when the other task ends"


@proves("JOB-5/2")
async def test_person_has_a_failed_task_tried_again_with_what_builds_on_it_or_stops_the_job(tmp_path: Path) -> None:
    replies = [report("no luck", "failure"), file("a"), report("a"), file("b"), report("b"), "Done."]
    async with live_server(tmp_path, replies=[*replies, report("no luck", "failure")]) as client:
        chat = await client.chat()
        for value, ends, statuses in (
            ("retry", "completed", ["completed"] * 2),
            ("stop", "failed", ["failed", "skipped"]),
        ):
            job = await approved(client, chat, plan=plan(writing("a"), writing("b", "a")), on_failure="ask")
            assert (await chat.rest())["state"] == "awaiting_answer"
            question = (await chat.of_type("question"))[-1]
            await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": value})
            job = await until(client, chat, job["id"], "failed", "completed")
            assert (job["status"], [task["status"] for task in job["tasks"]]) == (ends, statuses)
        assert job["error"]["message"] == "no luck" and (await chat.show())["state"] == "idle"


@proves("JOB-4/5")
async def test_worker_without_a_report_is_asked_once_and_then_failed(tmp_path: Path) -> None:
    replies = ["I think it is fine.", "Yes, it is.", *["Hm."] * 4]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan({"id": "look", "action": "look around"}))
        job = await until(client, chat, job["id"], "failed", "completed")
        [task] = job["tasks"]
        assert task["status"] == "failed" and task["error"]["code"] == "no_report" and task["attempt"] == 3
        assert len(client.model.requests) == 6


@proves("JOB-9/1")
async def test_failing_check_keeps_a_claimed_success_from_completing(tmp_path: Path) -> None:
    lie = report("a.txt is right")
    replies = [file("a"), lie, lie, lie, lie, lie, lie, lie, lie, lie]
    async with live_server(tmp_path, replies=replies, max_faults=2) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(writing("a", check="grep -q zebra a.txt")))
        job = await until(client, chat, job["id"], "failed", "completed")
        assert job["status"] == "failed" and job["tasks"][0]["status"] == "failed"


async def test_worker_call_that_the_plan_does_not_name_asks_with_its_job_and_task(tmp_path: Path) -> None:
    replies = [call("create_file", path="other.txt", content="x"), report("done"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan({"id": "look", "action": "look around"}))
        assert (await chat.rest())["state"] == "awaiting_approval"
        [asked] = await chat.approvals()
        assert (asked["job_id"], asked["task_id"]) == (job["id"], "look")
        events = await chat.events("permission-request")
        [request] = [event for event in events if event["type"] == "permission-request"]
        assert (request["job_id"], request["task_id"], request["approval"]["task_id"]) == (job["id"], "look", "look")
        decision = {"decisions": [{"id": asked["id"], "decision": "allow_once"}]}
        await client.ask("POST", f"{chat.path}/approvals", decision, expect=200)
        await until(client, chat, job["id"], "completed")
        assert (client.workspace / "other.txt").exists()


async def test_plan_of_the_chat_runs_as_a_job_with_the_edited_steps(tmp_path: Path) -> None:
    replies = [file("b"), report("b"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat(role="planner")
        proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan(writing("a"))}, expect=201)
        path = f"{chat.path}/plans/{proposed['message_id']}/approve"
        started = await client.ask("POST", path, {"run": "job", "steps": [writing("b")]}, expect=202)
        job = await until(client, chat, started["job_id"], "completed")
        assert [task["id"] for task in job["tasks"]] == ["b"] and job["request"] == "Write the files"
        assert not (client.workspace / "a.txt").exists()
        assert (await chat.show())["config"]["agent_role"] == "actor"
        with pytest.raises(RequestRefused, match="409"):
            await client.ask("POST", path, {"run": "job"}, expect=202)


@proves("JOB-1/2", "JOB-2/1", "JOB-2/3")
async def test_job_is_cancelled_paused_and_resumed(tmp_path: Path) -> None:
    import asyncio

    from support.scripted_model import Hang, Reply

    hold = asyncio.Event()
    replies = [Reply(report("a"), hold=hold), Hang(headers=False), Hang(headers=False)]
    last = {"id": "c", "action": "look once more", "dependencies": ["a", "b"]}
    steps = plan({"id": "a", "action": "look"}, {"id": "b", "action": "look again"}, last)
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=steps)
        await client.model.asked(1)
        await client.ask("POST", f"/jobs/{job['id']}/pause", expect=200)
        hold.set()
        await until_idle(chat)
        job = await client.ask("GET", f"/jobs/{job['id']}")
        assert job["status"] == "paused" and [t["status"] for t in job["tasks"]] == ["completed", "pending", "pending"]
        await client.ask("POST", f"/jobs/{job['id']}/resume", expect=202)
        await client.model.asked(2)
        await client.ask("POST", f"{chat.path}/stop", expect=200)
        job = await until(client, chat, job["id"], "paused", "completed", "failed")
        assert [t["status"] for t in job["tasks"]] == ["completed", "pending", "pending"], "a stop pauses the job"
        await client.ask("POST", f"/jobs/{job['id']}/resume", expect=202)
        await client.model.asked(3)
        with pytest.raises(RequestRefused, match="409"):
            await new_job(client, chat, request="another")
        job = await client.ask("POST", f"/jobs/{job['id']}/cancel", expect=200)
        assert job["status"] == "cancelled"
        assert [t["status"] for t in job["tasks"]] == ["completed", "cancelled", "cancelled"], "also what never started"
        assert (await chat.show())["state"] == "idle"
        listed = await client.ask("GET", f"/jobs?context_id={chat.id}")
        assert [one["status"] for one in listed["jobs"]] == ["cancelled"]


@proves("JOB-5/1", "JOB-5/5", "JOB-2/1")
async def test_task_whose_failure_no_other_attempt_can_mend_fails_at_once(tmp_path: Path) -> None:
    looks = Reply(call("list_directory", path="."), usage={"prompt_tokens": 3_500, "completion_tokens": 10})
    replies = [looks, *[report("x")] * 9]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        steps = plan({"id": "a", "action": "look"})
        job = await approved(client, chat, plan=steps, limits={"task": {"tokens": 4_000}})
        job = await until(client, chat, job["id"], "failed", "completed")
        [task] = job["tasks"]
        assert task["status"] == "failed" and task["error"]["code"] == "limit_reached" and task["attempt"] == 1
        assert len(client.model.requests) == 1
        client.model.replies[:] = [HttpError(401, {"error": {"message": "no such key"}}), *[report("x")] * 9]
        job = await approved(client, chat, plan=steps)
        job = await until(client, chat, job["id"], "failed", "completed")
        [task] = job["tasks"]
        assert (task["status"], task["error"]["code"], task["attempt"]) == ("failed", "provider_bad_key", 1)
        assert "asks for a key" in task["error"]["message"] and len(client.model.requests) == 2


async def test_bad_jobs_are_refused(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        for bad in (
            {},
            {"request": "a", "plan": plan(writing("a"))},
            {"plan": plan(writing("a", "b"), writing("b", "a"))},
            {"plan": plan(writing("a", agent="nobody"))},
            {"request": "a", "on_failure": "shrug"},
        ):
            with pytest.raises(RequestRefused, match="422"):
                await new_job(client, chat, **bad)
        with pytest.raises(RequestRefused, match="404"):
            await client.ask("GET", "/jobs/none")
        assert (await client.ask("GET", "/jobs"))["jobs"] == []


async def test_wait_of_a_worker_for_the_models_server_names_its_task(tmp_path: Path) -> None:
    replies = [HttpError(503, retry_after="0.01"), report("looked"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await new_job(client, chat, plan=plan({"id": "look", "action": "look around"}))
        told, asked = [], False
        async with asyncio.timeout(TIMEOUT):
            async for event in chat.follow():
                if not asked:  # from here on, this reader gets what is not stored, too
                    await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
                    asked = True
                if event["type"] == "model-retry":
                    told.append((event["job_id"], event["task_id"], event["retry"]["status"]))
                if event["type"] == "job-completed":
                    break
        assert told == [(job["id"], "look", 503)]
