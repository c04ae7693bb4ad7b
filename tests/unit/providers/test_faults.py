"""What a broken, angry or silent server gives: the right fault, the right number of tries, and never the key."""

import logging

import pytest

from anycowork.domain.model import ReplyFinished, RetryChunk, TextChunk
from anycowork.domain.provider_errors import (
    BadKey,
    BrokenStream,
    NoSuchModel,
    Overloaded,
    ProviderFault,
    RateLimited,
    RejectedRequest,
    Unreachable,
)
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.http.retries import Backoff, retry_after
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.upstream import Upstream
from support.ports import held_port
from support.provider_client import BRIEF, SECRET, Naps, all_of, asking, client, text_of
from support.scripted_model import Answer, BreakOff, Garbage, Hang, HttpError, Reply, ScriptedModel


def said(message: str, code: str | None = None) -> dict[str, object]:
    return {"error": {"message": message, "code": code}}


LEAKY = said(f"Incorrect API key provided: {SECRET}")
ONE = b'data: {"choices":[{"delta":{"content":"one"}}]}\n\n'

FAULTS: list[tuple[str, Answer, type[ProviderFault], int, str]] = [
    ("401", HttpError(401, LEAKY), BadKey, 1, "ACME_KEY"),
    ("403", HttpError(403, LEAKY), BadKey, 1, "ACME_KEY"),
    ("404 model", HttpError(404, said("The model `m` does not exist")), NoSuchModel, 1, "'m'"),
    ("400 model", HttpError(400, said("nope", "model_not_found")), NoSuchModel, 1, "'m'"),
    ("404 page", HttpError(404, "<html>not here</html>"), RejectedRequest, 1, "address"),
    ("301", HttpError(301, ""), RejectedRequest, 1, "address"),
    ("400", HttpError(400, said("context length exceeded")), RejectedRequest, 1, "context length exceeded"),
    ("400 leaking", HttpError(400, said(f"bad header {SECRET}")), RejectedRequest, 1, "[key]"),
    ("422 detail", HttpError(422, {"detail": [{"loc": "x"}]}), RejectedRequest, 1, "loc"),
    ("429", HttpError(429, said("slow down")), RateLimited, 4, "slow down. Try"),
    ("429 in a sentence", HttpError(429, said("Slow down!")), RateLimited, 4, "Slow down! Try"),
    ("429 no credit", HttpError(429, said("pay", "insufficient_quota")), RateLimited, 1, "no credit"),
    ("500", HttpError(500), Overloaded, 4, "500"),
    ("503 text", HttpError(503, "busy"), Overloaded, 4, "busy"),
    ("529", HttpError(529), Overloaded, 4, "529"),
    ("broken off at once", BreakOff(), BrokenStream, 4, "closed the connection"),
    ("broken off in the middle", BreakOff("some text"), BrokenStream, 1, "closed the connection"),
    ("hanging before the headers", Hang(headers=False), BrokenStream, 1, "hung"),
    ("hanging after the headers", Hang(), BrokenStream, 1, "hung"),
    ("hanging in the middle", Hang("some text"), BrokenStream, 1, "hung"),
    ("empty body", Garbage(b""), BrokenStream, 1, "without finishing"),
    ("a web page", Garbage(b"<html>hi</html>", "text/html"), BrokenStream, 1, "address"),
    ("bytes", Garbage(bytes(range(256)) * 4), BrokenStream, 1, "acme"),
    ("half an event", Garbage(b'data: {"choices": [\n\n'), BrokenStream, 1, "not JSON"),
    ("half a document", Garbage(b'{"choices": [', "application/json"), BrokenStream, 1, "not JSON"),
    ("a document without an answer", Garbage(b'{"ok": true}', "application/json"), BrokenStream, 1, "finishing"),
    ("not an object", Garbage(b"data: [1]\n\n"), BrokenStream, 1, "not JSON"),
    ("deep nesting", Garbage(b"data: " + b"[" * 100_000 + b"\n\n"), BrokenStream, 1, "not JSON"),
    ("no end", Garbage(ONE), BrokenStream, 1, "without finishing"),
    ("a huge line", Garbage(b"data: " + b"x" * 9_000_000), BrokenStream, 1, "more than"),
    ("an error in the stream", Garbage(ONE + b'data: {"error": {"message": "boom"}}\n\n'), BrokenStream, 1, "boom"),
]


@pytest.mark.parametrize(
    ("answer", "fault", "tries", "words"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS]
)
async def test_each_failure_has_its_fault_and_never_shows_the_key(
    pool: HttpPool, caplog: pytest.LogCaptureFixture, answer: Answer, fault: type[ProviderFault], tries: int, words: str
):
    caplog.set_level(logging.DEBUG)
    naps = Naps()
    async with ScriptedModel([answer] * tries + ["too late"]) as model:
        provider = client(model.base_url, pool, naps=naps, timeouts=BRIEF if isinstance(answer, Hang) else None)
        with pytest.raises(fault) as caught:
            await all_of(provider.answer(asking()))
    assert words in caught.value.message and "acme" in caught.value.message
    assert (len(model.requests), len(naps.taken)) == (tries, tries - 1)
    assert provider.last_fault is caught.value
    shown = f"{caught.value!r} {caught.value.__cause__!r} {provider!r} {vars(provider)!r} {caplog.text}"
    assert SECRET not in shown


@pytest.mark.parametrize("first", [HttpError(429), HttpError(503), BreakOff()])
async def test_a_passing_failure_is_tried_again_and_forgotten(pool: HttpPool, first: Answer):
    async with ScriptedModel([first, first, "at last"]) as model:
        provider = client(model.base_url, pool)
        assert text_of(await all_of(provider.answer(asking()))) == "at last"
    assert provider.last_fault is None and len(model.requests) == 3


async def test_no_server_at_all_is_unreachable_after_four_tries(pool: HttpPool):
    naps = Naps()
    with held_port() as port, pytest.raises(Unreachable, match="cannot be reached"):
        await all_of(client(f"http://127.0.0.1:{port}/v1", pool, naps=naps).answer(asking()))
    assert naps.taken == [0.5, 1.0, 2.0]


async def test_the_server_says_how_long_to_wait(pool: HttpPool):
    naps = Naps()
    async with ScriptedModel([HttpError(429, retry_after=7), "ok"]) as model:
        await all_of(client(model.base_url, pool, naps=naps).answer(asking()))
    assert naps.taken == [7.0]


async def test_each_wait_is_announced_before_it_begins(pool: HttpPool):
    naps, announced = Naps(), []
    async with ScriptedModel([HttpError(429, retry_after=7), BreakOff(), "ok"]) as model:
        async for chunk in client(model.base_url, pool, naps=naps).answer(asking()):
            announced.append((chunk, len(naps.taken)))
    assert announced[:3] == [
        (RetryChunk(7.0, 2, 4, "provider_rate_limited", 429), 0),
        (RetryChunk(1.0, 3, 4, "provider_broke_off"), 1),
        (TextChunk("ok"), 2),
    ]


async def test_a_server_that_asks_for_too_long_a_wait_is_not_asked_again(pool: HttpPool):
    naps = Naps()
    async with ScriptedModel([HttpError(429, said("come back tomorrow"), retry_after=86_400)]) as model:
        with pytest.raises(RateLimited, match="come back tomorrow"):
            await all_of(client(model.base_url, pool, naps=naps).answer(asking()))
    assert naps.taken == []


async def test_silence_after_the_finish_reason_does_not_spoil_the_answer(pool: HttpPool):
    async with ScriptedModel([Hang("fine", finish="stop")]) as model:
        chunks = await all_of(client(model.base_url, pool, timeouts=Timeouts(tail=0.2)).answer(asking()))
    assert (text_of(chunks), chunks[-1]) == ("fine", ReplyFinished("stop"))


async def test_comments_keep_a_slow_answer_alive(pool: HttpPool):
    body = b": working\n\n" * 50 + ONE + b": still\n\ndata: [DONE]\n\n"
    async with ScriptedModel([Garbage(body)]) as model:
        assert text_of(await all_of(client(model.base_url, pool).answer(asking()))) == "one"


@pytest.mark.parametrize("key", ["has\nnewline", "höflich", "two words"])
async def test_a_key_that_is_none_is_named_but_not_shown(pool: HttpPool, key: str):
    async with ScriptedModel([Reply("never")]) as model:
        with pytest.raises(BadKey, match="ACME_KEY") as caught:
            await all_of(client(model.base_url, pool, key=key).answer(asking()))
    assert key not in str(caught.value) and model.requests == []


def test_an_upstream_printed_shows_no_key():
    upstream = Upstream("acme", "http://x/v1", "ACME_KEY", key=lambda: SECRET)
    assert SECRET not in repr(upstream) and SECRET not in upstream.quoted(f"you sent {SECRET}!")


def test_upstream_words_are_bounded():
    assert len(Upstream("acme", "http://x/v1").fault(400, b"x" * 100_000, model="m").message) < 700


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "2.5"}, 2.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After-Ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, 0.0),
        ({"Retry-After": f"Sun, {10**20} Nov 2026 10:00:30 GMT", "Date": "Sun, 15 Nov 2026 10:00:00 GMT"}, None),
        ({"Retry-After": f"Sun, 15 Nov 2026 {10**10}:00:30 GMT", "Date": "Sun, 15 Nov 2026 10:00:00 GMT"}, None),
        ({"Retry-After": "Sun, 15 Nov 2026 10:00:30 GMT", "Date": "Sun, 15 Nov 2026 10:00:00 GMT"}, 30.0),
        ({"Retry-After": "Sun, 15 Nov 2026 10:00:30 GMT"}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None):
    assert retry_after(headers) == seconds


def test_waits_double_up_to_the_cap_and_dice_take_off_at_most_half():
    patient = Backoff(tries=10, first=1.0, cap=8.0, dice=lambda: 1.0)
    lucky = Backoff(tries=10, first=1.0, cap=8.0, dice=lambda: 0.0)
    assert [patient.wait(n, None) for n in range(1, 6)] == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert [lucky.wait(n, None) for n in range(1, 4)] == [0.5, 1.0, 2.0]
    assert patient.wait(10, None) is None
