"""Notifications on a server whose clock the test sets: who is waited for is told once, by kind and page, while it still stands."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from anycowork.config.sections import NotificationEntry
from support.fake_network import FakeNetwork, FakeService
from support.live_server import LiveServer, live_server
from support.people import PersonClient, person
from support.scripted_model import call
from support.set_clock import ScheduleClock
from support.spec import proves
from support.webhook_receiver import Receiver, receiving

Json = dict[str, Any]
SECRET_FILE = "plans-of-the-merger.txt"
PLAN = {"steps": [{"id": "1", "description": "Sell the secret ship"}]}


async def look(client: LiveServer, clock: ScheduleClock, time: str) -> None:
    """The server looks at this time of 2026-11-19, and has sent what was due."""
    clock.time = f"2026-11-19T{time}.000000Z"
    for _ in range(2):  # the first look records what began to wait
        async with asyncio.TaskGroup() as tasks:
            await client.server.services.notifications.notifier.look(tasks)


async def hook(client: LiveServer | PersonClient, url: str, **more: str) -> Json:
    return await client.ask("POST", "/notifications/targets", {"kind": "webhook", "url": url, **more}, expect=201)


async def shown(client: LiveServer | PersonClient, target: Json) -> Json:
    return await client.ask("GET", f"/notifications/targets/{target['id']}")


@proves("OPS-7/1", "OPS-7/3", "OPS-7/5", "OPS-7/6")
async def test_an_approval_that_stands_after_the_delay_is_told_once_signed_and_without_contents(tmp_path: Path) -> None:
    clock = ScheduleClock()
    replies = [call("create_file", path=SECRET_FILE, content="We sell the ship."), "Done."]
    async with (
        receiving() as receiver,
        live_server(
            tmp_path, replies=replies, clock=clock, notifications=NotificationEntry(page_url="https://work.example/ac/")
        ) as client,
    ):
        target = await hook(client, receiver.url)
        chat = await client.chat()
        await chat.send(f"Write {SECRET_FILE} about the ship.")
        await look(client, clock, "08:00:00")
        await look(client, clock, "08:00:09")
        assert receiver.received == [], "not before the delay"
        await look(client, clock, "08:00:10")
        await look(client, clock, "09:00:10")
        [sent] = await receiver.until(1)
        assert sent.is_signed_with(target["secret"]) and not sent.is_signed_with("whsec_" + "A" * 43 + "=")
        page = f"https://work.example/ac/#/chat/{chat.id}"
        assert sent.json == {
            "id": sent.headers["webhook-id"],
            "type": "waiting",
            "kind": "approval",
            "chat_id": chat.id,
            "url": page,
            "at": "2026-11-19T08:00:10.000000Z",
            "count": 1,
            "waits": [{"kind": "approval", "chat_id": chat.id, "url": page}],
        }
        assert "ship" not in str(sent.headers).lower() and SECRET_FILE not in str(sent.headers)
        listed = (await client.ask("GET", "/notifications/targets"))["targets"]
        assert [(each["enabled"], each["last_sent_at"], "secret" in each) for each in listed] == [
            (True, "2026-11-19T08:00:10.000000Z", False)
        ]


@proves("OPS-7/1")
async def test_what_was_decided_before_the_delay_is_not_told(tmp_path: Path) -> None:
    clock = ScheduleClock()
    replies = [call("create_file", path="a.txt", content="x"), "Done."]
    async with receiving() as receiver, live_server(tmp_path, replies=replies, clock=clock) as client:
        await hook(client, receiver.url)
        chat = await client.chat()
        await chat.send("Write a.txt.")
        await look(client, clock, "08:00:00")
        await chat.decide("allow_once")
        await look(client, clock, "08:00:11")
        assert receiver.received == []


@proves("OPS-7/5")
async def test_each_kind_of_decision_is_named_and_several_come_in_one_message(tmp_path: Path) -> None:
    clock = ScheduleClock()
    replies = [
        '{"type": "question", "format_version": "1.0", "question": "Which ship?", "options": [{"label": "A", "value": "a"}]}',
        call("list_directory", path="."),
        call("list_directory", path="."),
    ]
    async with receiving() as receiver, live_server(tmp_path, replies=replies, clock=clock, max_steps=1) as client:
        await hook(client, receiver.url)
        asking, limited = await client.chat(), await client.chat()
        await asking.send("Ask me.")
        assert (await limited.send("Look around."))["state"] == "idle"
        states = [(await chat.show())["state"] for chat in (asking, limited)]
        await look(client, clock, "08:00:00")
        await look(client, clock, "08:00:30")
        [sent] = await receiver.until(1)
        assert sent.json["count"] == 2, states
        assert {(each["kind"], each["chat_id"]) for each in sent.json["waits"]} == {
            ("question", asking.id),
            ("limit", limited.id),
        }


async def test_a_receiver_that_fails_is_tried_again_in_growing_pauses_and_then_left(tmp_path: Path) -> None:
    clock = ScheduleClock()
    replies = [call("create_file", path="a.txt", content="x"), "Done."]
    receiver = Receiver(status=500)
    async with receiving(receiver), live_server(tmp_path, replies=replies, clock=clock) as client:
        target = await hook(client, receiver.url)
        await (await client.chat()).send("Write a.txt.")
        await look(client, clock, "08:00:00")
        counts = []
        for time in ("08:00:10", "08:00:24", "08:00:25", "08:01:25", "08:06:25", "08:36:25", "10:00:00"):
            await look(client, clock, time)
            counts.append(len(receiver.received))
        assert counts == [1, 1, 2, 3, 4, 5, 5]
        assert len({sent.headers["webhook-id"] for sent in receiver.received}) == 1
        stands = await shown(client, target)
        assert (stands["failures"], stands["enabled"], "status 500" in stands["last_error"]) == (5, True, True)


async def test_a_target_that_is_gone_is_disabled_and_a_delivered_test_enables_it(tmp_path: Path) -> None:
    clock = ScheduleClock()
    replies = [call("create_file", path="a.txt", content="x"), "Done."]
    receiver = Receiver(status=410)
    async with receiving(receiver), live_server(tmp_path, replies=replies, clock=clock) as client:
        target = await hook(client, receiver.url)
        await (await client.chat()).send("Write a.txt.")
        await look(client, clock, "08:00:00")
        await look(client, clock, "08:00:10")
        stands = await shown(client, target)
        assert not stands["enabled"] and "status 410" in stands["disabled"]
        await look(client, clock, "08:01:00")
        assert len(receiver.received) == 1
        receiver.status = 200
        tested = await client.ask("POST", f"/notifications/targets/{target['id']}/test", expect=200)
        assert tested == {"delivered": True, "status": 200, "error": None}
        assert receiver.received[-1].json["type"] == "test" and receiver.received[-1].is_signed_with(target["secret"])
        await look(client, clock, "08:02:00")
        assert (await shown(client, target))["enabled"] and receiver.received[-1].json["kind"] == "approval"


@proves("OPS-7/1")
async def test_the_person_in_whose_turn_it_waits_is_told_and_nobody_once_they_may_only_read(tmp_path: Path) -> None:
    clock, network = ScheduleClock(), FakeNetwork()
    replies = [call("create_file", path="a.txt", content="x"), call("create_file", path="b.txt", content="x"), "Done."]
    async with (
        receiving() as of_owner,
        receiving() as of_ada,
        live_server(tmp_path, replies=replies, clock=clock, outside=network) as owner,
        person(owner, "Ada") as ada,
    ):
        network.put("ada.example", 80, FakeService(port=of_ada.port))
        await hook(ada, "http://ada.example/hook")
        network.put("owner.example", 80, FakeService(port=of_owner.port), "93.184.216.1")
        await hook(owner, "http://owner.example/hook")
        chat = await ada.chat()
        await ada.ask("POST", f"{chat.path}/messages", {"content": "Write a.txt."}, expect=202)
        await chat.rest()
        await look(owner, clock, "08:00:00")
        await look(owner, clock, "08:00:10")
        assert [sent.json["chat_id"] for sent in await of_ada.until(1)] == [chat.id]
        await chat.decide("allow_once")
        await owner.ask("PATCH", f"/people/{ada.id}", {"access": "viewer"})
        await look(owner, clock, "08:10:00")
        await look(owner, clock, "08:10:10")
        assert (len(of_ada.received), len(of_owner.received)) == (1, 0)


async def test_more_than_a_persons_share_of_an_hour_waits_for_the_next(tmp_path: Path) -> None:
    clock = ScheduleClock()
    replies = [call("create_file", path="a.txt", content="x"), "Done."]
    async with receiving() as receiver, live_server(tmp_path, replies=replies, clock=clock) as client:
        target = await hook(client, receiver.url)
        path = f"/notifications/targets/{target['id']}/test"
        for _ in range(60):
            await client.ask("POST", path, expect=200)
        async with client.session.post(client.url + path) as response:
            assert (response.status, (await response.json())["error"]["code"]) == (429, "limit_reached")
        await (await client.chat()).send("Write a.txt.")
        await look(client, clock, "08:00:00")
        await look(client, clock, "08:10:00")
        assert len(receiver.received) == 60
        await look(client, clock, "09:10:00")
        assert [sent.json["type"] for sent in receiver.received][59:] == ["test", "waiting"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"kind": "webhook", "url": "ftp://x"}, "url"),
        ({"kind": "webhook", "url": "https://a:b@example.org/"}, "url"),
        ({"kind": "webhook", "url": "https://*.example.org/"}, "url"),
        ({"kind": "webhook"}, "url"),
        ({"kind": "pigeon", "url": "https://example.org"}, "kind"),
        ({"kind": "webhook", "url": "https://example.org", "secret": "short"}, "secret"),
        ({"kind": "webhook", "url": "https://example.org", "secret": "whsec_%%%"}, "secret"),
    ],
)
async def test_bad_targets_name_their_field(tmp_path: Path, body: Json, param: str) -> None:
    async with (
        live_server(tmp_path) as client,
        client.session.post(f"{client.url}/notifications/targets", json=body) as response,
    ):
        answer = await response.json()
    assert response.status == 422 and param in (answer["error"]["param"] or ""), answer
