"""Web Push to a browser whose push service the test plays: only that browser reads it, and a browser that left is forgotten."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from support.browser_keys import BrowserKeys, text_of
from support.fake_network import FakeNetwork
from support.live_server import LiveServer, live_server
from support.people import PersonClient, person
from support.scripted_model import call
from support.set_clock import ScheduleClock
from support.spec import proves
from support.webhook_receiver import Receiver, receiving

Json = dict[str, Any]


async def subscribed(client: LiveServer | PersonClient, browser: BrowserKeys, endpoint: str) -> Json:
    body = {"kind": "web_push", "name": "Phone", "subscription": browser.subscription(endpoint)}
    return await client.ask("POST", "/notifications/targets", body, expect=201)


@proves("OPS-7/2", "OPS-7/6")
async def test_a_browser_is_told_what_waits_encrypted_for_it_alone_and_forgotten_when_it_left(tmp_path: Path) -> None:
    clock, browser = ScheduleClock(), BrowserKeys()
    replies = [call("create_file", path="the-merger.txt", content="x"), "Done."]
    receiver = Receiver(status=201)
    async with receiving(receiver), live_server(tmp_path, replies=replies, clock=clock) as client:
        target = await subscribed(client, browser, receiver.url)
        assert target["secret"] is None
        chat = await client.chat()
        await chat.send("Write about the merger.")
        for time in ("08:00:00", "08:00:10"):
            clock.time = f"2026-11-19T{time}.000000Z"
            async with asyncio.TaskGroup() as tasks:
                await client.server.services.notifications.notifier.look(tasks)
        [sent] = await receiver.until(1)
        told = json.loads(browser.read(sent.body))
        assert (told["kind"], told["chat_id"], told["url"]) == (
            "approval",
            chat.id,
            f"http://127.0.0.1:8484/#/chat/{chat.id}",
        )
        assert "merger" not in str(told) and chat.id.encode() not in sent.body and chat.id not in str(sent.headers)
        listed = await client.ask("GET", "/notifications/targets")
        assert sent.headers["authorization"].endswith(f", k={listed['push_key']}")
        assert (sent.headers["content-encoding"], sent.headers["ttl"]) == ("aes128gcm", "86400")
        receiver.status = 404
        tested = await client.ask("POST", f"/notifications/targets/{target['id']}/test", expect=200)
        assert (tested["delivered"], tested["status"]) == (False, 404)
        shown = await client.ask("GET", f"/notifications/targets/{target['id']}")
        assert not shown["enabled"] and browser.subscription("")["keys"]["auth"] not in json.dumps(shown)


async def test_the_key_of_the_server_stays_when_it_restarts(tmp_path: Path) -> None:
    keys = []
    for _ in range(2):
        async with live_server(tmp_path) as client:
            keys.append((await client.ask("GET", "/notifications/targets"))["push_key"])
    assert keys[0] == keys[1]


async def test_a_members_subscription_leads_to_no_private_address_and_in_no_plain_text(tmp_path: Path) -> None:
    network = FakeNetwork(names={"push.example": [["10.0.0.7"]]})
    async with live_server(tmp_path, outside=network) as owner, person(owner, "Ada") as ada:
        body = {"kind": "web_push", "subscription": BrowserKeys().subscription("http://push.example/x")}
        async with ada.session.post(f"{ada.url}/notifications/targets", json=body) as response:
            assert response.status == 422
        target = await subscribed(ada, BrowserKeys(), "https://push.example/x")
        tested = await ada.ask("POST", f"/notifications/targets/{target['id']}/test", expect=200)
        assert not tested["delivered"] and network.dialled == []


@pytest.mark.parametrize("point", [b"\x04" + b"\x01" * 64, b"\x02" + b"\x01" * 64, b"\x04" + b"\xff" * 64])
async def test_a_key_that_is_on_no_curve_is_refused_when_it_is_added(tmp_path: Path, point: bytes) -> None:
    browser = BrowserKeys()
    subscription = browser.subscription("https://push.example/x")
    subscription["keys"]["p256dh"] = text_of(point)
    async with (
        live_server(tmp_path) as client,
        client.session.post(
            f"{client.url}/notifications/targets", json={"kind": "web_push", "subscription": subscription}
        ) as response,
    ):
        assert response.status == 422, await response.text()
