"""A full disk: what cannot be kept is refused with a clear error, what was kept can be read, and all goes on when there is room again."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from support.live_server import TIMEOUT, Caller, Json, LiveChat
from support.scripted_model import Reply, ScriptedModel
from support.server import ChildServer
from support.spec import proves

REFUSED = "The database could not be written"


@proves("OPS-2", "MSG-4")
async def test_on_a_full_disk_posts_are_refused_reads_work_and_nothing_acknowledged_is_lost(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    model.replies += ["One.", "Three."]
    chat = await client.chat()
    await chat.send("first")
    kept = await chat.messages()
    with full_disk(server):
        for path, body in ((f"{chat.path}/messages", {"content": "second"}), ("/context", {})):
            error = await refusal(client, path, body)
            assert error["code"] == "storage_failed" and "nothing of this request was kept" in error["message"]
        assert await chat.messages() == kept
        assert (await chat.show())["state"] == "idle"
        await client.ask("GET", "/readyz", expect=200)
    await chat.send("third")
    assert [message["content"] for message in await chat.messages()] == ["first", "One.", "third", "Three."]
    assert len((await client.ask("GET", "/context"))["contexts"]) == 1
    server.restart()
    assert [message["content"] for message in await chat.messages()] == ["first", "One.", "third", "Three."]


@proves("OPS-2")
async def test_a_turn_that_runs_into_a_full_disk_ends_as_failed_once_there_is_room(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    hold = threading.Event()
    model.replies += [Reply(chunks=["Half of ", "the answer."], hold=hold), "Here I am."]
    chat = await client.chat()
    await chat.send("go", until="sent")
    await event_of(chat, "text-delta")
    with full_disk(server):
        hold.set()
        await logged(server, REFUSED)
        assert (await chat.show())["state"] == "running", "its end cannot be kept yet, so it has not ended"
    ended = await event_of(chat, "turn-ended")
    assert ended["reason"] == "failed" and ended["turn"]["error"]["code"] == "storage_failed"
    asked, partial, note = await chat.messages()
    assert asked["content"] == "go"
    assert partial["content"] == "Half of the answer." and partial["payload"] == {"broken_off": True}
    assert REFUSED in note["content"]
    await chat.send("still there?")
    assert (await chat.last())["content"] == "Here I am."


@proves("OPS-2")
async def test_a_server_told_to_end_on_a_full_disk_ends_and_the_next_one_settles_the_turn(
    server: ChildServer, model: ScriptedModel, client: Caller
) -> None:
    hold = threading.Event()
    model.replies += [Reply("Never finished", hold=hold)]
    chat = await client.chat()
    await chat.send("go", until="sent")
    await event_of(chat, "text-delta")
    with full_disk(server):
        assert server.terminate() != 0, "it could not keep everything, and says so"
    assert REFUSED in server.log and "Traceback" not in server.log
    hold.set()
    server.start()
    assert (await event_of(chat, "turn-ended"))["reason"] == "interrupted"
    assert (await chat.show())["state"] == "idle"
    assert (await chat.messages())[0]["content"] == "go"


# --- the disk


@contextmanager
def full_disk(server: ChildServer) -> Iterator[None]:
    """The database's log cannot grow by one byte."""
    server.limit_file_size((server.data / "anycowork.db-wal").stat().st_size)
    try:
        yield
    finally:
        if server.is_running:
            server.limit_file_size(None)


async def refusal(client: Caller, path: str, body: Json) -> Json:
    async with client.session.post(client.url + path, json=body) as response:
        assert response.status in (503, 507)
        return (await response.json())["error"]


async def event_of(chat: LiveChat, event_type: str) -> Json:
    async with asyncio.timeout(TIMEOUT), following(chat) as events:
        async for event in events:
            if event["type"] == event_type:
                return event
    raise AssertionError("the stream ended")


@asynccontextmanager
async def following(chat: LiveChat) -> AsyncIterator[AsyncIterator[Json]]:
    events = chat.follow()
    try:
        yield events
    finally:
        await events.aclose()  # type: ignore[attr-defined]  # it is a generator


async def logged(server: ChildServer, words: str) -> None:
    async with asyncio.timeout(TIMEOUT):
        while words not in server.log:
            await asyncio.sleep(0.01)  # another process writes it: there is no event to wait for
