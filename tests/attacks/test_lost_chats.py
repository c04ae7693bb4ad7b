"""What waits in a chat in the name of a person who may not see that chat any more: it is neither sent nor started."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from attacks.test_private_chats import Office, office
from integration.chats.test_notifications import hook, look
from support.fake_network import FakeNetwork, FakeService
from support.live_server import TIMEOUT, LiveChat
from support.scripted_model import call
from support.set_clock import ScheduleClock
from support.spec import proves
from support.triggers import send
from support.webhook_receiver import receiving

WRITE = call("create_file", path="new.txt", content="new")
LOSSES = ["leaves the group", "chat made private", "workspace made private", "other group"]
SHOWN_BY_THE_CLOCK = 1_795_075_140  # in seconds
SUMMARY = {"name": "Nightly", "workflow": "summarize_chat", "parameters": {}}


async def lose(place: Office, loss: str) -> None:
    """From now on Cleo does not see Ada's chat."""
    match loss:
        case "leaves the group":
            await place.owner.ask("PATCH", f"/people/{place.cleo.id}", {"groups": []})
        case "chat made private":
            await place.ada.ask("PATCH", place.chat.path, {"visibility": "private"})
        case "workspace made private":
            [root] = (await place.owner.ask("GET", "/workspaces"))["workspaces"]
            await place.owner.ask("PATCH", f"/workspaces/{root['id']}", {"visibility": "private"})
        case _:
            await place.ada.ask("PATCH", place.chat.path, {"visibility": "group:sales"})
    assert await place.cleo.status("GET", place.chat.path) == 404


async def rested(place: Office, chat: LiveChat) -> None:
    async with asyncio.timeout(TIMEOUT):
        while (await place.owner.ask("GET", chat.path))["state"] != "idle":
            await asyncio.sleep(0.02)


@proves("OPS-6/2")
@pytest.mark.parametrize("when", ["idle", "now"])
@pytest.mark.parametrize("loss", LOSSES)
async def test_a_queued_message_of_who_lost_the_chat_is_not_sent(tmp_path: Path, loss: str, when: str) -> None:
    async with office(tmp_path, "group:design", replies=[WRITE, "Done.", "Deleted."]) as place:
        chat = LiveChat(place.owner, {"id": place.chat.id})
        await place.chat.send("write new.txt")
        await place.cleo.ask("POST", f"{chat.path}/messages", {"content": "delete everything", "when": when})
        await lose(place, loss)
        await chat.decide("allow_once")
        await rested(place, chat)
        await place.owner.server.services.queue._send_next(chat.id)  # what the end of the turn starts, to its end
        texts = [message["content"] for message in await chat.messages()]
        assert "Done." in texts and "delete everything" not in texts and "Deleted." not in texts
        [waits] = (await place.owner.ask("GET", f"{chat.path}/queue"))["queue"]
        assert waits["content"] == "delete everything", "who sees the chat decides"


@pytest.mark.parametrize("when", ["idle", "now"])
async def test_a_queued_message_of_who_sees_the_chat_is_sent(tmp_path: Path, when: str) -> None:
    async with office(tmp_path, "group:design", replies=[WRITE, "Done.", "Deleted."]) as place:
        chat = LiveChat(place.owner, {"id": place.chat.id})
        await place.chat.send("write new.txt")
        await place.cleo.ask("POST", f"{chat.path}/messages", {"content": "delete everything", "when": when})
        await chat.decide("allow_once")
        await rested(place, chat)
        await place.owner.server.services.queue._send_next(chat.id)
        await rested(place, chat)
        assert "delete everything" in [message["content"] for message in await chat.messages()]


@asynccontextmanager
async def waiting_office(tmp_path: Path) -> AsyncIterator[tuple[Office, ScheduleClock]]:
    clock = ScheduleClock()
    async with office(tmp_path, "group:design", replies=["Hello.", "A summary."], clock=clock) as place:
        await place.chat.send("Hi")
        yield place, clock


@proves("OPS-6/2")
@pytest.mark.parametrize("loss", LOSSES)
async def test_a_schedule_of_who_lost_its_chat_starts_nothing_and_pauses(tmp_path: Path, loss: str) -> None:
    async with waiting_office(tmp_path) as (place, clock):
        body = {**SUMMARY, "cron": "0 * * * *", "context_id": place.chat.id}
        schedule = await place.cleo.ask("POST", "/schedules", body, expect=201)
        await lose(place, loss)
        clock.time = "2026-11-19T08:00:01.000000Z"
        await place.owner.server.services.schedules.runner.start_due()
        shown = await place.owner.ask("GET", f"/schedules/{schedule['id']}")
        assert [start["status"] for start in shown["starts"]] == ["failed"]
        assert not shown["enabled"] and "There is no chat" in shown["paused"]
        assert [
            m["content"] for m in await LiveChat(place.owner, {"id": place.chat.id}).messages() if m["role"] == "user"
        ] == ["Hi"]


@proves("OPS-6/2")
@pytest.mark.parametrize("loss", LOSSES)
async def test_a_trigger_of_who_lost_its_chat_starts_nothing(tmp_path: Path, loss: str) -> None:
    async with waiting_office(tmp_path) as (place, _):
        trigger = await place.cleo.ask("POST", "/triggers", {**SUMMARY, "context_id": place.chat.id}, expect=201)
        await lose(place, loss)
        status, answer = await send(place.owner, trigger, {}, at=SHOWN_BY_THE_CLOCK)
        assert status == 202, answer
        path = f"/triggers/{trigger['id']}"
        async with asyncio.timeout(TIMEOUT):
            while (shown := await place.owner.ask("GET", path))["enabled"]:
                await asyncio.sleep(0.02)
        assert [start["status"] for start in shown["starts"]] == ["failed"]
        assert place.chat.id not in str(answer)
        assert [
            m["content"] for m in await LiveChat(place.owner, {"id": place.chat.id}).messages() if m["role"] == "user"
        ] == ["Hi"]


@proves("OPS-6/2")
async def test_a_schedule_in_a_folder_that_was_hidden_opens_no_chat_there(tmp_path: Path) -> None:
    async with waiting_office(tmp_path) as (place, clock):
        body = {**SUMMARY, "cron": "0 * * * *", "workspace": str(place.owner.workspace)}
        schedule = await place.cleo.ask("POST", "/schedules", body, expect=201)
        await lose(place, "workspace made private")
        before = len((await place.owner.ask("GET", "/context"))["contexts"])
        clock.time = "2026-11-19T08:00:01.000000Z"
        await place.owner.server.services.schedules.runner.start_due()
        shown = await place.owner.ask("GET", f"/schedules/{schedule['id']}")
        assert [start["status"] for start in shown["starts"]] == ["failed"]
        assert len((await place.owner.ask("GET", "/context"))["contexts"]) == before


@proves("OPS-7/1")
@pytest.mark.parametrize("loss", [None, *LOSSES])
async def test_who_lost_a_chat_is_not_told_what_waits_there(tmp_path: Path, loss: str | None) -> None:
    clock, network = ScheduleClock(), FakeNetwork()
    async with (
        receiving() as of_cleo,
        receiving() as of_ada,
        office(tmp_path, "group:design", replies=[WRITE, "Done."], clock=clock, outside=network) as place,
    ):
        for someone, receiver, address in ((place.cleo, of_cleo, "93.184.216.1"), (place.ada, of_ada, "93.184.216.2")):
            network.put(f"{someone.id}.example", 80, FakeService(port=receiver.port), address)
            await hook(someone, f"http://{someone.id}.example/")
        await LiveChat(place.cleo, {"id": place.chat.id}).send("write new.txt")
        await look(place.owner, clock, "08:00:00")
        if loss is not None:
            await lose(place, loss)
        await look(place.owner, clock, "08:00:10")
        assert (len(of_cleo.received), len(of_ada.received)) == (1 if loss is None else 0, 0)
