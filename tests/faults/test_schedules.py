"""Schedules across kills and on several servers: each time is started once, and none is lost."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.fork_server import ForkServer
from support.live_server import TIMEOUT, Caller, live_server
from support.postgres import database_url
from support.scripted_model import Hang, ScriptedModel
from support.server import child_server
from support.set_clock import ScheduleClock
from support.spec import proves
from support.triggers import send
from support.workflows import written

__all__ = ["database_url"]

Json = dict[str, Any]
GREET = '+++\ndescription = "x"\n+++\n## Greet\n\nSay hello.\n'


async def started(client: Caller, schedule: Json) -> Json:
    """Waits until it was started, and is told only once that it was."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            starts = (await client.ask("GET", f"/schedules/{schedule['id']}"))["starts"]
            if starts and starts[0]["status"] == "started":
                [start] = starts
                return start
            await asyncio.sleep(0.02)


@proves("OPS-8/4")
async def test_a_time_during_which_the_server_was_dead_is_made_up_for_once_also_after_another_kill(
    fork_server: ForkServer, tmp_path: Path, model: ScriptedModel
) -> None:
    written(tmp_path, greet=GREET)
    model.replies += [Hang("Well, "), "Hello."]
    with child_server(fork_server, tmp_path, model_url=model.base_url) as server:
        async with server.connect() as client:
            soon = datetime.now(UTC) + timedelta(seconds=3)
            body = {"name": "Once", "at": soon.isoformat(), "workflow": "greet"}
            schedule = await client.ask("POST", "/schedules", body, expect=201)
            server.kill()
            while datetime.now(UTC) < soon:
                await asyncio.sleep(0.05)
            server.start()
            start = await started(client, schedule)
            await model.asked(1)
            server.restart()
            assert await started(client, schedule) == {**start, "outcome": "interrupted"}
            assert len((await client.ask("GET", "/context"))["contexts"]) == 1


@proves("OPS-8/2", "OPS-8/4")
async def test_what_a_signed_request_started_is_started_once_also_after_a_kill(
    fork_server: ForkServer, tmp_path: Path, model: ScriptedModel
) -> None:
    written(tmp_path, greet=GREET)
    model.replies += [Hang("Well, "), "Hello."]
    with child_server(fork_server, tmp_path, model_url=model.base_url) as server:
        async with server.connect() as client:
            trigger = await client.ask("POST", "/triggers", {"name": "Push", "workflow": "greet"}, expect=201)
            first = await send(client, trigger, {}, id="m1")
            await model.asked(1)
            second = await send(client, trigger, {}, id="m2")
            server.restart()
            path = f"/triggers/{trigger['id']}"
            async with asyncio.timeout(TIMEOUT):
                while (starts := (await client.ask("GET", path))["starts"])[0]["outcome"] != "answered":
                    await asyncio.sleep(0.02)
            assert [start["outcome"] for start in starts] == ["answered", "interrupted"]
            assert [await send(client, trigger, {}, id=id) for id in ("m1", "m2")] == [first, second]
            assert (first[0], second[0], len((await client.ask("GET", path))["starts"])) == (202, 202, 2)


@proves("OPS-8/4")
async def test_of_two_servers_on_one_database_one_starts_it(tmp_path: Path, database_url: str) -> None:
    shared, *folders = [tmp_path / name for name in ("shared", "one", "two")]
    shared.mkdir()
    for folder in folders:
        folder.mkdir()
        written(folder, greet=GREET)
    clock = ScheduleClock()
    given: Json = {"replies": ["Hello."] * 4, "clock": clock, "database_url": database_url, "workspace": shared}
    async with live_server(folders[0], **given) as one, live_server(folders[1], **given) as two:
        runners = [server.server.services.schedules.runner for server in (one, two)] * 2
        body = {"name": "Hourly", "cron": "0 * * * *", "workflow": "greet"}
        path = f"/schedules/{(await one.ask('POST', '/schedules', body, expect=201))['id']}"
        for number in range(1, 5):
            clock.time = f"2026-11-19T{number + 7:02}:00:01.000000Z"
            await asyncio.gather(*(runner.start_due() for runner in runners))
            async with asyncio.timeout(TIMEOUT):
                while (starts := (await two.ask("GET", path))["starts"])[0]["outcome"] != "answered":
                    await asyncio.sleep(0.02)
            assert [start["status"] for start in starts] == ["started"] * number
        assert len((await two.ask("GET", "/context"))["contexts"]) == 4
