"""Traces at a real receiver: one trace for a turn or a job, by the GenAI conventions, and no contents unless a setting says so."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.jobs import new_job, plan, report, until, writing
from support.live_server import live_server
from support.scrapes import scrape
from support.scripted_model import HttpError, Reply, call
from support.spec import proves
from support.trace_receiver import TraceReceiver, trace_receiver

MODEL = "chat scripted"
SECRET = "the-otter-swims-at-noon"


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[TraceReceiver]:
    with trace_receiver() as found:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", found.url)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield found


def used(prompt: int, completion: int) -> dict[str, object]:
    return {"prompt_tokens": prompt, "completion_tokens": completion}


@proves("OPS-1/4")
async def test_a_turn_is_one_trace_of_agent_models_and_tools_without_contents(
    tmp_path: Path, receiver: TraceReceiver
) -> None:
    replies = [
        Reply(call("read_file", path=f"{SECRET}.txt"), usage=used(100, 10)),
        Reply(f"It says {SECRET}.", usage=used(200, 20)),
    ]
    async with live_server(tmp_path, replies=replies, files={f"{SECRET}.txt": SECRET}, traces=True) as client:
        chat = await client.chat()
        await chat.send(f"what is in {SECRET}.txt?")
        spans = await asyncio.to_thread(receiver.wait_for, "invoke_agent actor", MODEL, "execute_tool read_file")
    agent, model, tool = spans["invoke_agent actor"], spans[MODEL], spans["execute_tool read_file"]
    assert {span.trace_id for span in receiver.spans} == {agent.trace_id}
    assert not agent.parent_id and model.parent_id == tool.parent_id == agent.span_id
    assert agent.service == "anycowork" and agent.took > 0
    assert agent.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert agent.attributes["gen_ai.agent.name"] == "actor"
    assert agent.attributes["gen_ai.conversation.id"] == chat.id
    assert (agent.attributes["gen_ai.usage.input_tokens"], agent.attributes["gen_ai.usage.output_tokens"]) == (300, 30)
    assert model.attributes["gen_ai.operation.name"] == "chat"
    assert model.attributes["gen_ai.request.model"] == "scripted"
    assert model.attributes["gen_ai.provider.name"] == "scripted"
    assert model.attributes["gen_ai.response.finish_reasons"] == ["stop"]
    assert model.attributes["gen_ai.usage.output_tokens"] in (10, 20)
    assert tool.attributes["gen_ai.operation.name"] == "execute_tool"
    assert tool.attributes["gen_ai.tool.name"] == "read_file" and tool.attributes["anycowork.tool.status"] == "ok"
    assert SECRET.encode() not in receiver.bytes and str(tmp_path).encode() not in receiver.bytes


@proves("OPS-1/4")
async def test_contents_are_sent_only_when_a_second_setting_says_so(tmp_path: Path, receiver: TraceReceiver) -> None:
    replies = [call("read_file", path="a.txt"), f"It says {SECRET}."]
    settings = {"traces": True, "trace_contents": True}
    async with live_server(tmp_path, replies=replies, files={"a.txt": SECRET}, **settings) as client:
        await (await client.chat()).send("read a.txt")
        spans = await asyncio.to_thread(receiver.wait_for, "invoke_agent actor", MODEL, "execute_tool read_file")
    assert SECRET in spans["execute_tool read_file"].attributes["gen_ai.tool.call.result"]
    assert json.loads(spans["execute_tool read_file"].attributes["gen_ai.tool.call.arguments"]) == {"path": "a.txt"}
    outputs = [json.loads(span.attributes["gen_ai.output.messages"]) for span in receiver.spans if span.name == MODEL]
    assert any(SECRET in str(output) for output in outputs)


@proves("OPS-1/4")
async def test_a_job_is_one_trace_of_tasks_and_their_turns_also_after_a_restart(
    tmp_path: Path, receiver: TraceReceiver
) -> None:
    async with live_server(tmp_path, replies=[json.dumps(plan(writing("a")))], traces=True) as client:
        chat = await client.chat()
        job = await new_job(client, chat, request="Write a")
        await until(client, chat, job["id"], "awaiting_approval")
        await asyncio.to_thread(receiver.wait_for, "invoke_agent planner")
    done = [call("create_file", path="a.txt", content="a"), report("a.txt is there"), "All done."]
    async with live_server(tmp_path, replies=done, traces=True) as client:
        again = type(chat)(client, await client.ask("GET", f"/context/{chat.id}"))
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        await until(client, again, job["id"], "completed")
        spans = await asyncio.to_thread(receiver.wait_for, "invoke_workflow job", "task", "execute_tool create_file")
    assert len({span.trace_id for span in receiver.spans}) == 1
    root, task, planned = spans["invoke_workflow job"], spans["task"], spans["invoke_agent planner"]
    assert not root.parent_id and task.parent_id == planned.parent_id == root.span_id
    by_id = {span.span_id: span for span in receiver.spans}
    worker = by_id[spans["execute_tool create_file"].parent_id]
    assert worker.name.startswith("invoke_agent ") and worker.parent_id == task.span_id
    assert root.attributes["anycowork.job.status"] == "completed"


@proves("OPS-1/4")
async def test_errors_are_named_by_their_code_alone(tmp_path: Path, receiver: TraceReceiver) -> None:
    replies = [HttpError(401, {"error": {"message": SECRET}})]
    async with live_server(tmp_path, replies=replies, traces=True) as client:
        await (await client.chat()).send("hi")
        spans = await asyncio.to_thread(receiver.wait_for, "invoke_agent actor", MODEL)
    assert spans[MODEL].failed and spans["invoke_agent actor"].failed
    assert spans[MODEL].attributes["error.type"] == spans["invoke_agent actor"].attributes["error.type"]
    assert SECRET.encode() not in receiver.bytes


@proves("OPS-1/4")
async def test_a_collector_that_is_away_loses_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    async with live_server(tmp_path, replies=["One.", "Two."], traces=True) as client:
        chat = await client.chat()
        await chat.send("hi")
        async with asyncio.timeout(60):
            while not (await scrape(client)).value("anycowork_trace_export_failures_total"):
                await asyncio.sleep(0.05)
        await chat.send("and?")
        assert (await chat.last())["content"] == "Two."
    assert caplog.text.count("does not take spans") == 1


@proves("OPS-1/4")
def test_a_server_without_traces_imports_nothing_of_them() -> None:
    code = (
        "import sys, anycowork.cli.serve;"
        "print([name for name in sys.modules if name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter', 'google.protobuf'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@proves("OPS-1/4")
async def test_nothing_is_sent_unless_the_setting_is_on(tmp_path: Path, receiver: TraceReceiver) -> None:
    async with live_server(tmp_path, replies=["One."]) as client:
        await (await client.chat()).send("hi")
    assert not receiver.spans
