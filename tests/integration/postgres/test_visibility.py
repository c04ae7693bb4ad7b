"""Who sees a chat, on two servers with one database: what is changed on one holds on the other."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from attacks.test_hidden_chats_in_answers import answer as answer_of
from attacks.test_hidden_chats_in_answers import questions
from attacks.test_private_chats import Office, answer, ids_of_everything, unknown_ids
from integration.postgres.test_two_servers import two_servers
from support.live_server import TIMEOUT, LiveChat, LiveServer
from support.people import PersonClient, person
from support.routes import requests_naming
from support.scripted_model import call
from support.spec import proves

LISTS = (
    "/context",
    "/search?q=Zanzibar",
    "/jobs",
    "/usage?by=chat",
    "/schedules",
    "/triggers",
    "/rules",
    "/workspaces",
)


@asynccontextmanager
async def two_offices(tmp_path: Path, url: str) -> AsyncIterator[tuple[Office, LiveServer, PersonClient]]:
    """Ada shares a chat with her group on the first server. Returned besides: the second, and Cleo of that group there."""
    async with (
        two_servers(tmp_path, url) as (one, two),
        person(one, "Ada", "admin", ("design",)) as ada,
        person(one, "Ben", "admin", ("sales",)) as ben,
        person(one, "Cleo", "admin", ("design",)) as cleo,
    ):
        chat = await ada.chat(title="Secret plans", visibility="group:design")
        there = PersonClient(two.url, cleo.session, {"id": cleo.id, "token": cleo.token})
        yield Office(one, ada, ben, cleo, chat), two, there


async def hide(place: Office, ids: dict[str, str], how: str) -> None:
    """On the first server, so that Cleo sees it no more."""
    if how == "group":
        await place.owner.ask("PATCH", f"/people/{place.cleo.id}", {"groups": ["sales"]})
        return
    await place.ada.ask("PATCH", place.chat.path, {"visibility": "private"})
    await place.ada.ask("PATCH", f"/workspaces/{ids['workspace_id']}", {"visibility": "private"})


@proves("OPS-6/1", "OPS-6/2")
@pytest.mark.parametrize("how", ["private", "group"])
async def test_what_is_hidden_on_one_server_is_at_once_not_there_on_the_other(
    tmp_path: Path, database_url: str, how: str
) -> None:
    async with two_offices(tmp_path, database_url) as (place, two, cleo):
        place.owner.model.replies[:] = ["Zanzibar it is."]
        await place.chat.send("Where is Zanzibar?")
        ids = await ids_of_everything(place)
        told = {path: json.dumps(await cleo.ask("GET", path)) for path in LISTS}
        assert all(any(each in text for each in ids.values()) for text in told.values()), told
        document = await two.ask("GET", "/openapi.json")
        asked = [*requests_naming(document, frozenset(ids))]
        await hide(place, ids, how)
        for path in LISTS:
            text = json.dumps(await cleo.ask("GET", path))
            assert not [each for each in ids.values() if each in text], path
        unknown = unknown_ids(ids)
        wrong = [each for each in asked if await answer(cleo, each, ids) != await answer(cleo, each, unknown)]
        assert len(asked) > 90 and not wrong, "\n".join(map(str, wrong))
        secrets = {*ids.values(), "Zanzibar", "Secret plans", "Nightly"}
        for _, address, query in questions(document, {"q": "Zanzibar", "workspace": str(two.workspace)}):
            _, text = await answer_of(cleo, address, query)
            assert not [each for each in secrets if each in text], (address, query)


@proves("OPS-6/1", "OPS-6/2")
@pytest.mark.parametrize("how", ["chat", "workspace", "group"])
async def test_a_stream_that_is_open_on_the_other_server_ends(tmp_path: Path, database_url: str, how: str) -> None:
    async with two_offices(tmp_path, database_url) as (place, two, cleo):
        [root] = (await place.owner.ask("GET", "/workspaces"))["workspaces"]
        place.owner.model.mind = lambda body: "Yes."
        async with (
            asyncio.timeout(TIMEOUT),
            cleo.session.get(f"{two.url}{place.chat.path}/events") as stream,
            cleo.session.get(f"{two.url}/events") as sidebar,
        ):
            chat = LiveChat(place.owner, {"id": place.chat.id})
            await chat.send("Say yes.")
            await heard_in(stream, b"turn-ended")
            await heard_in(sidebar, b"turn-ended")
            match how:
                case "chat":
                    await place.ada.ask("PATCH", place.chat.path, {"visibility": "private"})
                case "workspace":
                    await place.owner.ask("PATCH", f"/workspaces/{root['id']}", {"visibility": "private"})
                case _:
                    await place.owner.ask("PATCH", f"/people/{place.cleo.id}", {"groups": []})
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(stream.content.read())
                while not reading.done():  # nothing that changes a list of chats
                    await chat.send("Say it again.")
            if how == "group":
                await sidebar.content.read()
                return
            await place.owner.ask("PATCH", place.chat.path, {"title": "Told to nobody"})
            later = await two.chat(title="Told to all", workspace=str(await folder_for_all(two, tmp_path)))
            await two.ask("POST", f"{later.path}/mode", {"mode": "plan"})
            assert b"Told to nobody" not in await heard_in(sidebar, later.id.encode())


async def heard_in(stream: aiohttp.ClientResponse, awaited: bytes) -> bytes:
    """Reads until this is there; returns all that came."""
    heard = b""
    while awaited not in heard:
        heard += await stream.content.readline()
    return heard


async def folder_for_all(server: LiveServer, tmp_path: Path) -> Path:
    folder = tmp_path / "open"
    folder.mkdir()
    await server.ask("POST", "/workspaces", {"root": str(folder)}, expect=201)
    return folder


@proves("OPS-6/2")
@pytest.mark.parametrize("when", ["idle", "now"])
async def test_what_was_queued_on_the_other_server_is_not_sent(tmp_path: Path, database_url: str, when: str) -> None:
    async with two_offices(tmp_path, database_url) as (place, two, cleo):
        place.owner.model.replies[:] = [call("create_file", path="new.txt", content="new"), "Done.", "Deleted."]
        two.model.replies[:] = ["Done.", "Deleted."]
        await place.chat.send("write new.txt")
        await cleo.ask("POST", f"{place.chat.path}/messages", {"content": "delete everything", "when": when})
        await place.ada.ask("PATCH", place.chat.path, {"visibility": "private"})
        there = LiveChat(two, {"id": place.chat.id})
        await there.decide("allow_once")
        async with asyncio.timeout(TIMEOUT):
            while (await there.show())["state"] != "idle":
                await asyncio.sleep(0.02)
        for server in (place.owner, two):
            await server.server.services.queue._send_next(place.chat.id)
        texts = [message["content"] for message in await there.messages()]
        assert "Done." in texts and "delete everything" not in texts


@proves("OPS-6/1")
async def test_a_hidden_workspace_stays_on_the_list_while_it_alone_hides_a_chat(
    tmp_path: Path, database_url: str
) -> None:
    async with two_offices(tmp_path, database_url) as (place, two, cleo):
        root = await place.ada.ask("GET", "/workspaces")
        folder = await folder_for_all(place.owner, tmp_path)
        [made] = [
            each for each in (await place.ada.ask("GET", "/workspaces"))["workspaces"] if each not in root["workspaces"]
        ]
        chat = await place.ada.chat(workspace=str(folder), visibility="everyone")
        await two.ask("PATCH", f"/workspaces/{made['id']}", {"visibility": "private"})
        assert await cleo.status("GET", chat.path) == 404
        await place.owner.ask("DELETE", f"/workspaces/{made['id']}", expect=409)
        await place.owner.ask("DELETE", chat.path)
        await place.owner.ask("DELETE", f"/workspaces/{made['id']}", expect=204)
