"""Schedules over HTTP, on a server whose clock the test sets: what comes due becomes an ordinary run or job in an ordinary chat."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from anycowork.domain.schedules import ScheduledStart, StartReason
from support.live_server import TIMEOUT, LiveChat, LiveServer, RequestRefused, live_server
from support.people import person
from support.scripted_model import Reply, call
from support.set_clock import ScheduleClock
from support.spec import proves
from support.workflows import written

Json = dict[str, Any]
GREET = '+++\ndescription = "x"\n[[parameters]]\nname = "who"\n+++\n## Greet\n\nSay hello to {{who}}.\n\n## Part\n\nSay goodbye.\n'
MAKE = GREET.replace('description = "x"', 'description = "x"\nneeds = ["read_files", "create_files"]')
HOURLY: Json = {"name": "Hourly", "cron": "0 * * * *", "workflow": "greet", "parameters": {"who": "Ann"}}


async def come(client: LiveServer, clock: ScheduleClock, time: str) -> None:
    """The server looks at this time of 2026-11-19."""
    clock.time = f"2026-11-19T{time}.000000Z"
    await client.server.services.schedules.runner.start_due()


async def starts(client: LiveServer, schedule: Json) -> list[Json]:
    """Oldest first."""
    return (await client.ask("GET", f"/schedules/{schedule['id']}"))["starts"][::-1]


async def over(client: LiveServer, start: Json) -> LiveChat:
    chat = LiveChat(client, {"id": start["context_id"]})
    async with asyncio.timeout(TIMEOUT):
        while (await chat.show())["state"] == "running":
            await asyncio.sleep(0.01)
    return chat


@proves("OPS-8/1", "OPS-8/3", "OPS-8/6")
async def test_a_workflow_is_started_at_its_time_in_a_chat_of_its_own_and_in_its_role(tmp_path: Path) -> None:
    clock = ScheduleClock()
    written(tmp_path, greet=GREET)
    async with live_server(tmp_path, replies=["Hello, Ann.", "Goodbye."], clock=clock) as client:
        schedule = await client.ask("POST", "/schedules", {**HOURLY, "role": "planner"}, expect=201)
        assert (schedule["next_at"], schedule["starts"]) == ("2026-11-19T08:00:00.000000Z", [])
        await come(client, clock, "07:59:59")
        assert await starts(client, schedule) == []
        await come(client, clock, "08:00:01")
        await come(client, clock, "08:00:02")
        [start] = await starts(client, schedule)
        chat = await over(client, start)
        opened = await chat.show()
        assert (opened["title"], opened["config"]["agent_role"]) == ("Hourly", "planner")
        first, *_, last = await chat.messages()
        assert first["payload"]["schedule"] == {
            "id": schedule["id"], "name": "Hourly", "due_at": "2026-11-19T08:00:00.000000Z", "reason": "time"
        }  # fmt: skip
        assert (first["content"], first["origins"], last["content"]) == ("/greet who=Ann", ["person"], "Goodbye.")
        [start] = await starts(client, schedule)
        assert (start["status"], start["outcome"], start["run_id"]) == ("started", "answered", first["turn_id"])
        listed = (await client.ask("GET", "/schedules"))["schedules"]
        assert [(each["next_at"][11:16], len(each["starts"])) for each in listed] == [("09:00", 1)]
        await client.ask("DELETE", chat.path)
        [start] = await starts(client, schedule)
        assert (start["context_id"], start["outcome"]) == (None, None)


@proves("OPS-8/3")
async def test_a_template_becomes_a_job_that_waits_for_its_approval_and_the_next_one_is_skipped(tmp_path: Path) -> None:
    clock = ScheduleClock()
    async with live_server(tmp_path, clock=clock) as client:
        body = {"name": "Review", "cron": "0 * * * *", "template": "review-and-fix", "parameters": {"path": "src"}}
        schedule = await client.ask("POST", "/schedules", {**body, "limits": {"tokens": 9000}}, expect=201)
        await come(client, clock, "08:00:01")
        [start] = await starts(client, schedule)
        job = await client.ask("GET", f"/jobs/{start['job_id']}")
        assert (job["status"], job["limits"], job["context_id"]) == (
            "awaiting_approval",
            {"task": {}, "job": {"tokens": 9000}},
            start["context_id"],
        )
        await come(client, clock, "09:00:01")
        assert [each["status"] for each in await starts(client, schedule)] == ["started", "skipped"]
        with pytest.raises(RequestRefused, match="409"):
            await client.ask("POST", f"/schedules/{schedule['id']}/run")
        await client.ask("POST", f"/jobs/{start['job_id']}/cancel")
        now = (await client.ask("POST", f"/schedules/{schedule['id']}/run", expect=202))["start"]
        assert (now["reason"], now["status"], now["outcome"]) == ("person", "started", "awaiting_approval")


@proves("OPS-8/8")
async def test_missed_times_are_all_started_one_after_the_other(tmp_path: Path) -> None:
    clock = ScheduleClock()
    written(tmp_path, greet=GREET)
    async with live_server(tmp_path, replies=["Hello.", "Bye."] * 2, clock=clock) as client:
        chat = await client.chat()
        body = {**HOURLY, "missed": "all", "context_id": chat.id}
        schedule = await client.ask("POST", "/schedules", body, expect=201)
        await come(client, clock, "09:30:00")
        await over(client, (await starts(client, schedule))[0])
        await come(client, clock, "09:31:00")
        await over(client, (await starts(client, schedule))[1])
        found = await starts(client, schedule)
        assert [(each["due_at"][11:16], each["outcome"], each["context_id"]) for each in found] == [
            ("08:00", "answered", chat.id),
            ("09:00", "answered", chat.id),
        ]


@proves("OPS-8/7")
@pytest.mark.parametrize(("limits", "asked"), [({"tokens": 1}, 0), ({"cost": 0.01}, 0), ({"seconds": 500}, 2)])
async def test_a_run_is_held_to_the_limits_of_its_schedule(tmp_path: Path, limits: Json, asked: int) -> None:
    written(tmp_path, greet=GREET)
    async with live_server(tmp_path, replies=["Hello.", "Bye."]) as client:
        schedule = await client.ask("POST", "/schedules", {**HOURLY, "limits": limits}, expect=201)
        start = (await client.ask("POST", f"/schedules/{schedule['id']}/run", expect=202))["start"]
        await over(client, start)
        [start] = await starts(client, schedule)
        assert (start["outcome"], len(client.model.requests)) == ("answered" if asked else "limit", asked)


@proves("OPS-8/5")
async def test_a_run_is_of_who_keeps_the_schedule_and_ends_with_their_access(tmp_path: Path) -> None:
    clock = ScheduleClock()
    written(tmp_path, greet=GREET)
    async with live_server(tmp_path, replies=["Hello.", "Bye."], clock=clock) as owner, person(owner, "Ada") as ada:
        schedule = await ada.ask("POST", "/schedules", HOURLY, expect=201)
        other = await owner.ask("POST", "/schedules", {**HOURLY, "enabled": False}, expect=201)
        await come(owner, clock, "08:00:01")
        [start] = await starts(owner, schedule)
        assert start["principal"] == schedule["principal"] and ":Ada" in start["principal"]
        chat = await over(owner, start)
        assert {event["principal"] for event in await chat.events() if event["type"] == "turn-started"} == {
            start["principal"]
        }
        await owner.ask("PATCH", f"/people/{ada.id}", {"access": "viewer"})
        with pytest.raises(RequestRefused, match="403"):
            await ada.ask("PATCH", f"/schedules/{other['id']}", {"enabled": True})
        await come(owner, clock, "09:00:01")
        shown = await owner.ask("GET", f"/schedules/{schedule['id']}")
        assert len(shown["starts"]) == 1 and not shown["enabled"] and shown["paused"].startswith("Ada")
        adopted = await owner.ask("PATCH", f"/schedules/{schedule['id']}", {"enabled": True})
        assert (adopted["principal"], adopted["created_by"]) == ("person:owner", start["principal"])
        assert (adopted["paused"], adopted["next_at"][11:16]) == (None, "10:00")
        assert (await starts(owner, other)) == []


async def test_a_run_parks_for_its_approval_and_a_busy_chat_skips_the_time(tmp_path: Path) -> None:
    clock, hold = ScheduleClock(), asyncio.Event()
    written(tmp_path, greet=MAKE)
    replies = [Reply("Wait.", hold=hold), call("create_file", path="a.txt", content="x"), "Done.", "Bye."]
    async with live_server(tmp_path, replies=replies, clock=clock) as client:
        chat = await client.chat()
        schedule = await client.ask("POST", "/schedules", {**HOURLY, "context_id": chat.id}, expect=201)
        await chat.send("Something long.", until="sent")
        await come(client, clock, "08:00:01")
        [start] = await starts(client, schedule)
        assert (start["status"], "running" in start["error"]) == ("skipped", True)
        hold.set()
        await over(client, {"context_id": chat.id})
        await come(client, clock, "09:00:01")
        await over(client, {"context_id": chat.id})
        assert [each["tool"] for each in await chat.approvals()] == ["create_file"]
        assert (await starts(client, schedule))[1]["outcome"] == "parked"
        await chat.decide("allow_once")
        assert (client.workspace / "a.txt").exists()
        await over(client, {"context_id": chat.id})
        await client.ask("DELETE", chat.path)
        await come(client, clock, "10:00:01")
        shown = await client.ask("GET", f"/schedules/{schedule['id']}")
        assert shown["starts"][0]["status"] == "failed" and not shown["enabled"] and "chat" in shown["paused"]


@proves("OPS-8/4")
async def test_what_was_left_between_the_chat_and_the_run_goes_on_in_that_chat(tmp_path: Path) -> None:
    clock = ScheduleClock()
    written(tmp_path, greet=GREET)
    async with live_server(tmp_path, replies=["Hello.", "Bye."], clock=clock) as client:
        schedule = await client.ask("POST", "/schedules", HOURLY, expect=201)
        chat = await client.chat()
        left = ScheduledStart(
            schedule["id"], "k", clock.now(), StartReason.TIME, schedule["principal"], chat_id=chat.id
        )
        await client.server.database.schedules.add_start(left, most_due=1)
        runner = client.server.services.schedules.runner
        await asyncio.gather(*(runner.start_due() for _ in range(3)))
        await over(client, {"context_id": chat.id})
        assert [m["content"] for m in await chat.messages() if m["role"] == "assistant"] == ["Hello.", "Bye."]
        assert len((await client.ask("GET", "/context"))["contexts"]) == 1
