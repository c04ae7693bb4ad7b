"""The chat service over HTTP: roles, switches, plans, questions, approvals."""

import asyncio
import json
from pathlib import Path

from support.live_server import live_server
from support.scripted_model import Reply, call
from support.spec import proves

PLAN = {
    "goal": "greet",
    "steps": [
        {"action": "write a greeting", "tools_needed": ["create_file"], "paths": ["hello.txt"]},
        {"action": "check it", "dependencies": ["1"]},
    ],
    "risks": ["none"],
}
QUESTION = {
    "type": "question",
    "question": "Which colour?",
    "options": [{"label": "Blue", "value": "blue"}, {"label": "Red", "value": "red"}],
    "default": "blue",
}


@proves("ROL-1", "ROL-3/1")
async def test_new_chat_starts_as_actor(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        assert chat.opened["config"]["agent_role"] == "actor" and chat.opened["config"]["mode"] == "act"
        assert chat.opened["state"] == "idle"


@proves("ROL-2/2")
async def test_an_unknown_role_is_a_422_that_names_the_valid_ones(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        answer = await client.ask("POST", "/context", {"agent_role": "wizard"}, expect=422)
        assert "planner" in answer["error"]["message"] and "tester" in answer["error"]["message"]
        chat = await client.chat()
        await client.ask("PUT", f"{chat.path}/role", {"role": "wizard"}, expect=422)


@proves("ROL-3/2")
async def test_the_role_is_the_same_after_a_restart(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat(role="reviewer")
    async with live_server(tmp_path) as client:
        assert (await client.ask("GET", chat.path))["config"]["agent_role"] == "reviewer"


@proves("ROL-2/3", "ROL-6")
async def test_a_role_whose_file_vanished_holds_no_permissions_and_never_opens_as_actor(tmp_path: Path) -> None:
    roles = tmp_path / "data" / "roles"
    roles.mkdir(parents=True)
    file = roles / "painter.toml"
    file.write_text(
        'name = "painter"\npermissions = ["read_files", "create_files"]\nprompt = "You are operating in PAINTER role."\n'
    )
    async with live_server(tmp_path) as client:
        assert "painter" in [role["name"] for role in (await client.ask("GET", "/roles"))["roles"]]
        chat = await client.chat(role="painter")
    file.unlink()
    replies = [call("create_file", path="x.txt", content="x"), "I have no role."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "secret"}) as client:
        again = type(chat)(client, await client.ask("GET", chat.path))
        assert again.opened["config"]["agent_role"] == "painter"
        await again.send("paint")
        assert [r["status"] for r in await again.results()] == ["refused"]
        assert not (client.workspace / "x.txt").exists()
        assert "create_file" not in client.model.requests[0]["messages"][0]["content"]


@proves("PER-3", "PER-4")
async def test_planner_calling_update_file_is_refused_and_the_file_stays_untouched(tmp_path: Path) -> None:
    replies = [
        call("update_file", path="a.txt", content="new"),
        call("update_file", path="a.txt", content="new"),
        "I may not.",
    ]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "old"}) as client:
        chat = await client.chat(role="planner")
        await chat.send("change a.txt")
        refused = (await chat.results())[0]
        assert refused["status"] == "refused" and refused["error"]["retryable"] is False
        assert "Planner may not call 'update_file'" in refused["error"]["message"]
        assert [r["status"] for r in await chat.results()] == ["refused", "refused"], "the same call is not tried again"
        assert (client.workspace / "a.txt").read_text() == "old"
        assert (await chat.events())[-1]["reason"] == "answered", "the turn went on"
        assert not await chat.approvals()


@proves("PER-2")
async def test_excluded_tools_do_not_appear_in_the_prompt(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["a", "b"]) as client:
        for role in ("planner", "actor"):
            chat = await client.chat(role=role)
            await chat.send("hello")
        planner, actor = (request["messages"][0]["content"] for request in client.model.requests)
        for tool in ("update_file", "create_file", "delete_file", "move_file", "execute_command"):
            assert tool not in planner and tool in actor, tool
        assert "read_file" in planner and "You are operating in PLANNER role" in planner
        assert "You are operating in ACTOR role" in actor and "PLANNER" not in actor


@proves("SWI-1", "SWI-2/2", "SWI-2/4")
async def test_role_switch_is_written_into_the_history(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["As planner.", "As actor."]) as client:
        chat = await client.chat(role="planner")
        await chat.send("hi")
        switched = await client.ask("POST", f"{chat.path}/mode", {"mode": "act"}, expect=200)
        assert switched == {"id": chat.id, "old_role": "planner", "new_role": "actor"}
        change = (await chat.of_type("role_change"))[0]
        assert change["payload"] == {"old_role": "planner", "new_role": "actor"}
        await chat.send("hi again")
        assert [m["agent_role"] for m in await chat.messages() if m["role"] == "assistant"] == ["planner", "actor"]
        assert "role-changed" in [event["type"] for event in await chat.events()]


@proves("SWI-3/1", "SWI-3/2")
async def test_switching_to_planner_stops_a_running_turn_after_confirmation(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("Working on it", hold=hold)]) as client:
        chat = await client.chat()
        await chat.send("go", until="sent")
        await client.model.asked(1)
        refused = await client.ask("PUT", f"{chat.path}/role", {"role": "planner"}, expect=409)
        assert "confirm" in refused["error"]["message"]
        assert (await chat.switch("planner", confirm=True))["new_role"] == "planner"
        shown = await chat.show()
        assert (shown["state"], shown["config"]["agent_role"]) == ("idle", "planner")
        assert [e["reason"] for e in await chat.events("role-changed") if e["type"] == "turn-ended"] == ["stopped"]
        hold.set()


@proves("SWI-3/2", "PER-3")
async def test_a_confirmed_switch_withdraws_the_open_approval(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("create_file", path="x.txt", content="x")]) as client:
        chat = await client.chat()
        await chat.send("create it")
        approval = (await chat.approvals())[0]
        await chat.switch("planner", confirm=True)
        assert await chat.approvals() == []
        decision = {"decisions": [{"id": approval["id"], "decision": "allow_once"}]}
        await client.ask("POST", f"{chat.path}/approvals", decision, expect=409)
        assert not (client.workspace / "x.txt").exists()
        assert [r["status"] for r in await chat.results()] == ["cancelled"]


@proves("MSG-1", "PLN-1")
async def test_a_plan_becomes_a_plan_message_and_ends_the_turn(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[json.dumps(PLAN)]) as client:
        chat = await client.chat(role="planner")
        await chat.send("plan a greeting")
        message = await chat.last()
        assert message["message_type"] == "plan" and message["payload"]["format_version"] == "1.0"
        assert [step["id"] for step in message["payload"]["steps"]] == ["1", "2"]
        events = await chat.events()
        assert events[-1]["reason"] == "planned" and "plan-update" in [e["type"] for e in events]


@proves("SWI-4", "PLN-3")
async def test_execute_plan_switches_to_actor_and_runs_the_edited_text(tmp_path: Path) -> None:
    replies = [json.dumps(PLAN), call("create_file", path="hello.txt", content="hi\n"), "Greeted."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat(role="planner")
        await chat.send("plan a greeting")
        plan = await chat.last()
        edited = [{**plan["payload"]["steps"][0], "action": "write a warm greeting"}]
        await client.ask("POST", f"{chat.path}/plans/{plan['id']}/approve", {"steps": edited}, expect=202)
        shown = await chat.rest()
        assert (shown["state"], shown["config"]["agent_role"]) == ("idle", "actor")
        assert (client.workspace / "hello.txt").read_text() == "hi\n", (
            "the plan named the tool and the path: nobody was asked"
        )
        told = client.model.requests[1]["messages"][-1]["content"]
        assert "write a warm greeting" in told and "check it" not in told
        await client.ask("POST", f"{chat.path}/plans/{plan['id']}/approve", {}, expect=409)


@proves("PLN-2")
async def test_a_new_plan_supersedes_the_last(tmp_path: Path) -> None:
    async with live_server(
        tmp_path, replies=[json.dumps(PLAN), json.dumps({**PLAN, "goal": "greet better"})]
    ) as client:
        chat = await client.chat(role="planner")
        await chat.send("plan")
        await chat.send("better, please")
        first, second = await chat.of_type("plan")
        assert first["created_at"] < second["created_at"]
        answer = await client.ask("POST", f"{chat.path}/plans/{first['id']}/approve", {}, expect=409)
        assert answer["error"]["code"] == "plan_superseded"
        await client.ask("POST", f"{chat.path}/plans/{second['id']}/approve", {}, expect=202)
        await chat.rest()
        await client.ask("POST", f"{chat.path}/plans", {"plan": PLAN}, expect=201)
        answer = await client.ask("POST", f"{chat.path}/plans/{second['id']}/approve", {}, expect=409)
        assert answer["error"]["code"] == "plan_already_approved", "what was approved is never outdated"


@proves("PLN-3", "APR-6/6", "APR-6/7")
async def test_a_call_outside_the_approved_plan_is_asked_and_says_so(tmp_path: Path) -> None:
    replies = [json.dumps(PLAN), call("create_file", path="other.txt", content="x"), "ok"]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat(role="planner")
        await chat.send("plan")
        plan = await chat.last()
        await client.ask("POST", f"{chat.path}/plans/{plan['id']}/approve", {})
        assert (await chat.rest())["state"] == "awaiting_approval"
        assert (await chat.approvals())[0]["outside_plan"] is True


@proves("QST-1/2", "QST-1/3", "QST-2/2")
async def test_a_question_pauses_the_turn_and_the_answer_resumes_it(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[json.dumps(QUESTION), "Red it is."]) as client:
        chat = await client.chat()
        shown = await chat.send("paint it")
        question = await chat.last()
        assert shown["state"] == "awaiting_answer" and shown["waiting_for"]["question"] == question["id"]
        parked = await client.server.database.store.turns.find(question["turn_id"])
        assert parked is not None and parked.seconds > 0, "the work before the question counts"
        answer = f"{chat.path}/questions/{question['id']}/answer"
        await client.ask("POST", f"{chat.path}/messages", {"content": "hello?"}, expect=409)
        await client.ask("POST", answer, {"custom": "green"}, expect=422)
        await client.ask("POST", answer, {"value": "green"}, expect=422)
        await client.ask("POST", answer, {"value": "red"})
        assert (await chat.rest())["state"] == "idle"
        assert client.model.requests[1]["messages"][-1]["content"].endswith("Red (red)")
        assert (await chat.last())["content"] == "Red it is."
        turns = {m["turn_id"] for m in await chat.messages()}
        assert len(turns) == 1, "it is the same turn"
        again = await client.ask("POST", answer, {"value": "blue"}, expect=409)
        assert again["error"]["code"] == "already_answered"


@proves("QST-2/1")
async def test_an_open_question_survives_a_restart_and_can_be_answered_afterwards(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[json.dumps({**QUESTION, "allow_custom": True})]) as client:
        chat = await client.chat()
        await chat.send("paint it")
        question = await chat.last()
    async with live_server(
        tmp_path, replies=[json.dumps({**QUESTION, "question": "How often?"}), "Green, then."]
    ) as client:
        again = type(chat)(client, await client.ask("GET", chat.path))
        assert again.opened["state"] == "awaiting_answer"
        first = f"{chat.path}/questions/{question['id']}/answer"
        await client.ask("POST", first, {"custom": "green"})
        await again.rest()
        await client.ask("POST", first, {"custom": "blue"}, expect=409)
        next_question = (await again.last())["id"]
        assert next_question != question["id"], "the same turn asks once more, and the first answer stays"
        await client.ask("POST", f"{chat.path}/questions/{next_question}/answer", {"value": "red"})
        await again.rest()
        assert (await again.last())["content"] == "Green, then."


@proves("APR-1", "APR-4")
async def test_an_allowed_call_runs_and_a_denied_one_tells_the_model(tmp_path: Path) -> None:
    both = call("create_file", path="a.txt", content="a") + call("create_file", path="b.txt", content="b")
    async with live_server(tmp_path, replies=[both, "Half of it."]) as client:
        chat = await client.chat()
        await chat.send("create both")
        first, second = await chat.approvals()
        assert first["batch_id"] == second["batch_id"] and first["diff"] and first["resource"] == "/a.txt"
        decisions = [
            {"id": first["id"], "decision": "allow_once"},
            {"id": second["id"], "decision": "deny", "note": "not b"},
        ]
        await client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)
        await chat.rest()
        assert (client.workspace / "a.txt").exists() and not (client.workspace / "b.txt").exists()
        assert {r["status"] for r in await chat.results()} == {"ok", "denied"}
        assert "not b" in client.model.requests[1]["messages"][-1]["content"]


async def test_an_open_approval_survives_a_restart_and_runs_when_allowed(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("create_file", path="a.txt", content="a")]) as client:
        chat = await client.chat()
        await chat.send("create it")
    async with live_server(tmp_path, replies=["Done."]) as client:
        again = type(chat)(client, await client.ask("GET", chat.path))
        assert again.opened["state"] == "awaiting_approval"
        await again.decide()
        assert (client.workspace / "a.txt").read_text() == "a"


@proves("APR-8/1")
async def test_an_approval_binds_to_the_file_as_it_was_shown(tmp_path: Path) -> None:
    edit = call("update_file", path="a.txt", edits=[{"find": "old", "replace": "new"}])
    async with live_server(tmp_path, replies=[edit, "Done."], files={"a.txt": "old\n"}) as client:
        chat = await client.chat()
        await chat.send("change it")
        shown = (await chat.approvals())[0]
        (client.workspace / "a.txt").write_text("old and more\n")
        await chat.decide()
        asked_again = (await chat.approvals())[0]
        assert asked_again["id"] != shown["id"] and asked_again["diff"] != shown["diff"]
        assert (client.workspace / "a.txt").read_text() == "old and more\n"
        await chat.decide()
        assert (client.workspace / "a.txt").read_text() == "new and more\n"


@proves("APR-8/1")
async def test_an_approval_does_not_count_for_a_file_that_changed_where_nobody_looked(tmp_path: Path) -> None:
    """The difference that was shown is the same; the file around it is not."""
    lines = [f"line {number}" for number in range(200)]
    edit = call("update_file", path="a.txt", edits=[{"find": "line 3\n", "replace": "three\n"}])
    async with live_server(tmp_path, replies=[edit, "Done."], files={"a.txt": "\n".join(lines)}) as client:
        chat = await client.chat()
        await chat.send("change it")
        shown = (await chat.approvals())[0]
        changed = "\n".join([*lines[:-1], "by a person"])
        (client.workspace / "a.txt").write_text(changed)
        await chat.decide()
        asked_again = (await chat.approvals())[0]
        assert asked_again["id"] != shown["id"] and asked_again["diff"] == shown["diff"]
        assert (client.workspace / "a.txt").read_text() == changed


async def test_a_second_message_while_a_turn_runs_is_a_409_and_nothing_is_lost(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("One moment", hold=hold)]) as client:
        chat = await client.chat()
        await chat.send("first", until="sent")
        answer = await client.ask("POST", f"{chat.path}/messages", {"content": "second"}, expect=409)
        assert answer["error"]["code"] == "turn_running"
        hold.set()
        await chat.rest()
        assert [m["content"] for m in await chat.messages()] == ["first", "One moment"]


async def test_a_workspace_outside_every_registered_root_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "file").write_text("x")
    async with live_server(tmp_path) as client:
        for bad in (str(elsewhere), str(tmp_path / "none"), str(tmp_path / "file"), "/", str(tmp_path / "data")):
            answer = await client.ask("POST", "/context", {"workspace": bad}, expect=422)
            assert answer["error"]["code"] == "bad_workspace"
        await client.ask("POST", "/workspaces", {"root": str(elsewhere)}, expect=201)
        assert (await client.chat(workspace=str(elsewhere))).opened["workspace"] == str(elsewhere)


@proves("ROL-8", "ROL-5/5")
async def test_a_reviewers_answer_becomes_a_review_message(tmp_path: Path) -> None:
    review = {
        "type": "review",
        "summary": "fine",
        "findings": [{"path": "a.py", "line": 3, "severity": "minor", "problem": "long"}],
    }
    async with live_server(tmp_path, replies=[json.dumps(review), "Just words."]) as client:
        chat = await client.chat(role="reviewer")
        await chat.send("review")
        assert (await chat.last())["message_type"] == "review" and (await chat.last())["payload"]["findings"][0][
            "line"
        ] == 3
        await chat.send("more")
        assert (await chat.last())["message_type"] == "text"


@proves("ROL-5/4")
async def test_designer_creates_and_never_modifies(tmp_path: Path) -> None:
    replies = [
        call("create_file", path="new.txt", content="n"),
        call("update_file", path="old.txt", edits=[{"find": "o", "replace": "x"}]),
        call("delete_file", path="old.txt"),
        "Created one.",
    ]
    async with live_server(tmp_path, replies=replies, files={"old.txt": "o"}) as client:
        chat = await client.chat(role="designer")
        await chat.send("design")
        await chat.decide()
        assert [r["status"] for r in await chat.results()] == ["ok", "refused", "refused"]
        assert (client.workspace / "new.txt").exists() and (client.workspace / "old.txt").read_text() == "o"
