"""Job templates over HTTP: listed with their parameters, made a plan that waits for approval, and carried out."""

from pathlib import Path

import pytest

from support.jobs import new_job, report, until
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


@proves("JOB-8")
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
