"""Attacks on what tells people that something waits: where it can be sent, what it says, and whose it is."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from anycowork.config.sections import NotificationEntry
from support.fake_network import FakeNetwork, FakeService
from support.live_server import LiveServer, RequestRefused, live_server
from support.people import PersonClient, person
from support.scripted_model import call
from support.set_clock import ScheduleClock
from support.spec import proves
from support.webhook_receiver import Receiver, receiving

Json = dict[str, Any]


async def hook(client: LiveServer | PersonClient, url: str) -> Json:
    return await client.ask("POST", "/notifications/targets", {"kind": "webhook", "url": url}, expect=201)


async def send_test(client: LiveServer | PersonClient, target: Json) -> Json:
    return await client.ask("POST", f"/notifications/targets/{target['id']}/test", expect=200)


@asynccontextmanager
async def ada_on(tmp_path: Path, network: FakeNetwork, **settings: Any) -> AsyncIterator[PersonClient]:
    async with live_server(tmp_path, outside=network, **settings) as owner, person(owner, "Ada") as ada:
        yield ada


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.7"])
async def test_a_members_webhook_reaches_no_private_address(tmp_path: Path, address: str) -> None:
    network = FakeNetwork()
    async with receiving() as receiver, ada_on(tmp_path, network) as ada:
        network.put("inside.example", 80, FakeService(port=receiver.port), address)
        outcome = await send_test(ada, await hook(ada, "http://inside.example/"))
        assert not outcome["delivered"] and outcome["status"] is None
        assert (receiver.received, network.dialled) == ([], [])


async def test_a_members_webhook_reaches_a_private_host_that_an_admin_named_and_no_other_port(tmp_path: Path) -> None:
    network = FakeNetwork()
    async with (
        receiving() as receiver,
        ada_on(tmp_path, network, notifications=NotificationEntry(private_hosts=("hooks.lan:80",))) as ada,
    ):
        for port in (80, 81):
            network.put("hooks.lan", port, FakeService(port=receiver.port), "10.0.0.7")
        assert (await send_test(ada, await hook(ada, "http://hooks.lan/")))["delivered"]
        assert not (await send_test(ada, await hook(ada, "http://hooks.lan:81/")))["delivered"]
        assert len(receiver.received) == 1


async def test_no_redirect_leads_a_webhook_elsewhere(tmp_path: Path) -> None:
    async with receiving() as inside:
        outside = Receiver(status=307, location=inside.url)
        async with receiving(outside), live_server(tmp_path) as client:
            outcome = await send_test(client, await hook(client, outside.url))
            assert (outcome["delivered"], outcome["status"]) == (False, 307) and "redirect" in outcome["error"]
            assert (len(outside.received), inside.received) == (1, [])


async def test_an_answer_of_a_gigabyte_is_not_read(tmp_path: Path) -> None:
    async with receiving(Receiver(endless=True)) as receiver, live_server(tmp_path) as client:
        assert await send_test(client, await hook(client, receiver.url)) == {
            "delivered": True,
            "status": 200,
            "error": None,
        }


async def test_a_receiver_that_never_answers_holds_neither_turns_nor_other_targets_up(tmp_path: Path) -> None:
    clock = ScheduleClock()
    replies = [call("create_file", path="a.txt", content="x"), "Done.", "Hello."]
    slow = Receiver(hold=asyncio.Event())
    async with receiving(slow), receiving() as good, live_server(tmp_path, replies=replies, clock=clock) as client:
        await hook(client, slow.url)
        await hook(client, good.url)
        chat = await client.chat()
        await chat.send("Write a.txt.")
        notifier = client.server.services.notifications.notifier
        clock.time = "2026-11-19T08:00:00.000000Z"
        async with asyncio.TaskGroup() as tasks:
            await notifier.look(tasks)
        clock.time = "2026-11-19T08:00:10.000000Z"
        async with asyncio.TaskGroup() as tasks:
            await notifier.look(tasks)
            await slow.until(1)
            await good.until(1)
            assert (await chat.decide("allow_once"))["state"] == "idle", (
                "the turn went on while the receiver was silent"
            )
            assert slow.hold is not None
            slow.hold.set()


async def test_a_target_of_another_person_does_not_exist(tmp_path: Path) -> None:
    async with receiving() as receiver, ada_on(tmp_path, FakeNetwork()) as ada:
        target = await hook(ada, receiver.url)
        owner_token = {"Authorization": "Bearer a-token-for-tests"}
        for method, path in (("GET", ""), ("POST", "/test"), ("DELETE", "")):
            url = f"{ada.url}/notifications/targets/{target['id']}{path}"
            async with ada.session.request(method, url, headers=owner_token) as response:
                assert response.status == 404, method
        async with ada.session.get(f"{ada.url}/notifications/targets", headers=owner_token) as response:
            assert (await response.json())["targets"] == []
        assert len((await ada.ask("GET", "/notifications/targets"))["targets"]) == 1 and receiver.received == []


async def test_a_viewer_and_a_program_have_no_targets_and_send_no_tests(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Vic", "viewer") as vic, person(owner, "Ada") as ada:
        body = {"kind": "webhook", "url": "https://example.org/"}
        target = await hook(ada, "https://example.org/")
        for client, headers in ((vic, {}), (ada, {"X_AnyCowork_Editor": "zed"}), (ada, {"X_AnyCowork_MCP_Host": "h"})):
            assert await client.status("POST", "/notifications/targets", body, **headers) == 403
            assert await client.status("POST", f"/notifications/targets/{target['id']}/test", **headers) == 403
            assert await client.status("DELETE", f"/notifications/targets/{target['id']}", **headers) == 403


async def test_a_removed_persons_targets_are_gone_and_silent(tmp_path: Path) -> None:
    clock, network = ScheduleClock(), FakeNetwork()
    replies = [call("create_file", path="a.txt", content="x"), "Done."]
    async with (
        receiving() as receiver,
        live_server(tmp_path, replies=replies, clock=clock, outside=network) as owner,
        person(owner, "Ada") as ada,
    ):
        network.put("ada.example", 80, FakeService(port=receiver.port))
        await hook(ada, "http://ada.example/")
        chat = await ada.chat()
        await chat.send("Write a.txt.")
        notifier = owner.server.services.notifications.notifier
        for time in ("08:00:00", "08:00:10"):
            clock.time = f"2026-11-19T{time}.000000Z"
            async with asyncio.TaskGroup() as tasks:
                await notifier.look(tasks)
            if time == "08:00:00":
                await owner.ask("DELETE", f"/people/{ada.id}")
        assert receiver.received == [] and await owner.server.database.notifications.targets() == []


@proves("OPS-7/6")
async def test_nothing_of_a_chat_stands_in_what_is_sent(tmp_path: Path) -> None:
    clock, secret = ScheduleClock(), "sunflower"
    replies = [call("execute_command", command=f"echo {secret} > {secret}.txt"), "Done."]
    async with receiving() as receiver, live_server(tmp_path, replies=replies, clock=clock) as client:
        await hook(client, receiver.url)
        chat = await client.chat(title=f"About {secret}")
        await chat.send(f"Say {secret}.")
        notifier = client.server.services.notifications.notifier
        for time in ("08:00:00", "08:00:10"):
            clock.time = f"2026-11-19T{time}.000000Z"
            async with asyncio.TaskGroup() as tasks:
                await notifier.look(tasks)
        [sent] = await receiver.until(1)
        assert secret not in json.dumps([sent.path, sent.headers, sent.json]).lower()
        assert str(client.workspace) not in json.dumps(sent.json)


async def test_a_webhooks_secret_is_told_once_and_stands_in_no_other_answer(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        target = await hook(client, "https://example.org/")
        answers = [
            await client.ask("GET", "/notifications/targets"),
            await client.ask("GET", f"/notifications/targets/{target['id']}"),
            await client.ask("GET", "/settings"),
        ]
        assert target["secret"].startswith("whsec_") and target["secret"] not in json.dumps(answers)
        with pytest.raises(RequestRefused, match="409"):
            await hook(client, "https://example.org/")
