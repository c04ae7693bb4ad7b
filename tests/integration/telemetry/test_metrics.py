"""What an operator reads in /metrics after real work, and what never stands there."""

import json
from pathlib import Path

import pytest

from anycowork.config.settings import PriceEntry, ProviderEntry
from support.jobs import new_job, plan, report, until, writing
from support.live_server import live_server
from support.scrapes import scrape
from support.scripted_model import HttpError, Reply, ScriptedModel, call
from support.spec import proves
from support.tool_sources import FixedSource, OutsideTool


def used(prompt: int, completion: int, cached: int = 0) -> dict[str, object]:
    details = {"cached_tokens": cached}
    return {"prompt_tokens": prompt, "completion_tokens": completion, "prompt_tokens_details": details}


@proves("OPS-1/2")
async def test_a_turn_is_counted_with_its_calls_approvals_tokens_and_cost(tmp_path: Path) -> None:
    replies = [
        Reply(call("list_directory", path="."), usage=used(1000, 10)),
        Reply(call("create_file", path="a.txt", content="a"), usage=used(1000, 10, cached=500)),
        Reply("Done.", usage=used(2000, 20)),
    ]
    async with ScriptedModel(replies) as model:
        prices = {"scripted": PriceEntry(input=2.0, output=10.0, cached=0.2)}
        entry = ProviderEntry(name="scripted", base_url=model.base_url, models=("scripted",), prices=prices)
        async with live_server(tmp_path, providers=(entry,)) as client:
            chat = await client.chat()
            await chat.send("write a.txt")
            waiting = await scrape(client)
            assert waiting.value("anycowork_approvals_pending") == 1
            assert waiting.value("anycowork_turns", state="parked") == 1
            await chat.decide()
            await chat.rest()
            seen = await scrape(client)
    name = "scripted/scripted"
    assert seen.value("anycowork_turns_total", role="actor", reason="answered") == 1
    assert seen.value("anycowork_turn_duration_seconds_count", role="actor") == 1
    assert seen.value("anycowork_tool_calls_total", tool="list_directory", status="ok") == 1
    assert seen.value("anycowork_tool_calls_total", tool="create_file", status="ok") == 1
    assert seen.value("anycowork_tool_call_duration_seconds_count", tool="create_file") == 1
    assert seen.value("anycowork_approvals_total", decision="allowed") == 1
    assert seen.value("anycowork_approval_wait_seconds_count") == 1
    assert seen.value("anycowork_approvals_pending") == 0
    assert seen.value("anycowork_model_requests_total", model=name, outcome="ok") == 3
    assert seen.value("anycowork_model_request_duration_seconds_count", model=name) == 3
    assert seen.value("anycowork_model_tokens_total", model=name, type="input") == 4000
    assert seen.value("anycowork_model_tokens_total", model=name, type="output") == 40
    assert seen.value("anycowork_model_tokens_total", model=name, type="cached") == 500
    cost = (3500 * 2 + 500 * 0.2 + 40 * 10) / 1e6
    assert seen.value("anycowork_model_cost_dollars_total", model=name) == pytest.approx(cost)
    assert seen.value("anycowork_http_requests_total", method="POST", route="/context", status="201") == 1
    assert seen.value("anycowork_journal_group_size_count") > 0
    assert seen.value("anycowork_journal_commit_duration_seconds_count") > 0


@proves("OPS-1/2")
async def test_errors_of_models_are_counted_by_kind_and_unknown_prices_are_said(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["One.", HttpError(401, {"error": {"message": "no"}})]) as client:
        chat = await client.chat()
        await chat.send("hi")
        await chat.send("again")
        seen = await scrape(client)
    name = "scripted/scripted"
    [code] = seen.labels("anycowork_model_requests_total", "outcome") - {"ok"}
    assert seen.value("anycowork_model_requests_total", model=name, outcome=code) == 1
    assert seen.value("anycowork_turn_errors_total", code=code) == 1
    assert seen.value("anycowork_turns_total", role="actor", reason="failed") == 1
    assert seen.value("anycowork_model_unpriced_requests_total", model=name) >= 1
    assert "anycowork_model_cost_dollars_total{" not in seen.text


@proves("OPS-1/2")
async def test_jobs_and_their_tasks_are_counted_once(tmp_path: Path) -> None:
    done = [call("create_file", path="a.txt", content="a"), report("a.txt is there"), "All done."]
    async with live_server(tmp_path, replies=[json.dumps(plan(writing("a"))), *done]) as client:
        chat = await client.chat()
        job = await new_job(client, chat, request="Write a")
        await until(client, chat, job["id"], "awaiting_approval")
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        await until(client, chat, job["id"], "completed")
        await client.ask("GET", f"/jobs/{job['id']}")
        seen = await scrape(client)
    assert seen.value("anycowork_jobs_total", status="completed") == 1
    assert seen.value("anycowork_tasks_total", status="completed") == 1
    assert seen.value("anycowork_jobs", status="running") == 0


@proves("OPS-1/2")
async def test_names_that_others_choose_stand_in_no_label(tmp_path: Path) -> None:
    hostile = 'far__x"} 1\nanycowork_forged_total 666\n#'
    replies = [call("far__act"), call(hostile), "Done.", "Done."]
    async with live_server(tmp_path, replies=replies, files={"secret-plan.txt": "x"}) as client:
        client.server.services.toolbox.refresh(FixedSource([OutsideTool()], "far"))  # type: ignore[attr-defined]  # the registry itself
        chat = await client.chat()
        await chat.send("act in secret-plan.txt")
        await client.ask("GET", "/context/no-such-chat-1", expect=404)
        await client.ask("GET", "/nowhere/secret-path", expect=404)
        seen = await scrape(client)
    assert seen.labels("anycowork_tool_calls_total", "tool") <= {"mcp", "unknown"}
    assert seen.value("anycowork_http_requests_total", route="/context/{chat_id}", status="404") == 1
    assert seen.value("anycowork_http_requests_total", route="unmatched", status="404") == 1
    assert "anycowork_forged" not in seen.families and "anycowork_forged_total" not in seen.families
    for word in (chat.id, "no-such-chat", "secret", "far__", str(tmp_path)):
        assert word not in seen.text


@proves("OPS-1/2")
async def test_the_server_itself_is_measured(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        async with client.session.get(f"{client.url}{chat.path}/events"):
            seen = await scrape(client)
        assert seen.value("anycowork_event_streams") == 1
        after = await scrape(client)
    for gauge in ("process_resident_memory_bytes", "process_cpu_seconds_total", "anycowork_disk_free_bytes"):
        assert seen.value(gauge) > 0, gauge
    assert (
        seen.value("anycowork_event_loop_lag_seconds_count") >= 0
        and "anycowork_event_loop_lag_seconds" in seen.families
    )
    assert seen.value("anycowork_chats") == 1
    assert "anycowork_checkpoint_bytes" in seen.families and "anycowork_sandbox_start_duration_seconds" in seen.families
    assert after.value("anycowork_http_requests_total", route="/context/{chat_id}/events", status="200") == 1
    assert not after.value("anycowork_http_request_duration_seconds_count", route="/context/{chat_id}/events")
    names = [sample.name for sample in seen.samples]
    assert all(name.startswith(("anycowork_", "process_")) for name in names)
