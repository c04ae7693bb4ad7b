"""An approved plan is followed: every call belongs to one step, dependencies come first, and no turn ends as answered while steps are open."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import Script, call
from support.spec import proves

Json = dict[str, Any]


def step(action: str, **parts: Any) -> Json:
    return {"action": action, **parts}


def create(path: str) -> str:
    return call("create_file", path=path, content="x\n")


def update(path: str, content: str) -> str:
    return call("update_file", path=path, content=content)


async def run_plan(client: LiveServer, *steps: Json, **plan: Any) -> LiveChat:
    chat = await client.chat()
    wanted = {"goal": "Work", "steps": list(steps), **plan}
    proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": wanted}, expect=201)
    await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
    await chat.rest()
    return chat


async def audit_of(client: LiveServer, chat: LiveChat) -> Json:
    (plan,) = (await client.ask("GET", f"{chat.path}/audit"))["plans"]
    return plan


def statuses(plan: Json) -> list[str]:
    return [one["status"] for one in plan["steps"]]


def resources(one: Json) -> list[str]:
    return [done["resource"] for done in one["done"]]


async def updates(chat: LiveChat, until: str = "turn-ended") -> list[tuple[str, dict[str, str]]]:
    """The plan's status and its steps' statuses, as readers were told."""
    told = [event["plan"] for event in await chat.events(until) if event["type"] == "plan-update"]
    return [(plan["status"], {one["id"]: one["status"] for one in plan["steps"]}) for plan in told]


@proves("PLN-6/5", "PLN-5/6")
async def test_two_steps_on_one_file_are_told_apart(tmp_path: Path) -> None:
    steps = (
        step("Greet", tools_needed=["write"], paths=["a.txt"]),
        step("Sign", tools_needed=["write"], paths=["a.txt"], dependencies=["1"]),
    )
    replies = [
        call("read_file", path="a.txt"),
        update("a.txt", "hello\n"),
        update("a.txt", "hello\nme\n"),
        "Both are done.",
    ]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "\n"}) as client:
        chat = await run_plan(client, *steps)
        plan = await audit_of(client, chat)
        assert statuses(plan) == ["done", "done"] and plan["status"] == "done" and plan["state"] == "answered"
        assert [[done["tool"] for done in one["done"]] for one in plan["steps"]] == [
            ["read_file", "update_file"],
            ["update_file"],
        ]
        assert [one["untouched"] for one in plan["steps"]] == [[], []]
        assert [one["done"][-1]["allowed_by"] for one in plan["steps"]] == ["plan:1", "plan:2"]


@proves("PLN-6/4", "PLN-6/5")
async def test_two_calls_on_one_file_in_one_reply_belong_to_two_steps(tmp_path: Path) -> None:
    steps = (step("Greet", paths=["a.txt"]), step("Sign", paths=["a.txt"], dependencies=["1"]))
    batch = "\n".join([create("a.txt"), call("update_file", path="a.txt", edits=[{"find": "x", "replace": "y"}])])
    async with live_server(tmp_path, replies=[batch, "Done."]) as client:
        chat = await run_plan(client, *steps)
        plan = await audit_of(client, chat)
        assert [len(one["done"]) for one in plan["steps"]] == [1, 1] and statuses(plan) == ["done", "done"]
        calls = [e for e in await chat.events() if e["type"] == "tool-call"]
        assert [event["step_id"] for event in calls] == ["1", "2"], "bound when they were made"


@proves("PLN-6/1", "PLN-6/2", "PLN-6/3")
@pytest.mark.parametrize("words", [["create_file"], ["create"], ["create_files", "read_files"]])
async def test_calls_of_a_step_without_paths_ask_as_not_granted_and_count_to_the_step(
    tmp_path: Path, words: list[str]
) -> None:
    steps = (step("Look", tools_needed=["read_file"]), step("Write it down", tools_needed=words))
    replies = [call("read_file", path="a.txt"), create("b.txt"), "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}) as client:
        chat = await run_plan(client, *steps)
        (asked,) = await chat.approvals()
        assert asked["outside_plan"] is False
        assert any("not granted by the approved plan" in reason and "step 2" in reason for reason in asked["reasons"])
        assert statuses(await audit_of(client, chat)) == ["done", "running"]
        await chat.decide()
        plan = await audit_of(client, chat)
        assert statuses(plan) == ["done", "done"] and plan["state"] == "answered" and plan["unplanned"] == []
        assert [resources(one) for one in plan["steps"]] == [["a.txt"], ["b.txt"]]


@proves("PLN-6/2")
async def test_a_tool_that_no_step_names_is_outside_the_plan(tmp_path: Path) -> None:
    steps = (step("Write it down", tools_needed=["create_file"]),)
    async with live_server(tmp_path, replies=[call("delete_file", path="a.txt")], files={"a.txt": "x"}) as client:
        chat = await run_plan(client, *steps)
        (asked,) = await chat.approvals()
        assert asked["outside_plan"] is True and "It is outside the approved plan." in asked["reasons"]


@proves("LOOP-12/1")
async def test_a_call_of_a_step_whose_dependency_is_open_is_not_made_and_names_the_step_that_comes_first(
    tmp_path: Path,
) -> None:
    steps = (
        step("First", tools_needed=["create_file"], paths=["a.txt"]),
        step("Then", tools_needed=["create_file"], paths=["b.txt"], dependencies=["1"]),
    )
    replies = [create("b.txt"), create("a.txt"), create("b.txt"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await run_plan(client, *steps)
        first, *others = await chat.results()
        assert first["error"]["code"] == "step_not_ready" and first["status"] == "error"
        assert "step 1 (First)" in first["error"]["message"]
        assert [result["status"] for result in others] == ["ok", "ok"], "the very same call is made once it may be"
        plan = await audit_of(client, chat)
        assert statuses(plan) == ["done", "done"] and plan["state"] == "answered"
        started = [steps for _, steps in await updates(chat) if steps["2"] != "open"]
        assert all(steps["1"] == "done" for steps in started), "a step starts after its dependencies"


@proves("LOOP-12/1")
async def test_in_one_reply_the_dependant_waits_for_the_result_of_the_call_before_it(tmp_path: Path) -> None:
    steps = (
        step("First", tools_needed=["create_file"], paths=["a.txt"]),
        step("Then", tools_needed=["create_file"], paths=["b.txt"], dependencies=["1"]),
    )
    batch = "\n".join([create("a.txt"), create("b.txt")])
    async with live_server(tmp_path, replies=[batch, "Well.", "Well."], files={"a.txt": "in the way"}) as client:
        chat = await run_plan(client, *steps)
        assert [r["error"]["code"] for r in await chat.results() if r["tool_call_id"]] == [
            "file_exists",
            "step_not_ready",
        ]
        assert not (client.workspace / "b.txt").exists()
        assert statuses(await audit_of(client, chat)) == ["failed", "skipped"]


@proves("LOOP-12/1")
async def test_a_dependency_with_a_check_is_proved_before_the_next_step_begins(tmp_path: Path) -> None:
    steps = (
        step("First", tools_needed=["create", "write"], paths=["a.txt"], check="grep -q good a.txt"),
        step("Then", tools_needed=["create_file"], paths=["b.txt"], dependencies=["1"]),
    )
    replies = [
        call("create_file", path="a.txt", content="bad\n"),
        create("b.txt"),
        update("a.txt", "good\n"),
        create("b.txt"),
        "Done.",
    ]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await run_plan(client, *steps)
        told = [(r["tool"], r["status"]) for r in await chat.results()]
        assert told[:4] == [
            ("create_file", "ok"),
            ("execute_command", "error"),
            ("create_file", "error"),
            ("update_file", "ok"),
        ]
        plan = await audit_of(client, chat)
        assert statuses(plan) == ["done", "done"] and plan["state"] == "answered"


@proves("LOOP-12/2", "LOOP-12/3", "LOOP-12/4", "LOOP-4/9")
async def test_a_model_that_stops_too_early_is_told_once_and_then_the_turn_ends_blocked(tmp_path: Path) -> None:
    steps = tuple(step(f"Make {n}", tools_needed=["create_file"], paths=[f"{n}.txt"]) for n in (1, 2, 3))
    async with live_server(tmp_path, replies=[create("1.txt"), create("2.txt"), "All done!", "Really."]) as client:
        chat = await run_plan(client, *steps)
        assert len(client.model.requests) == 4
        told = client.model.requests[3]["messages"][-1]["content"]
        assert "3 (Make 3)" in told and "Make 1" not in told
        assert (await chat.events())[-1]["reason"] == "blocked"
        last = await chat.last()
        assert "3 (Make 3)" in last["content"] and last["role"] == "system"
        plan = await audit_of(client, chat)
        assert (plan["status"], plan["state"], statuses(plan)) == ("blocked", "blocked", ["done", "done", "open"])
        assert (await updates(chat))[-1] == ("blocked", {"1": "done", "2": "done", "3": "open"})


@proves("LOOP-12/3", "LOOP-4/9")
async def test_a_model_that_goes_on_when_it_is_told_carries_the_plan_out(tmp_path: Path) -> None:
    steps = tuple(step(f"Make {n}", tools_needed=["create_file"], paths=[f"{n}.txt"]) for n in (1, 2))
    async with live_server(tmp_path, replies=[create("1.txt"), "Done.", create("2.txt"), "Now it is."]) as client:
        chat = await run_plan(client, *steps)
        assert (await chat.events())[-1]["reason"] == "answered" and (await chat.last())["content"] == "Now it is."
        assert (await audit_of(client, chat))["status"] == "done"


@proves("LOOP-12/3", "LOOP-12/4")
async def test_being_told_once_holds_over_a_pause_for_a_person(tmp_path: Path) -> None:
    steps = (step("Make it", tools_needed=["create_file"]), step("Run it", tools_needed=["execute_command"]))
    async with live_server(tmp_path, replies=["Done.", create("a.txt"), "Done now."]) as client:
        chat = await run_plan(client, *steps)
        await chat.decide()
        assert (await chat.events())[-1]["reason"] == "blocked" and len(client.model.requests) == 3


@proves("LOOP-12/2")
async def test_a_terminating_call_does_not_end_a_plan_with_open_steps(tmp_path: Path) -> None:
    steps = tuple(step(f"Make {n}", tools_needed=["create_file"], paths=[f"{n}.txt"]) for n in (1, 2))
    first = call("create_file", terminate=True, path="1.txt", content="x")
    second = call("create_file", terminate=True, path="2.txt", content="x")
    async with live_server(tmp_path, replies=[first, second]) as client:
        chat = await run_plan(client, *steps)
        assert (await chat.events())[-1]["reason"] == "terminated" and (client.workspace / "2.txt").exists()


@proves("LOOP-12/6", "EVT-1/6")
async def test_plan_update_carries_the_status_of_every_step_whenever_one_changes(tmp_path: Path) -> None:
    steps = (
        step("Make a", tools_needed=["create_file"], paths=["a.txt"]),
        step("Make b", tools_needed=["create_file"], paths=["b.txt"], dependencies=["1"]),
    )
    async with live_server(
        tmp_path, replies=[create("a.txt"), create("b.txt"), "Done."], files={"b.txt": "x"}
    ) as client:
        (client.workspace / "b.txt").unlink()
        chat = await run_plan(client, *steps)
        assert await updates(chat) == [
            ("open", {"1": "open", "2": "open"}),
            ("approved", {"1": "open", "2": "open"}),
            ("approved", {"1": "running", "2": "open"}),
            ("approved", {"1": "done", "2": "open"}),
            ("approved", {"1": "done", "2": "running"}),
            ("done", {"1": "done", "2": "done"}),
            ("done", {"1": "done", "2": "done"}),
        ]


@proves("PLN-5")
async def test_a_step_that_names_nothing_is_claimed_and_holds_nothing_up(tmp_path: Path) -> None:
    steps = (
        step("Think it over"),
        step("Talk about it", tools_needed=["the", "phone"], dependencies=["1"]),
        step("Make a", tools_needed=["create_file"], paths=["a.txt"], dependencies=["2"]),
        step("Be glad"),
    )
    async with live_server(tmp_path, replies=[create("a.txt"), "Done."]) as client:
        chat = await run_plan(client, *steps)
        plan = await audit_of(client, chat)
        assert statuses(plan) == ["claimed", "claimed", "done", "claimed"]
        assert (plan["status"], plan["state"]) == ("done", "answered")
        assert ("approved", {"1": "claimed", "2": "claimed", "3": "running", "4": "open"}) in await updates(chat)


async def test_reading_ahead_is_free_and_finishes_no_step_that_is_not_ready(tmp_path: Path) -> None:
    steps = (
        step("Make a", tools_needed=["create_file"], paths=["a.txt"]),
        step("Read b", tools_needed=["read_file"], paths=["b.txt"], dependencies=["1"]),
    )
    look = call("read_file", path="b.txt")
    async with live_server(tmp_path, replies=[look, create("a.txt"), look, "Done."], files={"b.txt": "x"}) as client:
        chat = await run_plan(client, *steps)
        assert [result["status"] for result in await chat.results()] == ["ok"] * 3
        plan = await audit_of(client, chat)
        assert statuses(plan) == ["done", "done"] and plan["also_read"] == 1


@proves("LOOP-12/6")
async def test_a_stopped_plan_says_how_far_it_came(tmp_path: Path) -> None:
    steps = (
        step("Make a", tools_needed=["create_file"], paths=["a.txt"]),
        step("Make b", tools_needed=["create_file"]),
    )
    async with live_server(tmp_path, replies=[create("a.txt"), create("b.txt")]) as client:
        chat = await run_plan(client, *steps)
        await client.ask("POST", f"{chat.path}/stop", {})
        assert (await updates(chat))[-1] == ("blocked", {"1": "done", "2": "failed"})


@proves("LOOP-4/8", "LOOP-4/9", "LOOP-12/5")
async def test_each_step_of_a_plan_has_its_own_limit(tmp_path: Path) -> None:
    steps = tuple(step(f"Make {n}", tools_needed=["create_file"], paths=[f"{n}.txt"]) for n in (1, 2))
    looks = [call("read_file", path=f"look{n}.txt") for n in range(9)]
    files = {f"look{n}.txt": "x" for n in range(9)}
    spread: list[Script] = [looks[0], looks[1], create("1.txt"), looks[2], looks[3], create("2.txt"), "Done."]
    for name in ("spread", "one"):
        (tmp_path / name).mkdir()
    async with live_server(tmp_path / "spread", replies=spread, files=files, max_steps=3) as client:
        chat = await run_plan(client, *steps)
        assert (await chat.events())[-1]["reason"] == "answered"
    async with live_server(tmp_path / "one", replies=looks, files=files, max_steps=3) as client:
        chat = await run_plan(client, *steps)
        assert (await chat.events())[-1]["reason"] == "limit" and len(client.model.requests) == 3
        assert "step 1 of the plan" in (await chat.last())["content"]
        assert (await updates(chat))[-1][0] == "blocked"


@proves("LOOP-4/8")
async def test_the_limit_of_a_step_holds_over_a_pause_for_a_person(tmp_path: Path) -> None:
    steps = (step("Make them", tools_needed=["update_file"]),)
    replies = [call("read_file", path="a.txt"), update("a.txt", "y\n"), call("read_file", path="a.txt"), "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}, max_steps=2) as client:
        chat = await run_plan(client, *steps)
        await chat.decide("deny")
        assert (await chat.events())[-1]["reason"] == "limit" and len(client.model.requests) == 2


@proves("PLN-4")
async def test_an_actor_whose_plan_proves_wrong_asks_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    question = {
        "type": "question",
        "format_version": "1.0",
        "question": "The plan is wrong: a.txt is there already. Change it instead?",
        "severity": "major",
        "options": [{"label": "Change it", "value": "change"}, {"label": "Stop", "value": "stop"}],
    }
    steps = (step("Make a", tools_needed=["create_file"], paths=["a.txt"]),)
    replies = [create("a.txt"), json.dumps(question), call("create_file", path="b.txt", content="x"), "Done.", "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}) as client:
        chat = await run_plan(client, *steps)
        shown = await chat.show()
        assert shown["state"] == "awaiting_answer"
        assert statuses(await audit_of(client, chat)) == ["failed"]
        asked = shown["waiting_for"]["question"]
        await client.ask("POST", f"{chat.path}/questions/{asked}/answer", {"value": "change"})
        await chat.rest()
        system = client.model.requests[0]["messages"][0]["content"]
        assert "If the plan proves wrong" in system


@proves("PLN-1")
@pytest.mark.parametrize("own", [{"type": "plan"}, {}], ids=["named", "plain"])
async def test_a_plan_that_waits_for_itself_is_text_and_a_note_names_the_steps(
    tmp_path: Path, own: dict[str, str]
) -> None:
    first, second = step("First", dependencies=["2"]), step("Second", dependencies=["1"])
    said = json.dumps({**own, "goal": "Round and round", "steps": [first, second, step("Third")]})
    async with live_server(tmp_path, replies=[said]) as client:
        chat = await client.chat(role="planner")
        await chat.send("plan it")
        *_, words, note = await chat.messages()
        assert (words["message_type"], words["content"]) == ("text", said), "nothing of it is lost"
        assert note["role"] == "system" and "wait for each other: 1, 2." in note["content"]
