"""Turns, approvals, questions and plans as a program sees them over HTTP, with a real server."""

import json

import pytest

from support.scripted_model import Hang, call
from support.spec import proves

PLAN = {
    "type": "plan",
    "format_version": "1.0",
    "goal": "Greet",
    "steps": [
        {"step_number": 1, "action": "Write hello.txt", "tools_needed": ["create_file"], "paths": ["hello.txt"]},
        {"step_number": 2, "action": "Write bye.txt", "tools_needed": ["create_file"], "paths": ["bye.txt"]},
    ],
}
QUESTION = {
    "type": "question",
    "format_version": "1.0",
    "question": "Which name?",
    "severity": "minor",
    "options": [{"label": "Ann", "value": "ann"}, {"label": "Bob", "value": "bob"}],
}


@pytest.fixture
async def chat_id(client):
    return (await client.post("/context", {})).json()["id"]


@pytest.fixture
def until(client, chat_id):
    """Waits for an event of this type after this number; returns its data."""

    async def wait(event_type, *, after=0):
        async with client.stream(f"/context/{chat_id}/events?after={after}") as stream:
            await stream.opened()
            while True:
                event = await stream.event()
                if event["event"] == event_type:
                    return json.loads(event["data"])

    return wait


async def messages(client, chat_id, query=""):
    answer = await client.get(f"/context/{chat_id}/messages{query}")
    assert answer.status == 200, answer.body
    return answer.json()["messages"]


async def send(client, chat_id, content="go on", **options):
    answer = await client.post(f"/context/{chat_id}/messages", {"content": content}, **options)
    assert answer.status == 202, answer.body
    return answer.json()


async def test_a_message_is_acknowledged_and_answered(client, chat_id, model, until):
    model.replies.append("Good day.")
    sent = await send(client, chat_id, "hello")
    ended = await until("turn-ended")
    assert (ended["reason"], ended["turn_id"]) == ("answered", sent["turn_id"])
    said, answered = await messages(client, chat_id)
    assert (said["id"], said["role"], said["content"]) == (sent["message_id"], "user", "hello")
    assert (answered["role"], answered["message_type"], answered["content"]) == ("assistant", "text", "Good day.")
    assert (await client.get(f"/context/{chat_id}")).json()["state"] == "idle"


async def test_pages_go_both_ways_and_leave_out_what_they_name(client, chat_id, model, until):
    after = 0
    for number in range(3):
        model.replies.append(f"answer {number}")
        await send(client, chat_id, f"message {number}")
        after = (await until("turn-ended", after=after))["seq"]
    everything = await messages(client, chat_id)
    assert len(everything) == 6
    assert await messages(client, chat_id, "?limit=2") == everything[-2:]
    third = everything[2]["id"]
    assert await messages(client, chat_id, f"?after={third}&limit=2") == everything[3:5]
    assert await messages(client, chat_id, f"?before={third}") == everything[:2]
    page = (await client.get(f"/context/{chat_id}/messages?limit=4")).json()
    rest = (await client.get(f"/context/{chat_id}/messages?before={page['next']}")).json()
    assert rest["messages"] + page["messages"] == everything and rest["next"] is None


@proves("SWI-3/1")
async def test_while_a_turn_runs_everything_but_a_confirmed_switch_is_a_409(client, chat_id, model, until):
    model.replies.append(Hang("thinking"))
    await send(client, chat_id)
    assert (await client.get(f"/context/{chat_id}")).json()["state"] == "running"
    again = await client.post(f"/context/{chat_id}/messages", {"content": "more"})
    assert (again.status, again.error["code"]) == (409, "turn_running")
    assert (await client.delete(f"/context/{chat_id}")).status == 409
    unconfirmed = await client.post(f"/context/{chat_id}/mode", {"mode": "plan"})
    assert (unconfirmed.status, unconfirmed.error["code"]) == (409, "needs_confirmation")
    confirmed = await client.post(f"/context/{chat_id}/mode", {"mode": "plan", "confirm": True})
    assert (confirmed.status, confirmed.json()["new_role"]) == (200, "planner")
    assert (await until("turn-ended"))["reason"] == "stopped"
    assert (await client.get(f"/context/{chat_id}")).json()["state"] == "idle"


async def test_stop_ends_a_running_turn(client, chat_id, model, until):
    model.replies.append(Hang("thinking"))
    await send(client, chat_id)
    assert (await client.post(f"/context/{chat_id}/stop")).json() == {"stopped": True}
    assert (await until("turn-ended"))["reason"] == "stopped"


@proves("APR-1")
async def test_a_call_waits_for_approval_and_runs_once_allowed(client, chat_id, model, until, workspace):
    model.replies += [call("create_file", path="hello.txt", content="hi\n"), "Done."]
    await send(client, chat_id)
    await until("permission-request")
    (approval,) = (await client.get(f"/context/{chat_id}/approvals")).json()["approvals"]
    assert (approval["tool"], approval["resource"]) == ("create_file", "/hello.txt")
    assert approval["parameters"] == {"path": "hello.txt", "content": "hi\n"}
    shown = (await client.get(f"/context/{chat_id}")).json()
    assert (shown["state"], shown["waiting_for"]["approvals"]) == ("awaiting_approval", [approval["id"]])
    assert not (workspace / "hello.txt").exists()
    decision = {"id": approval["id"], "decision": "allow_once"}
    decided = await client.post(f"/context/{chat_id}/approvals", {"decisions": [decision]})
    assert (decided.status, decided.json()) == (200, {"approvals": [decision]})
    assert (await until("turn-ended"))["reason"] == "answered"
    assert (workspace / "hello.txt").read_text() == "hi\n"
    again = await client.post(f"/context/{chat_id}/approvals", {"decisions": [decision]})
    assert (again.status, again.error["code"]) == (409, "already_decided")


async def test_a_denial_carries_its_word_to_the_model_and_nothing_is_done(client, chat_id, model, until, workspace):
    model.replies += [call("create_file", path="hello.txt", content="hi\n"), "As you wish."]
    await send(client, chat_id)
    await until("permission-request")
    (approval_id,) = (await client.get(f"/context/{chat_id}")).json()["waiting_for"]["approvals"]
    denial = {"id": approval_id, "decision": "deny", "note": "Not in this folder."}
    assert (await client.post(f"/context/{chat_id}/approvals", {"decisions": [denial]})).status == 200
    await until("turn-ended")
    (result,) = [each for each in await messages(client, chat_id) if each["message_type"] == "tool_result"]
    assert result["payload"]["status"] == "denied"
    assert "Not in this folder." in json.dumps(model.requests[-1]["messages"])
    assert not (workspace / "hello.txt").exists()


@proves("QST-1/3", "QST-2/2")
async def test_a_question_takes_one_of_its_options_once(client, chat_id, model, until):
    model.replies += [json.dumps(QUESTION), "Hello Ann."]
    await send(client, chat_id)
    asked = (await until("question"))["question"]
    shown = (await client.get(f"/context/{chat_id}")).json()
    assert (shown["state"], shown["waiting_for"]["question"]) == ("awaiting_answer", asked["message_id"])
    path = f"/context/{chat_id}/questions/{asked['message_id']}/answer"
    for wrong in ({"custom": "Zoe"}, {"value": "zoe"}, {}, {"value": "ann", "custom": "Ann"}, {"value": 1}):
        assert (await client.post(path, wrong)).status == 422
    answered = await client.post(path, {"value": "ann"})
    assert answered.status == 200 and answered.json()["turn_id"]
    await until("turn-ended", after=shown["last_seq"])
    assert (await messages(client, chat_id))[-1]["content"] == "Hello Ann."
    again = await client.post(path, {"value": "bob"})
    assert (again.status, again.error["code"]) == (409, "already_answered")


@proves("QST-1/1", "QST-1/2")
async def test_a_question_reaches_its_reader_with_every_field(client, chat_id, model, until):
    whole = {
        **QUESTION,
        "format_version": "1.0",
        "context": "The letter begins with it.",
        "severity": "major",
        "options": [{"label": "Ann", "value": "ann", "description": "your colleague"}],
        "default": "ann",
        "allow_custom": True,
    }
    model.replies.append(json.dumps(whole))
    await send(client, chat_id)
    asked = await until("question")
    shown = (await messages(client, chat_id))[-1]
    assert (shown["message_type"], shown["id"]) == ("question", asked["question"]["message_id"])
    for told in (shown["payload"], asked["question"]):
        assert {name: told[name] for name in whole} == whole


@proves("PLN-3", "SWI-4")
async def test_an_edited_plan_is_approved_once_and_carried_out_as_actor(client, model, until, chat_id, workspace):
    await client.put(f"/context/{chat_id}/role", {"role": "planner"})
    model.replies.append(json.dumps(PLAN))
    await send(client, chat_id)
    plan = (await until("plan-update"))["plan"]
    ended = await until("turn-ended")
    model.replies += [call("create_file", path="hello.txt", content="hi\n"), "Done."]
    path = f"/context/{chat_id}/plans/{plan['message_id']}/approve"
    approved = await client.post(path, {"steps": [PLAN["steps"][0]]})
    assert approved.status == 202, approved.body
    last = await until("turn-ended", after=ended["seq"])
    assert (last["turn_id"], last["reason"]) == (approved.json()["turn_id"], "answered")
    assert (workspace / "hello.txt").read_text() == "hi\n"  # granted by the approved step: nobody was asked again
    assert (await client.get(f"/context/{chat_id}")).json()["config"]["agent_role"] == "actor"
    again = await client.post(path)
    assert (again.status, again.error["code"]) == (409, "plan_already_approved")


async def test_a_plan_by_hand_supersedes_the_last_one(client, chat_id):
    first = (await client.post(f"/context/{chat_id}/plans", {"plan": PLAN})).json()["message_id"]
    second = await client.post(f"/context/{chat_id}/plans", {"plan": {**PLAN, "goal": "Greet better"}})
    assert second.status == 201
    answer = await client.post(f"/context/{chat_id}/plans/{first}/approve")
    assert (answer.status, answer.error["code"]) == (409, "plan_superseded")
    assert (await client.post(f"/context/{chat_id}/plans", {"plan": {"goal": "no steps"}})).status == 422


async def test_a_message_sent_twice_with_one_key_starts_one_turn(client, chat_id, model, until):
    model.replies.append("Once.")
    key = {"idempotency-key": "send-1"}
    first = await send(client, chat_id, "hello", headers=key)
    await until("turn-ended")
    assert await send(client, chat_id, "hello", headers=key) == first
    assert len(await messages(client, chat_id)) == 2
