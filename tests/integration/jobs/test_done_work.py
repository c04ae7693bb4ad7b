"""Done work counts: a task ends well whenever its worker did the work, however the planner guessed that it would be done."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from support.evidence import states
from support.jobs import Json, approved, by_task, new_job, plan, report, until, writing
from support.live_server import LiveChat, LiveServer, live_server
from support.raw_mcp_server import raw_server
from support.scripted_model import Reply, call
from support.spec import proves

FILES = {"a.txt": "needle\n", "b.txt": "right already\n"}
APPEND = call("execute_command", command="echo a >> log.txt")


def guess(name: str, **parts: Any) -> Json:
    return {"id": name, "action": f"do {name}", **parts}


async def ended(client: LiveServer, chat: LiveChat, job: Json) -> Json:
    """The job's end; whatever asks on the way is allowed."""
    while True:
        shown = await client.ask("GET", f"/jobs/{job['id']}")
        if shown["status"] in ("completed", "failed"):
            return shown
        await chat.rest()
        if await chat.approvals():
            await chat.decide()


GUESSES = [
    pytest.param(guess("t", tools_needed=["grep"]), [call("search_code", query="needle")], id="grep and search_code"),
    pytest.param(
        guess("t", tools_needed=["search_symbol"]), [call("grep", pattern="needle")], id="search_symbol and grep"
    ),
    pytest.param(guess("t", tools_needed=["create_file"], paths=["log.txt"]), [APPEND], id="create_file and a command"),
    pytest.param(
        guess("t", tools_needed=["write_files"], paths=["new.txt"]),
        [call("create_file", path="new.txt", content="x")],
        id="write_files and create_file",
    ),
    pytest.param(
        guess("t", tools_needed=["create_file"], paths=["new.txt"]),
        [call("create_file", path="other.txt", content="x")],
        id="another file that the person allowed",
    ),
    pytest.param(guess("t", tools_needed=["update_file"], paths=["b.txt"]), [], id="already right"),
    pytest.param(guess("t", tools_needed=["create_file"], paths=["new.txt"]), [], id="not needed"),
]


@proves("JOB-9/2")
@pytest.mark.parametrize(("step", "work"), GUESSES)
async def test_task_that_was_done_differently_than_planned_is_completed_and_claimed(
    tmp_path: Path, step: Json, work: list[str]
) -> None:
    replies = [*work, report("it is done"), "All is done."]
    async with live_server(tmp_path, replies=replies, files=FILES) as client:
        chat = await client.chat()
        job = await ended(client, chat, await approved(client, chat, plan=plan(step)))
        assert job["status"] == "completed", job["error"]
        [task] = job["tasks"]
        assert (task["status"], task["claimed"], task["attempt"]) == ("completed", True, 1)
        assert task["evidence"]["status"] == "claimed", task["evidence"]
        assert [one["status"] for one in job["steps"]] == ["claimed"]
        log = client.workspace / "log.txt"
        assert not log.exists() or log.read_text() == "a\n"


@proves("EVD-2/1")
async def test_file_that_the_person_named_is_missing_where_a_guessed_one_is_not_known(tmp_path: Path) -> None:
    step = guess("t", tools_needed=["create_file"], paths=["report.md", "guess.md"])
    work = [call("create_file", path="other.md", content="x"), report("it is done"), "All is done."]
    async with live_server(tmp_path, replies=[json.dumps(plan(step)), *work]) as client:
        chat = await client.chat()
        job = await new_job(client, chat, request="Write report.md about the sales.")
        await until(client, chat, job["id"], "awaiting_approval")
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        [task] = (await ended(client, chat, job))["tasks"]
        assert task["status"] == "completed" and task["evidence"]["status"] == "failed"
        assert states(task["evidence"]) == {("output", "report.md"): "unmet", ("output", "guess.md"): "unknown"}
        sources = {one["subject"]: one["from"] for one in task["evidence"]["expectations"]}
        assert sources == {"report.md": "request", "guess.md": "task"}


async def test_task_is_completed_after_the_person_answered_its_question(tmp_path: Path) -> None:
    question = {
        "type": "question", "format_version": "1.0", "question": "The file is right. Finish?", "severity": "major",
        "options": [{"label": "Yes, finish", "value": "yes"}, {"label": "No", "value": "no"}],
    }  # fmt: skip
    replies = [json.dumps(question), report("nothing had to be done"), "All is done."]
    async with live_server(tmp_path, replies=replies, files=FILES) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(guess("t", tools_needed=["update_file"], paths=["b.txt"])))
        await chat.rest()
        asked = (await chat.show())["waiting_for"]["question"]
        await client.ask("POST", f"{chat.path}/questions/{asked}/answer", {"value": "yes"})
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed" and job["tasks"][0]["claimed"] is True


@proves("JOB-4/1")
async def test_brief_shows_the_worker_its_step_whole(tmp_path: Path) -> None:
    step = writing("a", check="test -e a.txt", commands=["true"], reason="It is missing.", expect=["output a.txt"])
    replies = [call("create_file", path="a.txt", content="a"), report("done"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(step))
        assert (await until(client, chat, job["id"], "completed", "failed"))["status"] == "completed"
        told = str(client.model.requests[0]["messages"][-1]["content"])
        assert all(
            part in told
            for part in ("create_file", "a.txt", "true", "test -e a.txt", "It is missing.", "- output a.txt")
        )


async def test_task_whose_only_work_a_person_denied_is_not_completed(tmp_path: Path) -> None:
    replies = [call("create_file", path="a.txt", content="a"), *[report("done all the same")] * 8]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(guess("t", tools_needed=["create_file"])), on_failure="ask")
        await chat.rest()
        await chat.decide("deny")
        await chat.rest()
        [task] = (await client.ask("GET", f"/jobs/{job['id']}"))["tasks"]
        assert (task["status"], task["error"]["code"]) == ("failed", "not_done")


@proves("JOB-6/2")
async def test_retry_is_told_what_was_done_and_asks_before_it_does_it_again(tmp_path: Path) -> None:
    step = guess("t", tools_needed=["execute"], paths=["log.txt"], commands=["echo a >> log.txt"])
    replies = [APPEND, report("it broke", "failure"), APPEND, report("done"), "All is done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(step))
        await chat.rest()
        [asked] = await chat.approvals()
        assert any("earlier attempt" in reason for reason in asked["reasons"])
        assert (client.workspace / "log.txt").read_text() == "a\n", "the plan grants it, and yet it does not run twice"
        told = str(client.model.requests[2]["messages"][-1]["content"])
        assert "attempt 2" in told and "it broke" in told and "execute_command echo a >> log.txt: ok" in told
        await chat.decide("deny")
        job = await until(client, chat, job["id"], "completed", "failed")
        assert (client.workspace / "log.txt").read_text() == "a\n"


@proves("JOB-6/2")
async def test_what_a_server_did_that_is_away_when_the_retry_begins_is_not_done_again_unasked(tmp_path: Path) -> None:
    insert = call("raw__attempt", code="tell('inserted')")
    fails, again = asyncio.Event(), asyncio.Event()
    replies = [
        insert,
        Reply(report("it broke", "failure"), hold=fails),
        Reply(insert, hold=again),
        report("done"),
        "Done.",
    ]
    async with live_server(tmp_path, replies=replies) as client:
        await client.ask("POST", "/mcp/servers", raw_server(tmp_path / "far"), expect=201)
        await client.ask("POST", "/mcp/servers/raw/connect", {})
        rule = {"tool": "raw__attempt", "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(guess("t", tools_needed=["raw__attempt"])))
        await client.model.asked(2)
        await client.ask("POST", "/mcp/servers/raw/disconnect", {})
        fails.set()
        await client.model.asked(3)
        await client.ask("POST", "/mcp/servers/raw/connect", {})
        again.set()
        await chat.rest()
        [asked] = await chat.approvals()
        assert any("earlier attempt" in reason for reason in asked["reasons"])
        await chat.decide("deny")
        assert (await until(client, chat, job["id"], "completed", "failed"))["id"] == job["id"]


@proves("JOB-9/2", "JOB-1/4")
async def test_job_of_fourteen_tasks_whose_planner_guessed_everything_wrong_is_completed(tmp_path: Path) -> None:
    """Every step names a tool and a path that its worker does not use."""
    names = [f"t{number}" for number in range(14)]
    steps = [
        guess(
            name,
            tools_needed=[["grep"], ["search_symbol"], ["delete_file"], ["edit_everything"]][at % 4],
            paths=[f"wrong{at}.md"],
            dependencies=[names[at - 1]] if at % 3 else [],
        )
        for at, name in enumerate(names)
    ]
    answers: dict[str, list[Any]] = {
        name: [call("create_file", path=f"{name}.txt", content=f"{name}\n"), report(f"{name} is there")]
        for name in names
    }
    planner = json.dumps(plan(*steps))

    def others(told: str) -> str:
        return planner if "Make fourteen files" in told and not planned else "All fourteen are there."

    planned: list[bool] = []
    async with live_server(tmp_path) as client:
        client.model.mind = by_task(answers, others)  # type: ignore[arg-type]  # answers are of the wider type
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "edits"})
        job = await new_job(client, chat, request="Make fourteen files")
        job = await until(client, chat, job["id"], "awaiting_approval", "failed")
        assert job["status"] == "awaiting_approval", job["error"]
        planned.append(True)
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        job = await ended(client, chat, job)
        assert job["status"] == "completed", job["error"]
        assert [(task["status"], task["attempt"]) for task in job["tasks"]] == [("completed", 1)] * 14
        assert {task["evidence"]["status"] for task in job["tasks"]} == {"claimed"}
        assert all((client.workspace / f"{name}.txt").read_text() == f"{name}\n" for name in names)
