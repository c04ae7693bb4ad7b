"""Event streams, as a reader sees them."""

import asyncio
import json
from dataclasses import replace

import pytest

from anycowork.api.application import create_api
from anycowork.domain.events import EventType, Record
from support.spec import proves


async def new_chat(client):
    return (await client.post("/context", {})).json()["id"]


@proves("EVT-1/1", "EVT-1/8", "EVT-2")
async def test_a_stream_starts_with_the_first_event_and_goes_on_live(client):
    chat_id = await new_chat(client)
    await client.put(f"/context/{chat_id}/role", {"role": "planner"})
    async with client.stream(f"/context/{chat_id}/events") as stream:
        opened = await stream.opened()
        assert opened.status == 200 and opened.headers["content-type"].startswith("text/event-stream")
        assert opened.headers["cache-control"] == "no-store" and opened.headers["x-accel-buffering"] == "no"
        first = [await stream.event(), await stream.event()]
        assert [event["event"] for event in first] == ["message", "role-changed"]
        await client.put(f"/context/{chat_id}/role", {"role": "actor"})
        live = [await stream.event(), await stream.event()]
        assert json.loads(live[1]["data"])["role"] == {"old_role": "planner", "new_role": "actor"}
        numbers = [int(event["id"]) for event in first + live]
        assert numbers == sorted(set(numbers))


@proves("EVT-2/1")
@pytest.mark.parametrize("by", ["header", "query", "both"])
async def test_a_reader_that_comes_back_gets_what_it_missed_and_nothing_twice(client, by):
    chat_id = await new_chat(client)
    for role in ("planner", "actor"):
        await client.put(f"/context/{chat_id}/role", {"role": role})
    async with client.stream(f"/context/{chat_id}/events") as stream:
        await stream.opened()
        seen = [await stream.event() for _ in range(4)]
    last = seen[1]["id"]
    # A browser that comes back asks the same address again; its header knows better.
    path = f"/context/{chat_id}/events" + {"header": "", "query": f"?after={last}", "both": "?after=0"}[by]
    async with client.stream(path, headers={} if by == "query" else {"last-event-id": last}) as stream:
        await stream.opened()
        assert [await stream.event() for _ in range(2)] == seen[2:]


@proves("EVT-2/2")
async def test_the_history_and_the_stream_join_without_a_gap(client):
    chat_id = await new_chat(client)
    await client.put(f"/context/{chat_id}/role", {"role": "planner"})
    last_seq = (await client.get(f"/context/{chat_id}/messages")).json()["last_seq"]
    async with client.stream(f"/context/{chat_id}/events?after={last_seq}") as stream:
        await stream.opened()
        await client.put(f"/context/{chat_id}/role", {"role": "actor"})
        assert json.loads((await stream.event())["data"])["message"]["payload"]["new_role"] == "actor"


@pytest.mark.parametrize("after", ["garbage", "-1", "1.5", "", "٣", "9" * 30])
async def test_a_number_that_is_none_is_a_422(client, after):
    chat_id = await new_chat(client)
    assert (await client.get(f"/context/{chat_id}/events?after={after}")).status == 422


@proves("EVT-1/1")
async def test_the_sidebar_hears_of_every_chat(client):
    async with client.stream("/events") as stream:
        await stream.opened()
        chats = [await new_chat(client), await new_chat(client)]
        for chat_id in chats:
            await client.put(f"/context/{chat_id}/role", {"role": "planner"})
        events = [await stream.event() for _ in chats]
    heard = [json.loads(event["data"]) for event in events]
    assert int(events[0]["id"]) < int(events[1]["id"]), "one order over all chats"
    assert [(event["chat_id"], event["type"]) for event in heard] == [(chat_id, "role-changed") for chat_id in chats]


@proves("OPS-2")
async def test_open_streams_end_when_the_server_stops(client, services):
    chat_id = await new_chat(client)
    async with client.stream(f"/context/{chat_id}/events") as stream:
        await stream.opened()
        services.server.stopping.set()
        while await stream.chunk():
            pass
        assert stream.ended


class OneStream:
    """Says one thing and then nothing; knows whether it was closed."""

    closed = False

    async def follow(self, chat_id, *, after):
        try:
            yield [Record(chat_id, 1, EventType.MESSAGE, b"{}")]
            await asyncio.Event().wait()
        finally:
            self.closed = True


async def test_a_reader_that_left_is_let_go(client, services):
    chat_id = await new_chat(client)
    streams = OneStream()
    reader = replace(client, app=create_api(replace(services, streams=streams)))
    async with reader.stream(f"/context/{chat_id}/events") as stream:
        await stream.opened()
        await stream.event()
        assert not streams.closed
    assert streams.closed
