"""Two servers on one database: events, rules, chats and workspaces are shared, and one of them writes at a time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from anycowork.domain.errors import Conflict
from anycowork.domain.principals import OWNER
from anycowork.store.postgres import forwarded_requests
from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.peers import PostgresPeers
from anycowork.store.sql.database import ForeignWrites
from support.live_server import LiveChat, LiveServer, RequestRefused, live_server
from support.people import person
from support.person_commands import end_of, start
from support.person_terminals import open_terminal
from support.scripted_model import Reply, call
from support.store_factories import opened_postgres
from support.stored import add_chat

Json = dict[str, Any]
SECONDS = 60.0


@asynccontextmanager
async def two_servers(tmp_path: Path, url: str) -> AsyncIterator[tuple[LiveServer, LiveServer]]:
    """Each has a data folder of its own; both work in the same folder."""
    shared = tmp_path / "shared"
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in (shared, *folders):
        folder.mkdir()
    async with (
        live_server(folders[0], database_url=url, workspace=shared) as one,
        live_server(folders[1], database_url=url, workspace=shared) as two,
    ):
        one.workspace = two.workspace = shared
        yield one, two


def on(server: LiveServer, chat: LiveChat) -> LiveChat:
    """The same chat, through another server."""
    return LiveChat(server, chat.opened)


async def followed(chat: LiveChat, wanted: str, after: int = 0) -> list[Json]:
    found = []
    async with asyncio.timeout(SECONDS):
        async for event in chat.follow(after):
            found.append(event)
            if event["type"] == wanted:
                return found
    raise AssertionError("the stream ended")


async def test_a_chat_opened_on_one_is_followed_decided_and_continued_on_the_other(
    tmp_path: Path, database_url: str
) -> None:
    async with two_servers(tmp_path, database_url) as (one, two):
        one.model.replies[:] = [call("create_file", path="a.txt", content="a")]
        two.model.replies[:] = ["It is there.", "Still there."]
        here = await one.chat()
        there = on(two, here)
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(followed(there, "permission-request"))
            await here.send("Create it.")
        seen = watching.result()
        assert [event["type"] for event in seen if event["type"] in ("message", "turn-started")][:2] == [
            "message",
            "turn-started",
        ]
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(followed(here, "turn-ended", after=seen[-1]["seq"]))
            assert (await there.decide())["state"] == "idle", "the other server goes on with the turn"
        assert watching.result()[-1]["reason"] == "answered"
        assert (one.workspace / "a.txt").read_text() == "a"
        assert (await there.send("And now?"))["state"] == "idle"
        one.model.replies[:] = ["Here again."]
        assert (await here.send("And here?"))["state"] == "idle"
        assert await here.messages() == await there.messages()
        assert [m["content"] for m in await here.messages() if m["role"] == "user"] == [
            "Create it.",
            "And now?",
            "And here?",
        ]


async def test_a_key_that_was_revoked_on_one_is_refused_on_the_other_at_once(tmp_path: Path, database_url: str) -> None:
    async with two_servers(tmp_path, database_url) as (one, two):
        key = await one.ask("POST", "/keys", {"name": "program"}, expect=201)
        bearer = {"Authorization": f"Bearer {key['key']}"}
        await two.ask("GET", "/v1/models", expect=200, headers=bearer)
        await one.ask("DELETE", f"/keys/{key['id']}", expect=204)
        await two.ask("GET", "/v1/models", expect=401, headers=bearer)


async def test_a_rule_made_on_one_decides_on_the_other_at_once(tmp_path: Path, database_url: str) -> None:
    async with two_servers(tmp_path, database_url) as (one, two):
        chat = await two.chat()
        two.model.replies[:] = [call("create_file", path="a.txt", content="a"), "Denied."]
        assert (await chat.send("Create it."))["state"] == "awaiting_approval", "no rule yet, and it is remembered"
        await chat.decide("deny")
        rule = {"tool": "create_file", "resource": "/*", "effect": "allow", "scope": "global"}
        await one.ask("POST", "/rules", rule, expect=201)
        two.model.replies[:] = [call("create_file", path="b.txt", content="b"), "Done."]
        assert (await chat.send("Create it."))["state"] == "idle"
        assert (two.workspace / "b.txt").exists()


async def test_a_chat_that_works_on_one_is_stopped_and_written_to_through_the_other(
    tmp_path: Path, database_url: str
) -> None:
    hold = asyncio.Event()
    async with two_servers(tmp_path, database_url) as (one, two):
        one.model.replies[:] = [Reply("Slow answer.", hold=hold), "Told."]
        here = await one.chat()
        there = on(two, here)
        await here.send("Think.", until="sent")
        await one.model.asked(1)
        with pytest.raises(RequestRefused, match=r"409.*turn_running"):
            await two.ask("POST", f"{there.path}/messages", {"content": "Me too."})
        await two.ask("POST", f"{there.path}/messages", {"content": "And this.", "when": "idle"}, expect=202)
        assert (await two.ask("POST", f"{there.path}/stop"))["stopped"] is True
        hold.set()
        await followed(there, "turn-ended")
        assert "stopped" in {event.get("reason") for event in await there.events()}
        assert not two.model.requests, "the turn, its stop and what was queued are all of the server that has the chat"


async def test_a_chat_whose_server_does_not_answer_is_refused(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarded_requests, "ANSWER_SECONDS", 0.1)
    hold = asyncio.Event()
    async with two_servers(tmp_path, database_url) as (one, two):
        one.model.replies[:] = [Reply("Slow answer.", hold=hold)]
        here = await one.chat()
        await here.send("Think.", until="sent")
        await one.model.asked(1)
        peers = one.server.database.peers
        assert peers is not None
        monkeypatch.setattr(peers.requests, "answer_all", _takes_nothing)
        with pytest.raises(RequestRefused, match=r"409.*chat_held.*does not answer"):
            await two.ask("POST", f"{here.path}/stop")
        hold.set()
        await here.rest()


async def _takes_nothing(*_: object) -> None:
    return


async def test_two_turns_in_one_folder_never_write_at_the_same_time(tmp_path: Path, database_url: str) -> None:
    async with two_servers(tmp_path, database_url) as (one, two):
        workspaces = [server.server.services.rollback._workspaces for server in (one, two)]
        root, inside, most = str(one.workspace.resolve()), 0, 0

        async def write(server: int) -> None:
            nonlocal inside, most
            for _ in range(5):
                async with workspaces[server].writing(root):
                    inside += 1
                    most = max(most, inside)
                    await asyncio.sleep(0)
                    inside -= 1

        async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as tasks:
            for server in (0, 1):
                tasks.create_task(write(server))
        assert most == 1


async def test_the_use_of_a_key_is_added_up_over_servers(tmp_path: Path, database_url: str) -> None:
    async with (
        opened_postgres(database_url, tmp_path / "one") as one,
        opened_postgres(database_url, tmp_path / "two") as two,
    ):
        days = [(await store.ledger.account("k", "2026-01-01")).today for store in (one, two)]
        for store, day in ((one, days[0]), (two, days[1]), (one, days[0])):
            day.requests += 1
            day.prompt += 10
            store.ledger.changed(day)
            await store.ledger.totals()  # until it is durable
        assert [day.requests for day in days] == [2, 1], "each knows its own"
        for store, day in zip((one, two), days, strict=True):
            await store.ledger.refresh(day)
            assert (day.requests, day.prompt) == (3, 30)
        days[1].requests += 1
        two.ledger.changed(days[1])
        await two.ledger.totals()
        assert (await one.ledger.day("k", "2026-01-01")).requests == 4
        await one.ledger.refresh(days[0])
        assert days[0].requests == 4


async def test_a_server_that_starts_is_not_alone_while_any_other_one_is_there(database_url: str) -> None:
    address = read_address(database_url)
    first, second, third = (PostgresPeers(address, name) for name in ("first", "second", "third"))
    try:
        assert await first.join()
        await first.settled()
        assert not await second.join()
        await first.aclose()
        assert not await third.join(), "the second is still there, and what is unfinished may be its own"
    finally:
        for peers in (second, third):
            await peers.aclose()


async def test_server_tells_nobody_of_writes_until_another_joins_which_reads_again_what_it_was_not_told(
    tmp_path: Path, database_url: str
) -> None:
    told: asyncio.Queue[ForeignWrites] = asyncio.Queue()
    (tmp_path / "b").mkdir()
    async with (
        asyncio.timeout(SECONDS),
        opened_postgres(database_url, tmp_path) as first,
        asyncio.TaskGroup() as tasks,
    ):
        assert first.peers is not None and not first.peers.has_others
        keeping = [tasks.create_task(first.peers.keep(lambda writes: None))]
        async with opened_postgres(database_url, tmp_path / "b") as second:
            assert second.peers is not None and second.peers.has_others
            keeping.append(tasks.create_task(second.peers.keep(told.put_nowait)))
            while (await told.get()).chat_ids is not None:
                pass
            await first.journal.write(add_chat("c1"))
            while (writes := await told.get()).chat_ids is None:
                pass
            assert writes.chat_ids == ("c1",)
            for task in keeping:
                task.cancel()


@pytest.mark.parametrize("kind", ["a terminal", "a command"])
async def test_no_chat_is_deleted_through_the_other_server_while_a_person_runs_something_there(
    tmp_path: Path, database_url: str, kind: str
) -> None:
    async with two_servers(tmp_path, database_url) as (one, two):
        chat, beside = await one.chat(), await one.chat()
        started = await (open_terminal(chat) if kind == "a terminal" else start(chat, "sleep 600"))
        async with person(two, "Mia", "member") as member:
            refused = await member.ask("DELETE", chat.path, expect=409)
            assert "on another server. Stop it there" in refused["error"]["message"]
            await member.ask("DELETE", beside.path, expect=204)  # nothing runs there, though it is in the same folder
            await one.ask("POST", f"{chat.path}/person-commands/{started}/stop")
            assert (await end_of(chat, started))["ended"] == "stopped"
            await member.ask("DELETE", chat.path, expect=204)


async def test_a_command_that_begins_on_the_other_server_while_its_chat_is_deleted_keeps_the_chat(
    tmp_path: Path, database_url: str
) -> None:
    """The deletion looked before the command began, and is written after it."""
    async with two_servers(tmp_path, database_url) as (one, two):
        chat, deleting = await one.chat(), two.server.services
        removal = await deleting.person_commands.removal_of(chat.id)
        started = await start(chat, "sleep 600")
        with pytest.raises(Conflict, match="in this very moment"):
            await deleting.chats.remove_chat(OWNER, chat.id, removal)
        await one.ask("POST", f"{chat.path}/person-commands/{started}/stop")
        assert (await end_of(chat, started))["ended"] == "stopped"
