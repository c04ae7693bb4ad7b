"""Whoever watches a chat is told when its model's server fails and is asked again after a wait."""

import asyncio
import json
from contextlib import asynccontextmanager

import jsonschema_rs

from anycowork.domain.times import seconds_between
from support.scripted_model import TIMEOUT, HttpError

WAIT = 55  # seconds: longer than a test may take that does not wait


async def follow(stream, *, until):
    """The next events, to the first of this type."""
    events = []
    async with asyncio.timeout(TIMEOUT):
        while not events or events[-1]["type"] != until:
            events.append(json.loads((await stream.event())["data"]))
    return events


async def test_wait_for_the_models_server_is_told_before_the_answer_and_not_stored(client, model):
    document = (await client.get("/openapi.json")).json()
    described = jsonschema_rs.validator_for(
        {**document["components"]["schemas"]["ModelRetryEvent"], "components": document["components"]}
    )
    chat_id = (await client.post("/context")).json()["id"]
    busy = {"error": {"message": "words of the server"}}
    model.replies += [HttpError(429, busy, retry_after="0.5"), HttpError(503, retry_after="0.02"), "At last."]
    async with client.stream(f"/context/{chat_id}/events") as stream:
        await stream.opened()
        await client.post(f"/context/{chat_id}/messages", {"content": "hello"})
        events = await follow(stream, until="turn-ended")
    told = [event for event in events if event["type"] == "model-retry"]
    first, second = (event["retry"] for event in told)
    for event in told:
        described.validate(event)
    assert {key: first[key] for key in first if key != "until"} == {
        "seconds": 0.5,
        "attempt": 2,
        "tries": 4,
        "reason": "provider_rate_limited",
        "status": 429,
    }
    assert (second["attempt"], second["reason"], second["status"]) == (3, "provider_overloaded", 503)
    assert 0 < seconds_between(told[0]["at"], first["until"]) <= 0.5
    kinds = [event["type"] for event in events]
    assert kinds.index("turn-started") < kinds.index("model-retry") < kinds.index("text-delta")
    assert told[0]["turn_id"] == events[-1]["turn_id"] and "words of the server" not in json.dumps(told)
    async with client.stream(f"/context/{chat_id}/events") as late:
        await late.opened()
        assert "model-retry" not in {event["type"] for event in await follow(late, until="turn-ended")}


@asynccontextmanager
async def waiting_turn(client, model):
    """A turn that waits for its model's server: its chat, the stream of a reader, and what that reader was told."""
    chat_id = (await client.post("/context")).json()["id"]
    model.replies += [HttpError(429, retry_after=WAIT), "Too late."]
    async with client.stream(f"/context/{chat_id}/events") as stream:
        await stream.opened()
        await client.post(f"/context/{chat_id}/messages", {"content": "hello"})
        yield chat_id, stream, (await follow(stream, until="model-retry"))[-1]


async def test_stop_ends_the_turn_at_once_while_it_waits_for_the_models_server(client, model):
    async with waiting_turn(client, model) as (chat_id, stream, told):
        async with asyncio.timeout(WAIT / 2):
            assert (await client.post(f"/context/{chat_id}/stop")).json()["stopped"] is True
            ended = (await follow(stream, until="turn-ended"))[-1]
    assert (told["retry"]["seconds"], ended["reason"], len(model.requests)) == (WAIT, "stopped", 1)


async def test_who_opens_the_chat_while_it_waits_is_told_so_and_nobody_after_it(client, model):
    async with waiting_turn(client, model) as (chat_id, stream, told):
        async with client.stream(f"/context/{chat_id}/events") as late:
            await late.opened()
            joined = (await follow(late, until="model-retry"))[-1]
        await client.post(f"/context/{chat_id}/stop")
        await follow(stream, until="turn-ended")
    assert (joined["retry"], joined["turn_id"]) == (told["retry"], told["turn_id"]) and joined["seq"] > told["seq"]
    assert joined["at"] > told["at"], "until minus at is what is left"
    model.replies[:] = ["At once."]
    async with client.stream(f"/context/{chat_id}/events") as after:
        await after.opened()
        await client.post(f"/context/{chat_id}/messages", {"content": "again"})
        seen = [*await follow(after, until="turn-ended"), *await follow(after, until="turn-ended")]
    assert "model-retry" not in {event["type"] for event in seen}
