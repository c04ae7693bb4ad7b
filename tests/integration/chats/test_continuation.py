"""A turn that stopped at a limit, by a restart or with open steps is continued where it stood: nothing is sent or done again."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.jobs import approved, plan, report, until, writing
from support.live_server import Json, LiveChat, live_server
from support.scripted_model import Body, Reply, call
from support.spec import proves


async def continue_chat(chat: LiveChat, *, until: str = "rest") -> Json:
    started = await chat.client.ask("POST", f"{chat.path}/continue", expect=202)
    if until == "rest":
        await chat.rest()
    return started


async def ends(chat: LiveChat) -> list[str]:
    return [event["reason"] for event in await chat.events() if event["type"] == "turn-ended"]


@proves("LOOP-11/1", "LOOP-11/5")
async def test_a_turn_at_its_limit_goes_on_with_all_that_it_had_done(tmp_path: Path) -> None:
    replies = [call("read_file", path=f"{n}.txt") for n in range(4)]
    async with live_server(
        tmp_path, replies=replies, files={f"{n}.txt": f"content {n}" for n in range(4)}, max_steps=2
    ) as client:
        chat = await client.chat()
        stopped = await chat.send("read them all")
        turn_id = (await chat.messages())[0]["turn_id"]
        assert stopped["continuable"]["turn_id"] == turn_id and stopped["continuable"]["reason"] == "limit"
        assert "2 steps" in stopped["continuable"]["message"]
        assert await continue_chat(chat) == {"turn_id": turn_id}
        assert len(client.model.requests) == 4, "the counters start anew, and hold again"
        client.model.replies[:] = ["All read."]
        await continue_chat(chat)
        seen = client.model.requests[-1]["messages"]
        words = "\n".join(message["content"] for message in seen)
        assert words.count("read them all") == 1, "the request is not sent again"
        assert all(f"content {n}" in words for n in range(4)), "the model sees the whole turn"
        assert seen[-1]["role"] == "user" and "continued the turn" in seen[-1]["content"]
        assert (await chat.show())["continuable"] is None
        assert await ends(chat) == ["limit", "limit", "answered"]
        usages = [event["usage"] for event in await chat.events() if event["type"] == "usage"]
        assert [usage["steps_left"] for usage in usages] == [1, 0, 1, 0, 1], "how far it is before it stops"
        assert len([m for m in await chat.messages() if m["role"] == "user"]) == 1


@proves("LOOP-11")
async def test_a_chat_that_is_not_stopped_short_has_nothing_to_continue(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=["Hello.", Reply("Working", hold=hold)]) as client:
        chat = await client.chat()
        refused = await client.ask("POST", f"{chat.path}/continue", expect=409)
        assert refused["error"]["code"] == "nothing_to_continue"
        await chat.send("hi")
        assert "'answered'" in (await client.ask("POST", f"{chat.path}/continue", expect=409))["error"]["message"]
        assert (await chat.show())["steps_left"] is None, "no turn is at work"
        await chat.send("work", until="sent")
        await client.model.asked(2)
        assert (await chat.show())["steps_left"] == 10, "who joins now is told what the others were"
        await client.ask("POST", f"{chat.path}/continue", expect=409)
        await client.ask("POST", f"{chat.path}/stop", expect=200)
        refused = await client.ask("POST", f"{chat.path}/continue", expect=409)
        assert "'stopped'" in refused["error"]["message"], "who stopped it meant it"
        await client.ask("POST", "/context/unknown/continue", expect=404)
        hold.set()


@proves("LOOP-11", "UI-11")
async def test_a_turn_that_a_person_dismissed_waits_for_nobody_and_drops_its_plan(tmp_path: Path) -> None:
    steps = [{"id": "a", "action": "Write a", "paths": ["a.txt"], "tools_needed": ["create_file"]}]
    replies = ["I did nothing.", "Still nothing.", "Hello."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        refused = await client.ask("POST", f"{chat.path}/dismiss", expect=409)
        assert refused["error"]["code"] == "nothing_to_dismiss"
        plan_id = (await client.ask("POST", f"{chat.path}/plans", {"plan": {"goal": "A", "steps": steps}}))[
            "message_id"
        ]
        await client.ask("POST", f"{chat.path}/plans/{plan_id}/approve")
        stopped = await chat.rest()
        assert (stopped["waiting"], stopped["continuable"]["reason"]) == ("continue", "blocked")
        await client.ask("POST", f"{chat.path}/dismiss", expect=204)
        shown = await chat.show()
        assert (shown["waiting"], shown["continuable"]) == (None, None)
        assert (await chat.last())["content"] == "The plan was dropped." and (await ends(chat))[-1] == "stopped"
        await client.ask("POST", f"{chat.path}/continue", expect=409)
        await chat.send("hi")
        [asked] = [m for m in await chat.messages() if m["content"] == "hi"]
        assert "kept_plan" not in (asked["payload"] or {})


async def test_a_plan_that_was_set_aside_no_longer_waits_and_can_still_be_approved(tmp_path: Path) -> None:
    planned = '{"type": "plan", "goal": "Greet", "steps": [{"action": "Write hello", "paths": ["hello.txt"]}]}'
    async with live_server(tmp_path, replies=[planned, "Nothing.", "Nothing."]) as client:
        chat = await client.chat(role="planner")
        assert (await chat.send("plan"))["waiting"] == "plan"
        await client.ask("POST", f"{chat.path}/dismiss", expect=204)
        assert (await chat.show())["waiting"] is None
        [plan_id] = [m["id"] for m in await chat.messages() if m["message_type"] == "plan"]
        await client.ask("POST", f"{chat.path}/plans/{plan_id}/approve", expect=202)
        await chat.rest()


async def test_failed_task_of_a_job_is_not_offered_as_a_turn_to_continue(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[report("it cannot be done", "failure")] * 9) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(writing("a")))
        assert (await until(client, chat, job["id"], "failed"))["tasks"][0]["error"]["code"] == "reported_failure"
        await chat.rest()
        shown = await client.ask("GET", chat.path)
        assert shown["continuable"] is None and shown["waiting"] is None
        refused = await client.ask("POST", f"{chat.path}/continue", expect=409)
        assert "belongs to a job" in refused["error"]["message"]


async def test_a_task_of_a_job_at_its_limit_does_not_advise_to_continue_it(tmp_path: Path) -> None:
    replies = [call("read_file", path="a.md")] * 9
    async with live_server(tmp_path, replies=replies, files={"a.md": "x"}, max_steps=1) as client:
        chat = await client.chat()
        job = await approved(client, chat, plan=plan(writing("a")))
        [task] = (await until(client, chat, job["id"], "failed"))["tasks"]
        assert task["error"]["message"].endswith("after 1 steps. The task can be tried again.")
        assert not any("Continue it" in message["content"] for message in await chat.messages())


@proves("LOOP-11")
async def test_two_who_continue_at_once_continue_once(tmp_path: Path) -> None:
    replies = [call("read_file", path="a.txt"), "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}, max_steps=1) as client:
        chat = await client.chat()
        await chat.send("read it")

        async def press() -> int:
            async with client.session.post(f"{client.url}{chat.path}/continue") as response:
                return response.status

        assert sorted(await asyncio.gather(press(), press())) == [202, 409]
        await chat.rest()
        assert (await chat.last())["content"] == "Done." and len(client.model.requests) == 2


@proves("LOOP-11", "SWI-3")
async def test_a_turn_is_not_continued_in_another_role(tmp_path: Path) -> None:
    async with live_server(
        tmp_path, replies=[call("read_file", path="a.txt")], files={"a.txt": "x"}, max_steps=1
    ) as client:
        chat = await client.chat()
        await chat.send("read it")
        await chat.switch("planner")
        assert (await chat.show())["continuable"] is None
        refused = await client.ask("POST", f"{chat.path}/continue", expect=409)
        assert "actor" in refused["error"]["message"] and "planner" in refused["error"]["message"]


@proves("LOOP-11", "LOOP-12")
async def test_a_blocked_plan_goes_on_and_is_told_its_open_steps_again(tmp_path: Path) -> None:
    plan = {
        "goal": "two files",
        "steps": [
            {"action": "first", "tools_needed": ["create_file"], "paths": ["a.txt"]},
            {"action": "second", "tools_needed": ["create_file"], "paths": ["b.txt"], "dependencies": ["1"]},
        ],
    }
    replies = [call("create_file", path="a.txt", content="a"), "That is it.", "Really, that is it."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": plan}, expect=201)
        await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", {}, expect=202)
        stopped = await chat.rest()
        assert stopped["continuable"]["reason"] == "blocked"
        client.model.replies[:] = ["Done, I think.", call("create_file", path="b.txt", content="b"), "Both are there."]
        await continue_chat(chat)
        told = client.model.requests[-2]["messages"][-1]["content"]
        assert "second" in told and "open" in told
        assert (client.workspace / "b.txt").read_text() == "b" and not await chat.approvals()
        updates = [event["plan"] for event in await chat.events() if event["type"] == "plan-update"]
        assert [step["status"] for step in updates[-1]["steps"]] == ["done", "done"]
        created = [m["payload"]["parameters"]["path"] for m in await chat.of_type("tool_call")]
        assert created == ["a.txt", "b.txt"], "the finished step is not done again"


@proves("LOOP-11/2")
async def test_a_turn_out_of_time_goes_on_after_its_half_answer(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("Thinking about it", hold=hold)], turn_seconds=1.5) as client:
        chat = await client.chat()
        await chat.send("take your time")
        hold.set()
        client.model.replies[:] = ["Here it is."]
        await continue_chat(chat)
        roles = [message["role"] for message in client.model.requests[-1]["messages"]]
        assert roles[-2:] == ["assistant", "user"], "no model is asked to go on in the middle of its own words"
        assert (await chat.last())["content"] == "Here it is."


@proves("LOOP-11/6")
async def test_edits_and_sandboxed_go_sixty_steps_and_ask_ten(tmp_path: Path) -> None:
    files = {f"{n}.txt": "x" for n in range(61)}

    def reads(body: Body) -> str:
        done = sum(message["content"].count("Result of read_file") for message in body["messages"])
        return call("read_file", path=f"{done}.txt")

    async with live_server(tmp_path, replies=[reads] * 70, files=files) as client:
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "edits"})
        stopped = await chat.send("read them all")
        assert len(client.model.requests) == 60 and "60 steps" in stopped["continuable"]["message"]
        shown = await client.ask("GET", "/settings")
        assert (shown["autonomy_turn_seconds"], shown["turn_seconds"]) == (1800, 300)


@proves("LOOP-11/1")
@given(max_steps=st.integers(1, 4), total=st.integers(1, 7))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wherever_the_limit_falls_every_change_is_made_once(
    tmp_path_factory: pytest.TempPathFactory, max_steps: int, total: int
) -> None:
    """The model does what is left, as its history says. Continued until it rests, each line is there once."""
    asyncio.run(every_change_is_made_once(tmp_path_factory.mktemp("limits"), max_steps, total))


async def every_change_is_made_once(folder: Path, max_steps: int, total: int) -> None:
    def appends(body: Body) -> str:
        done = sum(message["content"].count("Result of update_file (ok)") for message in body["messages"])
        edits = [{"find": "(end)", "replace": f"line-{done}\n(end)"}]
        return call("update_file", path="log.txt", edits=edits) if done < total else "Done."

    async with live_server(
        folder, replies=[appends] * 40, files={"log.txt": "(end)"}, autonomy_max_steps=max_steps
    ) as client:
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "edits"})
        shown = await chat.send("write the lines")
        while shown["continuable"]:
            await continue_chat(chat)
            shown = await chat.show()
        written = Counter((client.workspace / "log.txt").read_text().splitlines())
        assert written == Counter([*(f"line-{n}" for n in range(total)), "(end)"])
        assert (await ends(chat))[-1] == "answered"
        assert len(await ends(chat)) == total // max_steps + 1


@proves("UI-11", "LOOP-11")
async def test_a_plan_and_a_stopped_turn_wait_in_the_list_of_chats(tmp_path: Path) -> None:
    plan = '{"type": "plan", "goal": "g", "steps": [{"action": "a"}]}'
    replies = [plan, call("read_file", path="a.txt"), call("create_file", path="b.txt", content="b")]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "x"}, max_steps=1) as client:
        planner, stopped, asking, fresh = [
            await client.chat(role=role) for role in ("planner", "actor", "actor", "actor")
        ]
        for chat in (planner, stopped, asking):
            await chat.send("go")
        listed = {one["id"]: one["waiting"] for one in (await client.ask("GET", "/context"))["contexts"]}
        assert [listed[chat.id] for chat in (planner, stopped, asking, fresh)] == ["plan", "continue", "approval", None]
        assert [(await chat.show())["waiting"] for chat in (planner, stopped, asking)] == [
            "plan",
            "continue",
            "approval",
        ]
