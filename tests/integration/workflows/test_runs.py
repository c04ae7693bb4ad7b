"""Runs over HTTP: a workflow's steps as one turn of a chat, with the same door, the same parking and the same ends as any other."""

import asyncio
from pathlib import Path

from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import Reply, call
from support.spec import proves
from support.workflows import progress, started, written

TWO_PROMPTS = """+++
description = "Greet, then part."
category = "greeting"

[[parameters]]
name = "who"
description = "whom to greet"
+++

## Greet {{who}}

Say hello to {{who}}.

## Part

Say goodbye to {{who}}.
"""

MAKE_AND_ASK = """+++
description = "Make a file and ask."

[[parameters]]
name = "name"
type = "path"
+++

## Make it

```tool
{"tool": "create_file", "parameters": {"path": "{{name}}", "content": "hello\\n"}}
```

## Ask

```ask
{"question": "Keep {{name}}?", "options": [{"label": "Yes", "value": "yes"}, {"label": "No", "value": "no"}], "stop_on": ["no"]}
```

## Look

```tool
{"tool": "read_file", "parameters": {"path": "{{name}}"}}
```
"""


def last_words(client: LiveServer, request: int) -> str:
    return client.model.requests[request]["messages"][-1]["content"]


@proves("WFL-1", "WFL-3")
async def test_prompt_steps_are_sent_one_after_the_other_in_one_turn(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    async with live_server(tmp_path, replies=["Hello, Ann.", "Goodbye, Ann."]) as client:
        chat = await client.chat()
        run = await started(chat, "greet", who="Ann")
        assert (await chat.rest())["state"] == "idle"
        spoken = [(m["role"], m["content"]) for m in await chat.messages()]
        assert spoken == [
            ("user", "/greet who=Ann"),
            ("user", "Say hello to Ann."),
            ("assistant", "Hello, Ann."),
            ("user", "Say goodbye to Ann."),
            ("assistant", "Goodbye, Ann."),
        ]
        assert {m["turn_id"] for m in await chat.messages()} == {run["run_id"]}
        assert "Say hello to Ann." in last_words(client, 0) and "Files in the workspace" in last_words(client, 1)
        events = await chat.events()
        assert [e["reason"] for e in events if e["type"] == "turn-ended"] == ["answered"]
        assert await progress(chat) == [(1, "running"), (2, "running"), (2, "completed")]
        shown = next(e for e in events if e["type"] == "workflow-progress")
        assert shown["workflow"] == {
            "run_id": run["run_id"],
            "name": "greet",
            "step": 1,
            "of": 2,
            "status": "running",
            "title": "Greet Ann",
        }
        assert shown["turn_id"] == run["run_id"] and shown["principal"] == "person:owner"
        told = [
            e["type"] for e in events if e["type"] in ("turn-started", "message", "workflow-progress", "turn-ended")
        ]
        step = ["workflow-progress", "message", "message"]
        assert told == ["message", "turn-started", *step, *step, "workflow-progress", "turn-ended"]


@proves("WFL-2")
async def test_typed_text_runs_the_workflow_and_answers_with_the_run(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    async with live_server(tmp_path, replies=["Hello.", "Goodbye."]) as client:
        chat = await client.chat()
        sent = await client.ask("POST", f"{chat.path}/messages", {"content": '/greet who="Ann and Bob"'}, expect=202)
        assert sent["run_id"] == sent["turn_id"]
        await chat.rest()
        first = (await chat.messages())[0]
        assert first["id"] == sent["message_id"] and first["content"] == '/greet who="Ann and Bob"'
        assert "Say hello to Ann and Bob." in last_words(client, 0)


async def test_two_slashes_send_one_and_run_nothing(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    async with live_server(tmp_path, replies=["A command, I see."]) as client:
        chat = await client.chat()
        await chat.send("//greet who=Ann")
        assert [m["content"] for m in await chat.messages()] == ["/greet who=Ann", "A command, I see."]


@proves("WFL-2")
async def test_a_slash_that_is_no_workflow_is_refused_with_the_near_names(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        for words in ("/gret who=Ann", "/", "/ greet", "/usr/bin/python is gone"):
            refused = await client.ask("POST", f"{chat.path}/messages", {"content": words}, expect=422)
            assert refused["error"]["code"] == "unknown_workflow" and "//" in refused["error"]["message"]
        near = await client.ask("POST", f"{chat.path}/messages", {"content": "/gret"}, expect=422)
        assert "'greet'" in near["error"]["message"]
        assert await chat.messages() == [] and (await chat.show())["state"] == "idle"


@proves("WFL-2")
async def test_every_fault_in_the_parameters_is_told_at_once_and_nothing_runs(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        refused = await started(chat, "explain_code", expect=422, path="../secrets", depth="deep", colour="red")
        told = {fault["param"]: fault["message"] for fault in refused["faults"]}
        assert set(told) == {"path", "depth", "colour"}
        assert "inside the workspace" in told["path"] and "brief, thorough" in told["depth"]
        assert all(name in refused["error"]["message"] for name in told)
        assert refused["error"]["param"].startswith("parameters.")
        typed = await client.ask("POST", f"{chat.path}/messages", {"content": "/explain_code depth=deep"}, expect=422)
        assert {fault["param"] for fault in typed["faults"]} == {"path", "depth"}
        assert await chat.messages() == []


async def test_an_unknown_workflow_is_a_404_that_names_the_near_ones(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        missing = await started(chat, "explain_cod", expect=404)
        assert missing["error"]["code"] == "workflow_not_found" and "explain_code" in missing["error"]["message"]
        await client.ask("GET", "/workflows/explain_cod", expect=404)
        body = {"context_id": "nowhere", "parameters": {}}
        assert (await client.ask("POST", "/workflows/greet/execute", body, expect=404))["error"][
            "code"
        ] == "chat_not_found"


async def test_a_chat_that_is_at_work_refuses_a_run(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("One moment.", hold=hold)]) as client:
        chat = await client.chat()
        await chat.send("wait", until="")
        busy = await started(chat, "explain_code", expect=409, path="a.txt")
        assert busy["error"]["code"] == "turn_running"
        hold.set()
        await chat.rest()


# --- tools, questions, parking


@proves("WFL-3", "PER-3")
async def test_a_tool_step_passes_the_gate_and_is_recorded_as_the_workflows(tmp_path: Path) -> None:
    written(tmp_path, make=MAKE_AND_ASK)
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        await started(chat, "make", name="a.txt")
        assert (await chat.rest())["state"] == "awaiting_approval"
        assert not (client.workspace / "a.txt").exists()
        assert (await chat.decide())["state"] == "awaiting_answer"
        assert (client.workspace / "a.txt").read_text() == "hello\n"
        question = (await chat.of_type("question"))[0]
        assert question["content"] == "Keep a.txt?"
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": "yes"}, expect=200)
        assert (await chat.rest())["state"] == "idle"
        assert [result["status"] for result in await chat.results()] == ["ok", "ok"]
        events = await chat.events()
        call_event = next(e for e in events if e["type"] == "tool-call")
        assert call_event["tool_call"]["workflow"] == "make" and call_event["principal"] == "person:owner"
        assert events[-1]["reason"] == "terminated" and client.model.requests == []
        assert await progress(chat) == [(1, "running"), (2, "running"), (3, "running"), (3, "completed")]
        stored = await client.server.database.store.calls.past(chat_id=chat.id, limit=10)
        assert {past.call.provenance.workflow for past in stored} == {"make"}


async def test_an_answer_that_stops_ends_the_run_as_stopped(tmp_path: Path) -> None:
    written(tmp_path, make=MAKE_AND_ASK)
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        await started(chat, "make", name="a.txt")
        await chat.rest()
        await chat.decide()
        question = (await chat.of_type("question"))[0]
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": "no"}, expect=200)
        assert (await chat.rest())["state"] == "idle"
        assert (await progress(chat))[-1] == (2, "stopped")
        assert (await chat.events())[-1]["reason"] == "stopped"


async def test_a_denied_step_ends_the_run_as_failed_and_the_chat_stays_usable(tmp_path: Path) -> None:
    written(tmp_path, make=MAKE_AND_ASK)
    async with live_server(tmp_path, replies=["Of course."]) as client:
        chat = await client.chat()
        await started(chat, "make", name="a.txt")
        await chat.rest()
        assert (await chat.decide("deny", note="not here"))["state"] == "idle"
        end = (await chat.events())[-1]
        assert end["reason"] == "failed" and end["turn"]["error"]["code"] == "workflow_step_failed"
        assert "Make it" in (await chat.last())["content"]
        assert (await progress(chat))[-1] == (1, "failed")
        await chat.send("are you there?")
        assert (await chat.last())["content"] == "Of course."


async def test_an_existing_file_fails_the_step_before_anyone_is_asked(tmp_path: Path) -> None:
    written(tmp_path, make=MAKE_AND_ASK)
    async with live_server(tmp_path, files={"a.txt": "mine"}) as client:
        chat = await client.chat()
        await started(chat, "make", name="a.txt")
        assert (await chat.rest())["state"] == "idle"
        assert (await chat.results())[0]["error"]["code"] == "file_exists"
        assert (client.workspace / "a.txt").read_text() == "mine" and (await progress(chat))[-1] == (1, "failed")


@proves("LOOP-5")
async def test_stop_ends_a_run_and_its_later_steps_never_begin(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("Hello", chunks=["Hel", "lo"], hold=hold)]) as client:
        chat = await client.chat()
        await started(chat, "greet", who="Ann")
        await client.model.asked(1)
        await client.ask("POST", f"{chat.path}/stop", {}, expect=200)
        assert (await chat.show())["state"] == "idle"
        assert await progress(chat) == [(1, "running"), (1, "stopped")]
        assert len(client.model.requests) == 1
        hold.set()


async def test_a_parked_run_goes_on_after_a_restart_where_it_was(tmp_path: Path) -> None:
    written(tmp_path, make=MAKE_AND_ASK)
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        await started(chat, "make", name="a.txt")
        await chat.rest()
    written(tmp_path, make=TWO_PROMPTS)  # what runs was fixed at the start
    async with live_server(tmp_path) as client:
        chat = LiveChat(client, chat.opened)
        assert (await chat.show())["state"] == "awaiting_approval"
        assert (await chat.decide())["state"] == "awaiting_answer"
    async with live_server(tmp_path) as client:
        chat = LiveChat(client, chat.opened)
        question = (await chat.of_type("question"))[0]
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": "yes"}, expect=200)
        assert (await chat.rest())["state"] == "idle"
        assert (await progress(chat))[-1] == (3, "completed")


async def test_a_run_that_the_server_left_is_told_as_interrupted(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("Hello", chunks=["Hel", "lo"], hold=hold)]) as client:
        chat = await client.chat()
        await started(chat, "greet", who="Ann")
        await client.model.asked(1)
        hold.set()
        await client.server.scheduler.interrupt_all()
    async with live_server(tmp_path) as client:
        chat = LiveChat(client, chat.opened)
        assert (await chat.show())["state"] == "idle"
        assert (await progress(chat))[-1] == (1, "interrupted")


async def test_limits_count_for_each_step_alone(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    looks = [call("list_directory", path="."), call("get_file_info", path="a.txt"), "Hello."]
    async with live_server(
        tmp_path, replies=[*looks, *looks[:2], "Goodbye."], files={"a.txt": "a"}, max_steps=3
    ) as client:
        chat = await client.chat()
        await started(chat, "greet", who="Ann")
        await chat.rest()
        assert (await chat.events())[-1]["reason"] == "answered" and len(client.model.requests) == 6


async def test_a_provider_that_fails_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    async with live_server(tmp_path, model="scripted/unheard-of") as client:
        chat = await client.chat()
        await started(chat, "greet", who="Ann")
        assert (await chat.rest())["state"] == "idle"
        failed = [e for e in await chat.events() if e["type"] == "workflow-progress"][-1]["workflow"]
        assert failed["status"] == "failed" and failed["error"]["message"]


async def test_a_question_of_the_agent_parks_the_step_and_the_answer_goes_on_with_it(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    question = '{"type": "question", "question": "Which Ann?", "options": [{"label": "The tall one", "value": "tall"}]}'
    async with live_server(tmp_path, replies=[question, "Hello, tall Ann.", "Goodbye."]) as client:
        chat = await client.chat()
        await started(chat, "greet", who="Ann")
        assert (await chat.rest())["state"] == "awaiting_answer"
        (asked,) = await chat.of_type("question")
        await client.ask("POST", f"{chat.path}/questions/{asked['id']}/answer", {"value": "tall"}, expect=200)
        await chat.rest()
        assert await progress(chat) == [(1, "running"), (2, "running"), (2, "completed")]
        assert "The tall one" in last_words(client, 1)


async def test_a_plan_ends_a_step_of_a_planner_and_stays_open_to_be_approved(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    plan = '{"goal": "greet", "steps": [{"action": "say hello"}]}'
    async with live_server(tmp_path, replies=[plan, "Goodbye."]) as client:
        chat = await client.chat(role="planner")
        await started(chat, "greet", who="Ann")
        await chat.rest()
        (message,) = await chat.of_type("plan")
        assert message["payload"]["goal"] == "greet" and (await progress(chat))[-1] == (2, "completed")
        row = await client.server.database.store.plans.find(message["id"])
        assert row is not None and row.state.value == "open"


async def test_a_removed_chat_leaves_no_run_behind(tmp_path: Path) -> None:
    written(tmp_path, greet=TWO_PROMPTS)
    async with live_server(tmp_path, replies=["a", "b"]) as client:
        chat = await client.chat()
        run_id = (await started(chat, "greet", who="Ann"))["run_id"]
        await chat.rest()
        kept = await client.server.database.store.runs.find(run_id)
        assert kept is not None and kept.status.value == "completed" and len(kept.content_hash) == 64
        await client.ask("DELETE", chat.path)
        assert await client.server.database.store.runs.find(run_id) is None


# --- roles


@proves("WFL-3", "PER-4", "SWI-1")
async def test_a_role_that_lacks_what_a_workflow_needs_is_refused_and_told_the_way_out(tmp_path: Path) -> None:
    written(tmp_path, make=MAKE_AND_ASK)
    async with live_server(tmp_path) as client:
        chat = await client.chat(role="planner")
        refused = await started(chat, "make", expect=403, name="a.txt")
        message = refused["error"]["message"]
        assert refused["error"]["code"] == "forbidden_by_role"
        assert "create_files" in message and "Switch to Actor" in message
        assert await chat.messages() == [] and (await chat.show())["config"]["agent_role"] == "planner"
        typed = await client.ask("POST", f"{chat.path}/messages", {"content": "/make name=a.txt"}, expect=403)
        assert typed["error"]["code"] == "forbidden_by_role"


@proves("WFL-3", "PER-2")
async def test_a_run_may_do_no_more_than_its_workflow_needs_whatever_the_role(tmp_path: Path) -> None:
    replies = [call("create_file", path="b.txt", content="b"), "I may only read here."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "a"}) as client:
        chat = await client.chat(role="actor")
        await started(chat, "explain_code", path="a.txt")
        assert (await chat.rest())["state"] == "idle"
        (result,) = await chat.results()
        assert result["status"] == "refused" and result["error"]["code"] == "forbidden_by_role"
        assert "read_files" in result["error"]["message"] and not (client.workspace / "b.txt").exists()
        told = client.model.requests[0]["messages"][0]["content"]
        assert "read_file" in told and "create_file" not in told and "execute_command" not in told


async def test_the_role_stays_what_it_was_after_a_run(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["It is a letter."], files={"a.txt": "a"}) as client:
        chat = await client.chat(role="tester")
        await started(chat, "explain_code", path="a.txt")
        assert (await chat.rest())["config"]["agent_role"] == "tester"


# --- one workflow in another


@proves("WFL-3")
async def test_a_workflow_runs_another_one_level_deep(tmp_path: Path) -> None:
    outer = '+++\ndescription = "Outer."\n[[parameters]]\nname = "x"\n+++\n## In\n```workflow\ngreet who={{x}}\n```\n## Out\nEnd.\n'
    written(tmp_path, greet=TWO_PROMPTS, outer=outer)
    async with live_server(tmp_path, replies=["a", "b", "c"]) as client:
        chat = await client.chat()
        await started(chat, "outer", x='Ann who="Bob"')
        await chat.rest()
        titles = [e["workflow"]["title"] for e in await chat.events() if e["type"] == "workflow-progress"]
        assert titles == ['In: Greet Ann who="Bob"', "In: Part", "Out", "Out"]
        assert 'Say hello to Ann who="Bob".' in last_words(client, 0)
