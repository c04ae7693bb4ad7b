"""What streams bring is what the description promises."""

import json

import jsonschema_rs

from support.scripted_model import Reply, call
from support.spec import proves


async def collected(client, chat_id, *, until):
    """The events of the chat from the first to the first of this type."""
    events = []
    async with client.stream(f"/context/{chat_id}/events") as stream:
        await stream.opened()
        while not events or events[-1]["event"] != until:
            events.append(await stream.event())
    return events


@proves("EVT-1/3", "EVT-1/4", "EVT-1/8")
async def test_every_event_of_a_turn_fits_its_schema(client, model):
    document = (await client.get("/openapi.json")).json()
    chat_id = (await client.post("/context")).json()["id"]
    await client.put(f"/context/{chat_id}/role", {"role": "designer"})
    model.replies += [call("create_file", path="a.txt", content="a\n"), Reply("All done.", reasoning="Let me see.")]
    await client.post(f"/context/{chat_id}/messages", {"content": "make a.txt"})
    asked = json.loads((await collected(client, chat_id, until="permission-request"))[-1]["data"])["approval"]
    await client.post(f"/context/{chat_id}/approvals", {"decisions": [{"id": asked["id"], "decision": "allow_once"}]})
    events = await collected(client, chat_id, until="turn-ended")
    described = jsonschema_rs.validator_for(
        {**document["components"]["schemas"]["EventEnvelope"], "components": document["components"]}
    )
    for event in events:
        data = json.loads(event["data"])
        assert (event["event"], int(event["id"])) == (data["type"], data["seq"])
        described.validate(data)
    seen = {event["event"] for event in events}
    assert seen >= {"message", "turn-started", "tool-call", "permission-request", "permission-decided", "tool-result"}
    assert seen >= {"role-changed", "usage", "turn-ended"}


@proves("EVT-1/1", "WFL-3")
async def test_every_event_of_a_workflows_run_fits_its_schema(client, model):
    document = (await client.get("/openapi.json")).json()
    chat_id = (await client.post("/context")).json()["id"]
    model.replies += ["Nothing was said yet."]
    started = await client.post("/workflows/summarize_chat/execute", {"context_id": chat_id, "parameters": {}})
    assert started.status == 202
    described = jsonschema_rs.validator_for(
        {**document["components"]["schemas"]["EventEnvelope"], "components": document["components"]}
    )
    events = [json.loads(event["data"]) for event in await collected(client, chat_id, until="turn-ended")]
    for event in events:
        described.validate(event)
    assert [event["workflow"]["status"] for event in events if event["type"] == "workflow-progress"] == [
        "running",
        "completed",
    ]
