"""Turns of jobs and of workflows read no more of a long chat than their model can be shown. The rows that are read are counted."""

import json
from pathlib import Path

import pytest

from anycowork.config.settings import ProviderEntry
from anycowork.domain.journal import Change
from anycowork.domain.messages import Message, Speaker
from anycowork.server.clock import SystemClock
from anycowork.store.sql import messages
from anycowork.store.sql.connection import SqlConnection
from support.jobs import new_job, plan, report, until, writing
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import ScriptedModel, call
from support.spec import proves
from support.workflows import HEAD, started, written

LONG, MOST = 400, 110  # rows: about 20 of these messages fit into the context, and 50 are read at a time
CONTEXT = 12_000
TOOL_STEP = '```tool\n{"tool": "list_directory", "parameters": {"path": "."}}\n```\n'
_CLOCK = SystemClock()


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each query for the bodies of messages returned."""
    counted: list[int] = []
    read = messages.bodies_between

    def counting(connection: SqlConnection, chat_id: str, first: int, last: int) -> list[bytes]:
        found = read(connection, chat_id, first, last)
        counted.append(len(found))
        return found

    monkeypatch.setattr(messages, "bodies_between", counting)
    return counted


@proves("OPS-4/4")
async def test_job_and_workflow_turns_read_only_what_their_model_can_be_shown(tmp_path: Path, rows: list[int]) -> None:
    written(tmp_path, look=f"{HEAD}{TOOL_STEP}\n## Tell\nSay what you see.\n")
    replies = [
        json.dumps(plan(writing("a"))),
        call("create_file", path="a.txt", content="a\n"),
        report("a.txt is there"),
        "The file is written.",
        "There is one file.",
    ]
    read: dict[str, int] = {}
    async with ScriptedModel(replies) as model:
        entry = ProviderEntry(name="small", base_url=model.base_url, models=("m",), context_tokens=CONTEXT)
        async with live_server(tmp_path, providers=(entry,), model="small/m") as client:
            chat = await long_chat(client)
            rows.clear()
            job = await new_job(client, chat, request="Write a")
            await until(client, chat, job["id"], "awaiting_approval")
            read["the planner's turn"] = sum(rows)
            rows.clear()
            await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
            assert (await until(client, chat, job["id"], "completed", "failed"))["status"] == "completed"
            read["a task's turn and the last one"] = sum(rows)
            rows.clear()
            await started(chat, "look")
            assert (await chat.rest())["state"] == "idle"
            read["two steps of a workflow"] = sum(rows) // 2
    assert min(len(request["messages"]) for request in (model.requests[0], *model.requests[-2:])) > 5
    assert all(0 < count <= MOST for count in read.values()), read


async def test_a_tool_step_needs_no_model(tmp_path: Path, rows: list[int]) -> None:
    written(tmp_path, look=f"{HEAD}{TOOL_STEP}")
    async with live_server(tmp_path, model="gone/gone") as client:
        chat = await long_chat(client)
        rows.clear()
        await started(chat, "look")
        assert (await chat.rest())["state"] == "idle"
        last = await chat.last()
        assert last["message_type"] == "tool_result" and last["payload"]["status"] == "ok"
        assert 0 < sum(rows) <= MOST


async def long_chat(client: LiveServer) -> LiveChat:
    chat = await client.chat()
    speakers = (Speaker.USER, Speaker.ASSISTANT)
    said = (
        Message(
            _CLOCK.new_id(), chat.id, speakers[at % 2], f"{at} " * 250, turn_id=f"t{at // 2}", created_at=_CLOCK.now()
        )
        for at in range(LONG)
    )
    await client.server.database.journal.write(Change(chat.id, tuple(said)))
    return chat
