"""Expectations that people, workflows and the request of a job state, and what they hold."""

import json
from pathlib import Path

import pytest

from anycowork.agent.expectations import of_steps
from anycowork.domain.errors import Invalid
from anycowork.domain.evidence import ExpectationKind, ExpectationSource, split_stated, without_stated
from anycowork.domain.messages import Json
from anycowork.domain.plan import PlanStep, explain_plan, read_plan
from support.evidence import evidence_of, states, working_chat
from support.jobs import new_job, plan, until, writing
from support.live_server import RequestRefused, live_server
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


@proves("EVD-2/4")
@pytest.mark.parametrize(("decision", "state"), [("deny", "met"), ("allow_once", "unknown")])
async def test_where_nothing_is_to_change_every_change_asks_and_what_a_person_decided_is_not_pushed_back(
    tmp_path: Path, decision: str, state: str
) -> None:
    replies = [call("execute_command", command="echo x > x.txt"), "Tidy.", "Tidy."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await working_chat(client, "sandboxed")
        await chat.send("/expect no_change\nTidy up.")
        (approval,) = await chat.approvals()
        assert "'x.txt' is to stay as it is in this turn. The person said so." in approval["reasons"]
        await chat.decide(decision)
        assert (client.workspace / "x.txt").exists() == (decision == "allow_once")
        assert states(await evidence_of(client, chat)) == {("no_change", "the workspace"): state}
        assert len(client.model.requests) == 2


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


@proves("EVD-2/1")
@pytest.mark.parametrize(("written", "state"), [("other.md", "unknown"), ("one.md", "unmet")])
async def test_a_file_that_only_the_plan_named_is_missed_unless_the_work_stands_elsewhere(
    tmp_path: Path, written: str, state: str
) -> None:
    step = writing("1", paths=["one.md", "two.md"])
    replies = ["I will plan it.", call("create_file", path=written, content="x"), *["Both are written."] * 4]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await working_chat(client)
        await chat.send("Write two notes.")
        proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan(step)}, expect=201)
        await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
        await chat.rest()
        if written not in step["paths"]:
            await chat.decide()
        found = await evidence_of(client, chat)
        assert states(found)["output", "two.md"] == state
        assert found["status"] == ("failed" if state == "unmet" else "claimed")


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


TEMPLATE = """description = "Write a report."
[[parameters]]
name = "file"
type = "path"
[[steps]]
action = "Write the report"
paths = ["*.md"]
expect = ["output {{file}}", "protected b.py"]
"""
REPORT = json.dumps({"status": "success", "summary": "Written."})


@proves("EVD-2/1")
@pytest.mark.parametrize(("written", "state", "word"), [("other.md", "unmet", "failed"), ("out.md", "met", "claimed")])
async def test_what_a_template_expects_of_a_step_is_told_and_checked(
    tmp_path: Path, written: str, state: str, word: str
) -> None:
    folder = tmp_path / "data" / "templates"
    folder.mkdir(parents=True)
    folder.parent.chmod(0o700)
    (folder / "report.toml").write_text(TEMPLATE)
    replies = [call("create_file", path=written, content="Tea.\n"), *[REPORT] * 6]
    async with live_server(tmp_path, replies=replies, files=FILES) as client:
        chat = await working_chat(client)
        job = await new_job(client, chat, template={"name": "report", "parameters": {"file": "out.md"}})
        assert job["plan"]["steps"][0]["expect"] == ["output out.md", "protected b.py"]
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        (task,) = (await until(client, chat, job["id"], "completed", "failed"))["tasks"]
        assert task["evidence"]["status"] == word and task["claimed"], json.dumps(task)
        assert states(task["evidence"]) == {("output", "out.md"): state, ("protected", "b.py"): "met"}
        assert {expectation["from"] for expectation in task["evidence"]["expectations"]} == {"task"}
        assert "- output out.md" in json.dumps(client.model.requests[0])


@proves("EVD-2/2")
@pytest.mark.parametrize("as_job", [True, False])
async def test_what_a_person_protects_with_a_line_is_held_while_the_plan_is_carried_out(
    tmp_path: Path, as_job: bool
) -> None:
    request = "Fix the total in a.py.\n/expect protected b.py"
    async with live_server(tmp_path, replies=[json.dumps(plan(STEP)), WRITE], files=FILES) as client:
        chat = await working_chat(client, "sandboxed")
        if as_job:
            with pytest.raises(RequestRefused, match="states no expectation"):
                await new_job(client, chat, request="/expect wonders\nFix it.")
            job = await new_job(client, chat, request=request)
            await until(client, chat, job["id"], "awaiting_approval")
            await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        else:
            await chat.send(request)
            proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan(STEP)}, expect=201)
            await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
        await chat.rest()
        (approval,) = await chat.approvals()
        assert "'b.py' is to stay as it is" in " ".join(approval["reasons"])


def _steps(*expect: tuple[str, ...]) -> tuple[PlanStep, ...]:
    steps = [
        {"action": "Do it", "paths": ["a.py"] if number else [], "expect": [*lines]}
        for number, lines in enumerate(expect)
    ]
    read = read_plan({"goal": "g", "steps": [*steps]})
    assert read is not None
    return read.steps


def test_a_step_holds_nothing_that_another_step_of_the_turn_may_change() -> None:
    def kinds(*expect: tuple[str, ...]) -> list[tuple[str, str]]:
        expectations = of_steps(_steps(*expect), ExpectationSource.PLAN, lambda path: True)
        return [(expectation.kind.value, expectation.subject) for expectation in expectations]

    assert kinds(("protected a.py", "protected b.py"), ()) == [("protected", "b.py")]
    assert kinds(("no_change",), ()) == [] and kinds(("no_change",)) == [("no_change", "the workspace")]
    assert kinds(("no_change",), ("no_change",)) == [("no_change", "the workspace")]


@pytest.mark.parametrize(("line", "reason"), [("wonders a.md", "states no expectation"), ("check make", "'check'")])
def test_a_step_that_states_nothing_makes_no_plan_and_says_why(line: str, reason: str) -> None:
    document: Json = {"goal": "g", "steps": [{"action": "Do it", "expect": [line]}]}
    assert read_plan(document) is None and reason in explain_plan(document)
