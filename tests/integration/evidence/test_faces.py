"""One word for the end of a turn, the same in the API, the events, the audit, every export, `run`, the terminal and a job's task."""

import html
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.chats.export.export_html import HtmlReport
from anycowork.chats.export.export_markdown import MarkdownExport
from anycowork.chats.export.exported_chat import ExportedChat
from anycowork.cli.run_outcome import OutcomeTracker, RunOutcome
from anycowork.cli.run_progress import JsonReporter, TextReporter
from anycowork.client.console import Console
from anycowork.domain.chats import Chat, ChatConfig
from anycowork.domain.evidence import (
    CheckOwner,
    CheckRun,
    Expectation,
    ExpectationKind,
    ExpectationSource,
    ExpectationState,
    evidence_line,
    is_claimed,
    weigh,
)
from anycowork.tui.chat_state import ChatStatus
from anycowork.tui.earlier_state import notes_at_end
from support.evidence import Json, evidence_of, working_chat
from support.jobs import new_job, plan, until
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

CHECK = "python3 check.py"
SHOP = {
    "shop.py": "def total():\n    return 2\n",
    "check.py": "import shop, sys\nsys.exit(0 if shop.total() == 3 else 1)\n",
}
MEND = "sed -i s/2/3/ shop.py"
WORK = {"checked": MEND, "self_checked": "echo 'print(1)' > check.py", "failed": "sed -i s/2/40/ shop.py"}


def step(command: str) -> Json:
    return {"action": "Mend the total", "paths": ["shop.py", "check.py"], "commands": [command], "check": CHECK}


@proves("EVD-1/2")
@pytest.mark.parametrize("word", [*WORK, "claimed"])
async def test_every_face_says_the_same_word(tmp_path: Path, word: str) -> None:
    replies = [call("execute_command", command=WORK.get(word, MEND)), *["Done."] * 3]
    async with live_server(tmp_path, replies=replies, files=SHOP) as client:
        chat = await working_chat(client, "sandboxed")
        checked = f"Fix shop.py so that `{CHECK}` passes."
        await chat.send("Fix the total in shop.py." if word == "claimed" else checked)
        evidence = await evidence_of(client, chat)
        assert evidence["status"] == word, json.dumps(evidence)
        line = evidence_line(evidence)
        assert line.startswith(f"Evidence: {word}")
        ended = next(event for event in await chat.events() if event["type"] == "turn-ended")
        assert await _exports(client, chat) == {"json": evidence, "markdown": True, "html": True}, line
        assert line in notes_at_end(ChatStatus(role="actor"), ended)
        outcome = OutcomeTracker(ended["turn_id"]).see(ended)
        assert outcome is not None
        assert outcome.exit_code == (1 if word == "failed" else 0)
        assert _result_line(outcome)["evidence"] == evidence
        assert line in _printed(outcome)


@proves("EVD-1/2")
@pytest.mark.parametrize("word", WORK)
async def test_the_audit_of_a_plan_says_the_word_of_its_turn(tmp_path: Path, word: str) -> None:
    replies = [call("execute_command", command=WORK[word]), *["Done."] * 3]
    async with live_server(tmp_path, replies=replies, files=SHOP) as client:
        chat = await working_chat(client, "sandboxed")
        proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan(step(WORK[word]))}, expect=201)
        await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
        await chat.rest()
        while await chat.approvals():
            await chat.decide()
        evidence = await evidence_of(client, chat)
        (audited,) = (await client.ask("GET", f"{chat.path}/audit"))["plans"]
        assert audited["evidence"] == evidence and evidence["status"] == word, json.dumps(evidence)


@proves("EVD-1/2", "JOB-9/1")
async def test_a_task_and_the_audit_of_its_job_say_the_same(tmp_path: Path) -> None:
    report, mend = json.dumps({"status": "success", "summary": "It is right."}), call("execute_command", command=MEND)
    async with live_server(
        tmp_path, replies=[json.dumps(plan(step(MEND))), mend, report, report], files=SHOP
    ) as client:
        chat = await working_chat(client, "sandboxed")
        job = await new_job(client, chat, request=f"Fix shop.py so that `{CHECK}` passes.")
        await until(client, chat, job["id"], "awaiting_approval")
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        (task,) = (await until(client, chat, job["id"], "completed"))["tasks"]
        (audited,) = (await client.ask("GET", f"/jobs/{job['id']}/audit"))["steps"]
        assert task["evidence"]["status"] == "checked" and not task["claimed"], json.dumps(task)
        assert audited["evidence"] == task["evidence"]


SUBJECTS = st.text("abcdefghijklmnopqrstuvwxyz./ -äß", min_size=1, max_size=20).map(str.strip).filter(bool)
EXPECTATIONS = st.builds(
    Expectation,
    kind=st.sampled_from(ExpectationKind),
    subject=SUBJECTS,
    source=st.sampled_from(ExpectationSource),
    state=st.sampled_from(ExpectationState),
    why=SUBJECTS,
)
CHECKS = st.builds(
    CheckRun,
    command=SUBJECTS,
    exit_code=st.sampled_from([0, 1, None]),
    ran_after_last_change=st.booleans(),
    owner=st.sampled_from(CheckOwner),
    state=st.sampled_from(ExpectationState),
    passed_before=st.booleans(),
)


@proves("EVD-1/2")
@given(
    st.lists(EXPECTATIONS, max_size=5),
    st.lists(CHECKS, max_size=3),
    st.booleans(),
    st.sampled_from(["answered", "limit", "stopped"]),
)
def test_the_faces_agree_on_any_history_of_a_turn(
    expectations: list[Expectation], checks: list[CheckRun], concerned: bool, reason: str
) -> None:
    weighed = weigh(expectations, checks, concerned=concerned)
    evidence = weighed.to_json() if weighed is not None else None
    ended: Json = {"type": "turn-ended", "turn_id": "t", "reason": reason, "evidence": evidence}
    notes = notes_at_end(ChatStatus(role="actor"), ended)
    outcome = OutcomeTracker("t").see(ended)
    assert outcome is not None and _result_line(outcome)["evidence"] == evidence
    if evidence is None:
        assert not any("Evidence" in text for text in (*notes, _printed(outcome))) and is_claimed(None)
        return
    line, word = evidence_line(evidence), evidence["status"]
    assert line.startswith(f"Evidence: {word}") and line in notes and _printed(outcome).count(line) == 1
    assert reason != "answered" or outcome.exit_code == (1 if word == "failed" else 0)
    assert is_claimed(evidence) == (word in ("claimed", "failed"))
    turns: tuple[Json, ...] = ({"turn_id": "t", "evidence": evidence},)
    exported = ExportedChat(Chat("c", "", "w", ChatConfig("actor")), (), {"end": "", "last_seq": 0}, "", turns)
    assert line in "\n".join(MarkdownExport(exported).end())
    assert line in html.unescape("\n".join(HtmlReport(exported).end()))


async def _exports(client: LiveServer, chat: LiveChat) -> Json:
    texts = {form: await _export(client, chat, form) for form in ("json", "markdown", "html")}
    (exported,) = json.loads(texts["json"])["exported"]["evidence"]
    line = evidence_line(exported["evidence"])
    return {
        "json": exported["evidence"],
        "markdown": line in texts["markdown"],
        "html": line in html.unescape(texts["html"]),
    }


async def _export(client: LiveServer, chat: LiveChat, form: str) -> str:
    async with client.session.get(f"{client.url}{chat.path}/export?format={form}") as answer:
        return await answer.text()


def _result_line(outcome: RunOutcome) -> Json:
    stream = io.StringIO()
    JsonReporter(Console(stream, colour=False)).finish(outcome, chat_id="c", advice=[])
    result: Json = json.loads(stream.getvalue())
    return result


def _printed(outcome: RunOutcome) -> str:
    stream = io.StringIO()
    console = Console(stream, colour=False)
    TextReporter(console, console).finish(outcome, chat_id="c", advice=[])
    return stream.getvalue()
