"""Plan against actual, and the checks that a plan names: what was meant stands beside what was done, by evidence."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from anycowork.server.clock import SystemClock
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves

GREET: dict[str, Any] = {
    "goal": "Greet",
    "steps": [
        {"action": "Look around", "tools_needed": ["read"], "paths": ["notes.txt"]},
        {"action": "Write the greeting", "tools_needed": ["create_file"], "paths": ["hello.txt"]},
        {"action": "Say goodbye", "tools_needed": ["create_file"], "paths": ["bye.txt"]},
        {"action": "Think it over"},
    ],
}


def proved(*, check: str = "grep -q hi hello.txt") -> dict[str, Any]:
    return {
        "goal": "Greet",
        "steps": [{"action": "Greet", "tools_needed": ["create", "write"], "paths": ["hello.txt"], "check": check}],
    }


async def carried_out(client: LiveServer, plan: dict[str, Any]) -> LiveChat:
    chat = await client.chat()
    proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan}, expect=201)
    await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
    await chat.rest()
    return chat


async def audited(client: LiveServer, chat: LiveChat) -> dict[str, Any]:
    plans = (await client.ask("GET", f"{chat.path}/audit"))["plans"]
    assert len(plans) == 1
    return plans[0]


@proves("PLN-5/1", "PLN-5/2", "PLN-5/3", "PLN-5/6", "PLN-5/7")
async def test_what_was_meant_stands_beside_what_was_done_and_what_was_outside_is_marked(tmp_path: Path) -> None:
    replies = [
        call("read_file", path="notes.txt"),
        call("create_file", path="hello.txt", content="hi\n"),
        call("list_directory", path="."),
        call("create_file", path="extra.txt", content="more\n"),
        "That is it.",
        "It is.",
    ]
    async with live_server(tmp_path, replies=replies, files={"notes.txt": "be kind\n"}) as client:
        chat = await carried_out(client, GREET)
        during = await audited(client, chat)
        assert [step["status"] for step in during["steps"]] == ["done", "done", "open", "open"]
        [asked] = await chat.approvals()
        await chat.decide()
        plan = await audited(client, chat)
        assert plan["goal"] == "Greet" and plan["state"] == "blocked" and plan["approved_by"].startswith("person")
        look, greet, bye, think = plan["steps"]
        assert [step["status"] for step in plan["steps"]] == ["done", "done", "open", "open"]
        assert [done["tool"] for done in look["done"]] == ["read_file"]
        [done] = greet["done"]
        assert (done["tool"], done["resource"], done["status"], done["paths"]) == (
            "create_file",
            "hello.txt",
            "ok",
            ["hello.txt"],
        )
        assert done["allowed_by"] == "plan:2" and done["seconds"] >= 0 and done["at"]
        assert greet["intended"]["action"] == "Write the greeting" and greet["untouched"] == []
        assert bye["done"] == [] and bye["untouched"] == ["bye.txt"] and think["done"] == []
        [outside] = plan["unplanned"]
        assert (outside["resource"], outside["allowed_by"]) == ("extra.txt", f"approval:{asked['id']}")
        assert plan["also_read"] == 1


class TickingClock(SystemClock):
    """A clock on which a second passes between any two looks at the time of day."""

    looks = 0

    def now(self) -> str:
        self.looks += 1
        shifted = datetime.fromisoformat(super().now()) + timedelta(seconds=self.looks)
        return shifted.isoformat().replace("+00:00", "Z")


@proves("PLN-5/1", "PLN-5/2", "PLN-5/3", "PLN-5/4", "PLN-5/5", "PLN-5/6")
async def test_commands_and_time_of_each_step_stand_beside_what_was_meant(tmp_path: Path) -> None:
    steps = [
        {"action": "Make it", "commands": ["touch a.txt b.txt"]},
        {"action": "Look", "commands": ["ls a.txt"], "dependencies": ["1"]},
    ]
    replies = [call("execute_command", command=step["commands"][0]) for step in steps]
    async with live_server(tmp_path, replies=[*replies, "Done."], clock=TickingClock()) as client:
        chat = await carried_out(client, {"goal": "Run", "steps": steps})
        plan = await audited(client, chat)
        assert [step["intended"]["commands"] for step in plan["steps"]] == [["touch a.txt b.txt"], ["ls a.txt"]]
        done = [step["done"] for step in plan["steps"]]
        assert [[(one["tool"], one["resource"], one["exit_code"]) for one in calls] for calls in done] == [
            [("execute_command", "touch a.txt b.txt", 0)],
            [("execute_command", "ls a.txt", 0)],
        ]
        assert done[0][0]["paths"] == ["a.txt", "b.txt"], "every file that the command changed"
        for step in plan["steps"]:
            assert step["seconds"] >= 1 and step["seconds"] == sum(one["seconds"] for one in step["done"])
        first, second = (calls[0]["at"] for calls in done)
        assert first < second


class MovedClock(SystemClock):
    """A clock that a test moves forward."""

    moved = timedelta()

    def now(self) -> str:
        return (datetime.fromisoformat(super().now()) + self.moved).isoformat().replace("+00:00", "Z")


@proves("PLN-5/5", "UI-11")
async def test_the_time_of_a_step_does_not_count_a_persons_thinking(tmp_path: Path) -> None:
    clock = MovedClock()
    replies = [call("create_file", path="a.txt", content="1\n"), "Done."]
    async with live_server(tmp_path, replies=replies, clock=clock) as client:
        plan = {"goal": "Write", "steps": [{"action": "Write it", "tools_needed": ["create_file"]}]}
        chat = await carried_out(client, plan)
        assert len(await chat.approvals()) == 1
        clock.moved = timedelta(hours=1)
        await chat.decide()
        [step] = (await audited(client, chat))["steps"]
        assert step["status"] == "done" and step["seconds"] < 3600
        assert step["done"][0]["seconds"] == step["seconds"]


@proves("PLN-5/1")
async def test_every_approved_plan_of_a_chat_is_audited(tmp_path: Path) -> None:
    replies = [call("create_file", path="a.txt", content="x"), "Done.", call("create_file", path="b.txt", content="x")]
    async with live_server(tmp_path, replies=[*replies, "Done."]) as client:
        chat = await client.chat()
        for name in ("a.txt", "b.txt"):
            wanted = {"goal": name, "steps": [{"action": "Make it", "paths": [name]}]}
            proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": wanted}, expect=201)
            await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
            await chat.rest()
        plans = (await client.ask("GET", f"{chat.path}/audit"))["plans"]
        assert [plan["goal"] for plan in plans] == ["a.txt", "b.txt"]
        assert [plan["steps"][0]["done"][0]["paths"] for plan in plans] == [["a.txt"], ["b.txt"]]


@proves("PLN-5/1", "PLN-5/7")
async def test_a_refused_or_failed_attempt_does_not_count_as_done(tmp_path: Path) -> None:
    replies = [
        call("create_file", path="bye.txt", content="bye\n"),
        call("create_file", path="stray.txt", content="x"),
        *["Well."] * 2,
    ]
    async with live_server(tmp_path, replies=replies, files={"bye.txt": "there already\n"}) as client:
        chat = await carried_out(client, GREET)
        await chat.decide("deny")
        plan = await audited(client, chat)
        bye = plan["steps"][2]
        assert bye["status"] == "failed" and bye["done"][0]["status"] == "error" and bye["done"][0]["error"]
        assert [(done["resource"], done["status"]) for done in plan["unplanned"]] == [("stray.txt", "denied")]
        client.model.replies[:] = ["Nothing more.", "Nothing."]
        await chat.send("and now?")
        again = await audited(client, chat)
        assert again["unplanned"] == plan["unplanned"] and again["turn_id"] != plan["turn_id"], "of both turns"


@proves("PLN-5/6", "PLN-6/2")
async def test_reading_does_not_complete_a_step_whose_tool_nobody_knows_but_changing_its_file_does(
    tmp_path: Path,
) -> None:
    """A planner that cannot write does not know the names of the tools that do, and guesses."""
    step = {"action": "Correct it", "tools_needed": ["edit_file"], "paths": ["a.txt"]}
    look = {**step, "id": "look", "tools_needed": ["read_file", "edit_file"], "paths": ["b.txt"]}
    change = call("update_file", path="a.txt", content="right\n")
    replies = [call("read_file", path="b.txt"), call("read_file", path="a.txt"), change, "Done.", "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "wrong\n", "b.txt": "b\n"}) as client:
        chat = await carried_out(client, {"goal": "Correct", "steps": [step, look]})
        assert [one["status"] for one in (await audited(client, chat))["steps"]] == ["running", "running"]
        [asked] = await chat.approvals()
        assert any("step 1 allows edit_file, and this needs write_files" in one for one in asked["reasons"]), (
            "the plan grants no tool that it does not name"
        )
        await chat.decide()
        plan = await audited(client, chat)
        assert [one["status"] for one in plan["steps"]] == ["done", "open"] and plan["unplanned"] == []
        assert plan["state"] == "blocked"


async def test_a_chat_without_an_approved_plan_has_nothing_to_compare(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        await client.ask("POST", f"{chat.path}/plans", {"plan": GREET}, expect=201)
        assert (await client.ask("GET", f"{chat.path}/audit"))["plans"] == []
        missing = await client.ask("GET", "/context/nowhere/audit", expect=404)
        assert "nowhere" in missing["error"]["message"]


@proves("LOOP-10/5")
async def test_the_server_runs_the_check_that_a_step_names_before_it_counts_as_done(tmp_path: Path) -> None:
    replies = [
        call("create_file", path="hello.txt", content="good day\n"),
        "All done, the greeting is there.",
        call("update_file", path="hello.txt", content="hi\n"),
        "Now it is.",
    ]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await carried_out(client, proved())
        assert (await chat.show())["state"] == "idle" and (await chat.last())["content"] == "Now it is."
        told = client.model.requests[2]["messages"][-1]["content"]
        assert "step 1 (Greet) is open" in told
        assert "check of the approved plan failed" in told and "exit code 1" in told
        checks = [m for m in await chat.of_type("tool_call") if m["payload"].get("check")]
        assert [m["payload"]["parameters"] for m in checks] == [{"command": "grep -q hi hello.txt"}] * 2
        [step] = (await audited(client, chat))["steps"]
        assert step["status"] == "done"
        assert (step["check"]["ran"], step["check"]["ok"], step["check"]["exit_code"]) == (True, True, 0)
        assert len(client.model.requests) == 4, "a check that holds costs no further question"


@proves("LOOP-10/5")
async def test_a_terminating_call_does_not_end_the_turn_while_the_check_fails(tmp_path: Path) -> None:
    replies = [call("create_file", terminate=True, path="hello.txt", content="good day\n"), "I cannot do better."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await carried_out(client, proved())
        *_, words, blocked = await chat.messages()
        assert words["content"] == "I cannot do better." and "step 1 (Greet) is open" in blocked["content"]
        assert (await chat.events())[-1]["reason"] == "blocked", "it was told once"
        [step] = (await audited(client, chat))["steps"]
        assert step["status"] == "failed" and step["check"]["exit_code"] == 1, "and the person is shown the exit code"


async def test_a_check_that_the_model_ran_itself_after_its_last_change_is_not_run_again(tmp_path: Path) -> None:
    check = "grep -q hi hello.txt"
    replies = [call("create_file", path="hello.txt", content="hi\n"), call("execute_command", command=check), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await carried_out(client, proved(check=check))
        assert len(await chat.of_type("tool_call")) == 2
        [step] = (await audited(client, chat))["steps"]
        assert step["status"] == "done" and step["check"]["ok"] is True


async def test_a_check_that_a_rule_asks_for_disturbs_nobody_and_is_said_not_to_have_run(tmp_path: Path) -> None:
    replies = [call("create_file", path="hello.txt", content="hi\n"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        rule = {"tool": "execute_command", "resource": "*", "effect": "ask", "scope": "global"}
        await client.ask("POST", "/rules", rule, expect=201)
        chat = await carried_out(client, proved())
        assert (await chat.show())["state"] == "idle" and await chat.approvals() == []
        [step] = (await audited(client, chat))["steps"]
        assert step["check"] == {"command": "grep -q hi hello.txt", "ran": False}
        assert step["status"] == "claimed", "nobody has proved it"
        assert (await chat.events())[-1]["reason"] == "answered"


@proves("LOOP-5")
async def test_stop_ends_a_check_that_hangs(tmp_path: Path) -> None:
    replies = [call("create_file", path="hello.txt", content="hi\n"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": proved(check="sleep 60")}, expect=201)
        await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
        async with asyncio.timeout(60):
            async for event in chat.follow():
                if event["type"] == "tool-call" and event["tool_call"]["tool"] == "execute_command":
                    break
        await client.ask("POST", f"{chat.path}/stop", {})
        assert (await chat.show())["state"] == "idle"
        [step] = (await audited(client, chat))["steps"]
        assert step["status"] == "failed"
