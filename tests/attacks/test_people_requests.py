"""What is under way when a person's access ends: open streams, running turns, waiting calls; and ways in besides the documented routes."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from support.live_server import TIMEOUT, LiveChat, live_server
from support.people import person
from support.scripted_model import Reply, call
from support.spec import proves

WRITE = call("create_file", path="a.txt", content="x")


@proves("OPS-3/2")
@pytest.mark.parametrize("access", ["viewer", "member", "admin"])
@pytest.mark.parametrize("path", ["/events", "/context/c/events", "/v1/responses", "/mcp", "/"])
async def test_no_websocket_opens(tmp_path: Path, path: str, access: str) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Ada", access) as ada:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await ada.session.ws_connect(f"{owner.url}{path}")


@proves("OPS-3/1")
@pytest.mark.parametrize("end", ["removal", "new token"])
async def test_access_that_ends_closes_the_stream_of_a_running_turn_and_the_turn_goes_on(
    tmp_path: Path, end: str
) -> None:
    hold = asyncio.Event()
    replies = [Reply("Written while nobody of that name was here.", hold=hold)]
    async with live_server(tmp_path, replies=replies) as owner, person(owner, "Ada") as ada:
        chat = await ada.chat()
        async with asyncio.timeout(TIMEOUT), ada.session.get(f"{ada.url}{chat.path}/events") as stream:
            await ada.ask("POST", f"{chat.path}/messages", {"content": "go on"})
            await owner.model.asked(1)
            if end == "removal":
                await owner.ask("DELETE", f"/people/{ada.id}", expect=204)
            else:
                await owner.ask("POST", f"/people/{ada.id}/token")
            seen = await stream.content.read()  # returns because the server ends the stream
        assert b"Written while" not in seen
        for path in (f"{chat.path}/events", f"{chat.path}/messages", f"{chat.path}/audit/log", "/events"):
            assert await ada.status("GET", path) == 401
        hold.set()
        rest = LiveChat(owner, chat.opened)
        await rest.rest()
        assert (await rest.last())["content"] == "Written while nobody of that name was here."


@proves("OPS-3/2")
@pytest.mark.parametrize("decides", ["allow_once", "deny"])
async def test_calls_of_a_removed_person_wait_for_someone_who_may_decide(tmp_path: Path, decides: str) -> None:
    async with live_server(tmp_path, replies=[WRITE, "Done."]) as owner, person(owner, "Ada") as ada:
        chat = await ada.chat()
        await chat.send("write a.txt")
        [asked] = await chat.approvals()
        await owner.ask("DELETE", f"/people/{ada.id}", expect=204)
        decision = {"id": asked["id"], "decision": "allow_once", "disclosure": asked["disclosure"]["hash"]}
        assert await ada.status("POST", f"{chat.path}/approvals", {"decisions": [decision]}) == 401
        assert not (owner.workspace / "a.txt").exists()
        theirs = LiveChat(owner, chat.opened)
        assert [one["id"] for one in await theirs.approvals()] == [asked["id"]]
        await theirs.decide(decides)
        assert (owner.workspace / "a.txt").exists() == (decides == "allow_once")


@proves("OPS-3/1")
async def test_a_name_that_is_free_again_gives_nothing_of_its_former_bearer(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello."]) as owner, person(owner, "Ada", "admin") as former:
        chat = await former.chat()
        await chat.send("hello")
        await owner.ask("DELETE", f"/people/{former.id}", expect=204)
        async with person(owner, "Ada", "viewer") as ada:
            assert ada.id != former.id
            assert (await ada.ask("GET", "/session"))["access"] == "viewer"
            await former.ask("GET", "/session", expect=401)
            await ada.ask("GET", "/people", expect=403)
        changes = (await owner.ask("GET", "/people/changes"))["changes"]
        assert [(one["type"], one["person"]["id"]) for one in changes] == [
            ("person-added", ada.id),
            ("person-removed", former.id),
            ("person-added", former.id),
        ]
