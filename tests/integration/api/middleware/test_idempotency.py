"""A request sent twice is done once."""

import asyncio
from hashlib import sha256

from anycowork.api.middleware import idempotency
from anycowork.domain.principals import OWNER
from support.spec import proves

KEY = {"idempotency-key": "3f1c"}


async def titles(client):
    return [chat["title"] for chat in (await client.get("/context")).json()["contexts"]]


@proves("OPS-2")
async def test_the_same_request_gets_the_first_answer_again_and_does_nothing_twice(client):
    first = await client.post("/context", {"title": "once"}, headers=KEY)
    again = await client.post("/context", {"title": "once"}, headers=KEY)
    assert (again.status, again.json()) == (201, first.json())
    assert "idempotent-replay" not in first.headers and again.headers["idempotent-replay"] == "true"
    assert await titles(client) == ["once"]


async def test_the_same_key_for_another_body_or_path_is_refused(client):
    chat = (await client.post("/context", {"title": "one"}, headers=KEY)).json()
    other_body = await client.post("/context", {"title": "two"}, headers=KEY)
    other_path = await client.post(f"/context/{chat['id']}/stop", {"title": "one"}, headers=KEY)
    for answer in (other_body, other_path):
        assert (answer.status, answer.error["code"]) == (422, "idempotency_key_reused")
    assert await titles(client) == ["one"]


async def test_an_error_changed_nothing_so_its_key_may_try_again(client):
    assert (await client.post("/context", {"title": 5}, headers=KEY)).status == 422
    assert (await client.post("/context", {"title": "five"}, headers=KEY)).status == 201


async def test_two_at_once_are_done_once_and_both_get_the_answer(client):
    answers = await asyncio.gather(*(client.post("/context", {"title": "race"}, headers=KEY) for _ in range(5)))
    assert [(answer.status, answer.body) for answer in answers] == [(201, answers[0].body)] * 5
    assert await titles(client) == ["race"]


async def test_of_two_at_once_the_second_is_done_if_the_first_came_to_nothing(client):
    wrong, right = await asyncio.gather(
        client.post("/context", {"title": 5}, headers=KEY), client.post("/context", {"title": "five"}, headers=KEY)
    )
    assert (wrong.status, right.status) == (422, 201)


async def test_a_request_that_takes_long_is_not_waited_for_without_end(client, monkeypatch):
    monkeypatch.setattr(idempotency, "TWIN_SECONDS", 0.0)
    answers = await asyncio.gather(*(client.post("/context", {"title": "race"}, headers=KEY) for _ in range(5)))
    refused = [answer for answer in answers if answer.status != 201]
    assert refused and all(answer.error["code"] == "idempotency_in_flight" for answer in refused)
    assert await titles(client) == ["race"]


async def test_a_request_that_died_with_its_server_is_not_repeated_blindly(client, services):
    body_hash = sha256(b'{"title":"lost"}').hexdigest()
    await services.access.receipts.begin(OWNER.label(), "3f1c", path="/context", body_hash=body_hash)
    answer = await client.post("/context", raw=b'{"title":"lost"}', headers={**KEY, "content-type": "application/json"})
    assert (answer.status, answer.error["code"]) == (409, "idempotency_unknown")
    assert "Check whether it took effect" in answer.error["message"]
    assert await titles(client) == []


async def test_a_key_must_be_short_and_printable(client):
    for key in ("", "a b", "x" * 201, "ü"):
        answer = await client.post("/context", {}, headers={"idempotency-key": key})
        assert (answer.status, answer.error["param"]) == (422, "Idempotency-Key")


async def test_without_a_key_nothing_is_remembered(client):
    for _ in range(2):
        assert (await client.post("/context", {"title": "twin"})).status == 201
    assert await titles(client) == ["twin", "twin"]
