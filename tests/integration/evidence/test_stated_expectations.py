"""Expectations that people, workflows and the request of a job state, and what they hold."""

import json
from pathlib import Path

import pytest

from anycowork.domain.errors import Invalid
from anycowork.domain.evidence import ExpectationKind, split_stated, without_stated
from support.evidence import evidence_of, states, working_chat
from support.jobs import new_job, plan, until
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

WORKFLOW = """+++
description = "Writes a report."
expect = ["output {{file}}"]

[[parameters]]
name = "file"
description = "Where to write."
+++

## Write

Write the report.
"""


def test_lines_at_the_beginning_and_end_state_expectations_and_others_are_words() -> None:
    words, stated = split_stated("/expect output a b.md\nWrite it.\n/expect is a word here\nThanks.\n/expect no_change")
    assert words == "Write it.\n/expect is a word here\nThanks."
    assert [(one.kind, one.subject) for one in stated] == [
        (ExpectationKind.OUTPUT, "a b.md"),
        (ExpectationKind.NO_CHANGE, "the workspace"),
    ]
    assert without_stated("/expect nonsense\nWrite it.") == "Write it."
    assert split_stated("//expect output a.md") == ("//expect output a.md", ())


@pytest.mark.parametrize("line", ["/expect", "/expect output", "/expect wonders a.md", "/expect parses a.py"])
def test_a_line_that_states_nothing_is_refused_with_the_way_out(line: str) -> None:
    with pytest.raises(Invalid, match=r"states no expectation\. Write output, protected, check, read, no_change"):
        split_stated(f"{line}\nWrite it.")


@proves("EVD-2/1")
async def test_a_line_that_a_person_types_is_checked(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Done."] * 3) as client:
        chat = await client.chat()
        await chat.send("/expect output notes.md\nGo on.")
        found = await evidence_of(client, chat)
        assert found["status"] == "failed" and found["expectations"][0]["from"] == "person"
        assert states(found) == {("output", "notes.md"): "unmet"}
        for content in ("/expect output notes.md", "/expect wonders\nGo on."):
            await client.ask("POST", f"{chat.path}/messages", {"content": content}, expect=422)


@proves("EVD-2/1")
async def test_what_a_workflow_expects_is_checked(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Done."] * 4) as client:
        await client.ask("POST", "/workflows", {"name": "report", "content": WORKFLOW}, expect=201)
        for wrong in ("wonders {{file}}", "output {{strange}}"):
            draft = {"name": "report", "content": WORKFLOW.replace("output {{file}}", wrong)}
            assert (await client.ask("POST", "/workflows/validate", draft))["fault"]["line"] == 3
        chat = await working_chat(client)
        await chat.send("/report file=out.md")
        found = await evidence_of(client, chat)
        assert found["status"] == "failed" and found["expectations"][0]["from"] == "workflow"
        assert states(found) == {("output", "out.md"): "unmet"}


COMMAND = "cp new.py a.py && cp new.py b.py"
STEP = {"id": "1", "action": "Mend a.py", "tools_needed": ["execute_command"], "paths": ["a.py"], "commands": [COMMAND]}
WRITE = call("execute_command", command=COMMAND)
FILES = {"a.py": "x = 1\n", "b.py": "x = 1\n", "new.py": "x = 2\n"}
REQUEST = "Fix the total in a.py, but do not touch b.py."


@proves("EVD-2/2")
async def test_what_the_request_protects_is_held_while_its_plan_is_carried_out(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["I will plan it.", WRITE], files=FILES) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send(REQUEST)
        proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan(STEP)}, expect=201)
        await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
        await chat.rest()
        (approval,) = await chat.approvals()
        assert "'b.py' is to stay as it is" in " ".join(approval["reasons"])
        assert (client.workspace / "b.py").read_text() == "x = 1\n"


@proves("EVD-2/2")
async def test_what_the_request_of_a_job_protects_is_held_for_its_workers(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[json.dumps(plan(STEP)), WRITE], files=FILES) as client:
        chat = await working_chat(client, "sandboxed")
        job = await new_job(client, chat, request=REQUEST)
        await until(client, chat, job["id"], "awaiting_approval")
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        await chat.rest()
        (approval,) = await chat.approvals()
        assert "'b.py' is to stay as it is" in " ".join(approval["reasons"])
