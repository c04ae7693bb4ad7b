"""Job templates over HTTP: listed with their parameters, made a plan that waits for approval, and carried out."""

from pathlib import Path

import pytest

from support.jobs import approved, new_job, report, until, writing
from support.live_server import RequestRefused, live_server
from support.scripted_model import call
from support.spec import proves

NOTE = """description = "Write a note."
goal = "Write a note about {{topic}}"

[[parameters]]
name = "topic"
description = "what it is about"

[[parameters]]
name = "file"
type = "path"
default = "note.txt"

[[steps]]
id = "write"
action = "Write about {{topic}} into {{file}}"
tools_needed = ["create_file"]
paths = ["{{file}}"]
"""


@proves("JOB-8/1")
async def test_a_template_makes_a_plan_that_waits_for_approval_and_is_then_carried_out(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "templates"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    (folder / "note.toml").write_text(NOTE)
    (folder / "broken.toml").write_text('description = "d"\n[[steps]]\nid = "a"\n')
    replies = [call("create_file", path="note.txt", content="tea\n"), report("written"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        found = await client.ask("GET", "/job-templates")
        listed = {one["name"]: one for one in found["templates"]}
        assert list(listed) == ["add-tests", "note", "review-and-fix"]
        assert listed["note"]["source"] == "data" and listed["add-tests"]["source"] == "built_in"
        assert [(one["name"], one["required"]) for one in listed["note"]["parameters"]] == [
            ("topic", True),
            ("file", False),
        ]
        (fault,) = found["faults"]
        assert (fault["path"], fault["line"]) == ("templates/broken.toml", 2) and "'action'" in fault["reason"]

        chat = await client.chat(role="actor")
        for wrong, told in (
            ({"template": {"name": "nothing"}}, "job_template_not_found"),
            ({"template": {"name": "broken"}}, "until its file is fixed"),
            ({"template": {"name": "note", "parameters": {"file": "../x"}}}, "'topic' is missing"),
            ({"template": {"name": "note", "parameters": {"topic": "tea"}}, "request": "x"}, "exactly one"),
        ):
            with pytest.raises(RequestRefused, match=told):
                await new_job(client, chat, **wrong)

        job = await new_job(client, chat, template={"name": "note", "parameters": {"topic": "tea"}})
        assert job["status"] == "awaiting_approval" and job["request"] == "Write a note about tea"
        assert job["plan"]["steps"][0]["action"] == "Write about tea into note.txt"
        assert client.model.requests == [] and not (client.workspace / "note.txt").exists()
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed" and (client.workspace / "note.txt").read_text() == "tea\n"


@proves("JOB-8/2")
async def test_the_plan_of_a_completed_job_is_offered_for_a_similar_request_until_it_is_forgotten(
    tmp_path: Path,
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    replies = [call("create_file", path="a.txt", content="a\n"), report("written"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat(role="actor")
        steps = {"goal": "Write the letter to the mayor", "steps": [writing("a")]}
        job = await approved(client, chat, plan=steps)
        like = f"/job-templates?like=write+a+letter+to+our+mayor&context_id={chat.id}"
        await until(client, chat, job["id"], "completed")
        (offered,) = (await client.ask("GET", like))["similar"]
        assert offered["job_id"] == job["id"] and offered["request"] == steps["goal"]
        unlike = f"/job-templates?like=paint+the+house&context_id={chat.id}"
        assert (await client.ask("GET", unlike))["similar"] == []
        assert (await client.ask("GET", "/job-templates"))["similar"] == []
        await client.ask("GET", "/job-templates?like=x", expect=422)
        await client.ask("GET", "/job-templates?like=x&context_id=none", expect=404)

        await client.ask("POST", "/workspaces", {"root": str(other)}, expect=201)
        elsewhere = await client.chat(workspace=str(other))
        there = f"/job-templates?like=write+a+letter+to+our+mayor&context_id={elsewhere.id}"
        assert (await client.ask("GET", there))["similar"] == []

        again = await new_job(client, chat, plan=offered["plan"])
        assert again["status"] == "awaiting_approval" and again["plan"] == offered["plan"]
        await client.ask("POST", f"/jobs/{again['id']}/forget", {}, expect=409)
        await client.ask("POST", f"/jobs/{job['id']}/forget", {}, expect=204)
        assert (await client.ask("GET", like))["similar"] == []
        kept = await client.ask("GET", f"/jobs/{job['id']}")
        assert kept["status"] == "completed" and kept["plan"] == offered["plan"]
