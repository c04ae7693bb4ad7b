"""Agents of jobs: different models, the chat's history on request, new plans after a failure, plan against actual, bad input."""

import json
from pathlib import Path

import pytest

from anycowork.config.settings import ProviderEntry
from support.jobs import approved, new_job, plan, report, until, writing
from support.live_server import RequestRefused, live_server
from support.openai_wire import NativeCall
from support.scripted_model import Reply, ScriptedModel, call
from support.spec import proves


@proves("JOB-1/5", "ROL-7/1", "ROL-7/2", "ROL-7/3")
async def test_planner_workers_and_primary_agent_answer_with_their_own_models(tmp_path: Path) -> None:
    proposed = json.dumps(plan({"id": "a", "action": "look", "agent": "scout"}, {"id": "b", "action": "look"}))
    async with ScriptedModel(
        [proposed, report("a"), report("b"), "All done."], models=("big", "small", "main", "usual")
    ) as model:
        entry = ProviderEntry(name="own", base_url=model.base_url, models=("big", "small", "main", "usual"))
        agents = {
            "planner": {"role": "planner", "model": "own/big", "prompt": "Plan little."},
            "scout": {"role": "planner", "model": "own/small", "prompt": "Look."},
            "primary": {"role": "actor", "model": "own/main"},
        }
        async with live_server(
            tmp_path, providers=(entry,), model="own/usual", agents=agents, parallel_tasks=1
        ) as client:
            chat = await client.chat()
            job = await new_job(client, chat, request="Look around")
            await until(client, chat, job["id"], "awaiting_approval")
            await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
            job = await until(client, chat, job["id"], "completed", "failed")
            assert job["status"] == "completed", job
            assert [body["model"] for body in model.requests] == ["big", "small", "usual", "main"]
            assert [task["agent"] for task in job["tasks"]] == ["scout", "worker"]
            planner = str(model.requests[0]["messages"])
            assert "A task is one outcome" in planner and "Plan little." in planner, "its own prompt replaces nothing"
            assert (await chat.show())["config"]["model_id"] == "own/usual"


@proves("JOB-4/4")
async def test_worker_can_ask_for_the_whole_conversation(tmp_path: Path) -> None:
    replies = ["Noted: 4711.", call("read_history"), report("read it"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("My number is 4711")
        job = await approved(client, chat, plan=plan({"id": "look", "action": "find my number", "role": "planner"}))
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job
        assert "4711" not in str(client.model.requests[1]["messages"])
        assert "user: My number is 4711" in str(client.model.requests[2]["messages"])


@proves("JOB-4/4", "MSG-1/2")
async def test_worker_that_calls_natively_is_offered_the_conversation_and_its_words_are_kept(tmp_path: Path) -> None:
    words = "I look into the conversation first. " + " ".join(str(number**5) for number in range(300))
    replies = [
        "Noted: 4711.",
        Reply(words, calls=[NativeCall("read_history", {})], finish="tool_calls"),
        report("it is 4711"),
        "Done.",
    ]
    async with ScriptedModel(replies) as model:
        entry = ProviderEntry(name="own", base_url=model.base_url, models=("m",), calling="native")
        async with live_server(tmp_path, providers=(entry,), model="own/m") as client:
            chat = await client.chat()
            await chat.send("My number is 4711")
            job = await approved(client, chat, plan=plan({"id": "look", "action": "find my number", "role": "planner"}))
            job = await until(client, chat, job["id"], "completed", "failed")
            assert job["status"] == "completed", job
            offered = [[tool["function"]["name"] for tool in body.get("tools", [])] for body in model.requests]
            assert ["read_history" in names for names in offered] == [False, True, True, False], "workers alone"
            told = [m for m in await chat.messages() if m["task_id"] == "look"]
            kinds = [m["message_type"] for m in told]
            assert kinds == ["task_assignment", "task_execution", "tool_call", "tool_result", "task_result"]
            assert told[1]["content"].strip() == words.strip(), "in full"


@proves("JOB-5/3")
async def test_failed_task_is_planned_anew_from_there_and_completed_tasks_stay(tmp_path: Path) -> None:
    file = call("create_file", path="a.txt", content="a\n")
    again = plan(
        {"id": "a", "action": "write c.txt", "paths": ["c.txt"], "tools_needed": ["create_file"]},
        {"id": "d", "action": "look", "dependencies": ["a"]},
    )
    replies = [file, report("a"), report("impossible", "failure"), json.dumps(again)]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        steps = plan(writing("a"), writing("b", "a"), writing("x", "b"))
        job = await approved(client, chat, plan=steps, on_failure="replan")
        job = await until(client, chat, job["id"], "awaiting_approval")
        asked = str(client.model.requests[3]["messages"])
        assert "impossible" in asked and "Completed tasks stay done" in asked
        client.model.replies += [file.replace("a.txt", "c.txt"), report("c"), report("d"), "Done."]
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        job = await until(client, chat, job["id"], "completed", "failed")
        assert job["status"] == "completed", job
        statuses = {task["id"]: task["status"] for task in job["tasks"]}
        assert statuses == {"a": "completed", "a-2": "completed", "d": "completed", "b": "skipped", "x": "skipped"}
        assert job["tasks"][0]["attempt"] == 1 and (client.workspace / "c.txt").exists()


@proves("PLN-5/1")
async def test_audit_of_a_job_names_files_commands_time_and_cost_of_each_task(tmp_path: Path) -> None:
    run = call("execute_command", command="echo hi")
    replies = [call("create_file", path="a.txt", content="a"), run, report("a"), report("no", "failure")]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        steps = plan(writing("a"), {"id": "b", "action": "look", "dependencies": ["a"]}, writing("c", "b"))
        job = await approved(client, chat, plan=steps, on_failure="ask")
        assert (await chat.rest())["state"] == "awaiting_approval"
        await chat.decide()
        assert (await chat.rest())["state"] == "awaiting_answer"
        audit = await client.ask("GET", f"/jobs/{job['id']}/audit")
        done, failed, never = audit["steps"]
        assert (done["status"], done["files"], done["commands"]) == ("claimed", ["a.txt"], ["echo hi"])
        assert [one["resource"] for one in done["unplanned"]] == ["echo hi"] and done["usage"]["tokens"] > 0
        assert (failed["status"], never["status"], never["attempts"]) == ("failed", "skipped", 0)
        assert audit["usage"]["tokens"] >= done["usage"]["tokens"]


async def test_malformed_and_huge_plans_are_refused_or_stored_and_shown_at_once(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["{not json", '{"goal": 1}', *[report("x")] * 9]) as client:
        chat = await client.chat()
        for bad in (
            {"plan": {"steps": []}},
            {"plan": {"goal": "x", "steps": [{"id": "a"}]}},
            {"plan": plan(writing("a"), writing("a"))},
            {"plan": plan(writing("a", "nowhere"))},
            {"plan": {"goal": "x", "steps": [{"id": str(n), "action": "x"} for n in range(10_001)]}},
            {"plan": plan(writing("a")), "race": ["worker", "nobody"]},
            {"request": "x", "commit": "never"},
        ):
            with pytest.raises(RequestRefused, match="422"):
                await new_job(client, chat, **bad)
        job = await new_job(client, chat, request="plan something")
        job = await until(client, chat, job["id"], "failed", "awaiting_approval")
        assert job["status"] == "failed" and job["error"]["code"] == "no_plan"
        assert "What was wrong the last time: The job needs a plan" in job["error"]["message"]
        many = [{"id": f"t{n}", "action": "look"} for n in range(10_000)]
        job = await new_job(client, chat, plan={"goal": "much", "steps": many})
        assert job["status"] == "awaiting_approval" and len(job["plan"]["steps"]) == 10_000
        await client.ask("POST", f"/jobs/{job['id']}/cancel", expect=200)
