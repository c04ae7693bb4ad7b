"""A key with a limit of dollars against a provider that bills as dearly as it may: what is charged holds what is billed."""

import asyncio
import json
import random
import shutil
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from anycowork.domain.metering import Price
from anycowork.providers.config import ProviderConfig
from support.asgi import Client
from support.billing_model import INPUT, OUTPUT, TOLD_ONLY_HERE, BillingModel, Tells
from support.live_server import LiveServer, live_server
from support.scripted_model import Hang
from support.spec import proves

CHAT, RESPONSES, EMBEDDINGS = "/v1/chat/completions", "/v1/responses", "/v1/embeddings"
LIMIT = 5.0
FACTOR = 4  # as docs/gateway.md says: of lower-case letters that a provider counts byte by byte and never tells of
HI = [{"role": "user", "content": "hi"}]


@pytest.fixture
async def client(tmp_path, migrated):
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(migrated, tmp_path / "data")
    async with live_server(tmp_path) as client:
        yield client


async def program(client: LiveServer, model: BillingModel, **limits: Any) -> Client:
    prices = {"dear": Price(INPUT, OUTPUT)}
    client.server.providers.put(ProviderConfig("scripted", base_url=model.base_url, models=("dear",), prices=prices))
    made = await client.ask("POST", "/keys", {"name": "limited", "limits": limits}, expect=201)
    return Client(client.server.app, token=made["key"])


async def spend(client: LiveServer) -> float:
    return (await client.ask("GET", "/keys"))["keys"][0]["today"]["spend"]


def image(detail: str | None) -> dict[str, Any]:
    shown = {"url": "https://example.com/a.png", **({"detail": detail} if detail else {})}
    return {"role": "user", "content": [{"type": "image_url", "image_url": shown}]}


def responses(**more: Any) -> tuple[str, dict[str, Any]]:
    return RESPONSES, {"model": "dear", "input": "hi", **more}


def chat(**more: Any) -> tuple[str, dict[str, Any]]:
    return CHAT, {"model": "dear", "messages": HI, **more}


SHAPES: list[tuple[str, dict[str, Any]]] = [
    chat(),
    chat(stream=True),
    chat(max_tokens=100),
    chat(max_completion_tokens=100, stream=True),
    chat(max_tokens=50, n=3),
    chat(max_tokens=100, messages=[image(None)]),
    chat(max_tokens=100, messages=[image("low"), image("high")], stream=True),
    chat(max_tokens=100, reasoning={"max_tokens": 20_000}),
    chat(max_tokens=100, thinking={"type": "enabled", "budget_tokens": 20_000}, stream=True),
    chat(messages=[{"role": "user", "content": "long " * 2000}], max_tokens=10),
    responses(),
    responses(stream=True),
    responses(max_output_tokens=200, input=[{"role": "user", "content": [{"type": "input_image", "image_url": "https://a.b/c"}]}]),
    (EMBEDDINGS, {"model": "dear", "input": ["some text"] * 20}),
    (EMBEDDINGS, {"model": "dear", "input": [[1, 2, 3] * 2000]}),
]  # fmt: skip

UNBOUNDED: list[tuple[str, dict[str, Any], str]] = [
    (*responses(previous_response_id="resp_1"), "previous_response_id"),
    (*responses(conversation="conv_1"), "conversation"),
    (*responses(prompt={"id": "pmpt_1"}), "prompt"),
    (*responses(background=True), "background"),
    (*responses(tools=[{"type": "web_search"}]), "tools"),
    (*responses(tools=[{"type": "file_search", "vector_store_ids": ["v"]}]), "tools"),
    (*responses(tools=[{"type": "code_interpreter", "container": {"type": "auto"}}]), "tools"),
    (*responses(tools=[{"type": "mcp", "server_url": "https://a.b"}]), "tools"),
    (*responses(input=[{"type": "item_reference", "id": "msg_1"}]), "input"),
    (*responses(input=[{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]), "input"),
    (*chat(messages=[{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}]), "messages"),
    (*chat(messages=[{"role": "assistant", "audio": {"id": "a"}}]), "messages"),
    (*chat(messages=[{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]), "messages"),
    (*chat(messages=[{"role": "user", "content": [{"type": "video_url", "video_url": {}}]}]), "messages"),
    (*chat(modalities=["text", "audio"]), "modalities"),
    (*chat(web_search_options={}), "web_search_options"),
    (*chat(plugins=[{"id": "web"}]), "plugins"),
    (*chat(models=["dear", "dearer"]), "models"),
    (*chat(search_parameters={"mode": "on"}), "search_parameters"),
    (*chat(something_new=1), "something_new"),
    (*chat(service_tier="priority"), "service_tier"),
    (*chat(n=100_000), "n"),
    (*chat(max_tokens=1.5), "max_tokens"),
]


@proves("GW-1")
@pytest.mark.parametrize(
    ("path", "body", "param"), UNBOUNDED, ids=[f"{case[2]}{at}" for at, case in enumerate(UNBOUNDED)]
)
async def test_what_cannot_be_bounded_is_refused_with_a_reason(client, path, body, param):
    async with BillingModel() as model:
        app = await program(client, model, spend_per_day=0.5)
        refused = await app.post(path, body)
        assert (refused.status, refused.error["code"], refused.error["param"]) == (422, "cannot_be_limited", param)
        assert model.billed == 0 == await spend(client)
        free = await program(client, model)
        assert (await free.post(path, body)).status == 200  # a key without a limit is not asked


@proves("GW-1")
@pytest.mark.parametrize(
    "raw",
    [
        b'{"model":"dear","max_tokens":1,"max_tokens":90000,"messages":[]}',
        b'{"model":"dear","max_tokens":1,"max_token\\u0073":90000,"messages":[]}',
        b'{"model":"dear","max_tokens":1,"MAX_TOKENS":90000,"messages":[]}',
        b'{"model":"dear","Max_Tokens":90000,"messages":[]}',
        b'{"model":"cheap","\\u006dodel":"dear","messages":[]}',
        b'{"model":"dear","max_tokens":5,"messages":[{"role":"user","content":"a","Content":[{"type":"input_file"}]}]}',
        b'{"model":"dear","max_tokens":1e999,"messages":[]}',
        b'{"model":"dear","temperature":NaN,"messages":[]}',
        b'\xef\xbb\xbf{"model":"dear","messages":[]}',
        '{"model":"dear","messages":[]}'.encode("utf-16"),
        b"[]",
        b'{"model":"dear","messages":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"model":"dear","messages":' + b'[{"content":' * 100 + b"1" + b"}]" * 100 + b"}",
    ],
)  # fmt: skip
async def test_a_body_that_two_readers_read_differently_is_refused(client, raw):
    async with BillingModel() as model:
        app = await program(client, model, tokens_per_day=10_000)
        refused = await app.post(CHAT, raw=raw, headers={"content-type": "application/json"})
        assert (refused.status, refused.error["code"], model.bills) == (422, "cannot_be_limited", [])


def shapes(seed: int, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    chance = random.Random(seed)
    for _ in range(count):
        path, body = chance.choice([*SHAPES, *((path, body) for path, body, _ in UNBOUNDED)])
        body = dict(body)
        if path != EMBEDDINGS and chance.random() < 0.3:
            body["stream"] = chance.random() < 0.7
        if path == CHAT and chance.random() < 0.2:
            body[chance.choice(["max_tokens", "max_completion_tokens"])] = chance.choice([1, 500, 4000])
        if path == CHAT and chance.random() < 0.2:
            body["n"] = chance.choice([1, 2, 4])
        if chance.random() < 0.1:
            body["user"] = "ü" * chance.randrange(5000)
        yield path, body


@proves("GW-1")
@pytest.mark.parametrize("heeds", [("max_tokens",), ("max_tokens", "max_completion_tokens")], ids="-".join)
@pytest.mark.parametrize(
    ("tells", "bytes_per_token"), [(Tells.ASKED, 4), (Tells.ASKED, 1), (Tells.NEVER, 4), (Tells.NEVER, 1)]
)
async def test_whatever_is_asked_the_charge_holds_the_bill_and_the_bill_the_limit(
    client, tells, bytes_per_token, heeds
):
    async with BillingModel(tells=tells, bytes_per_token=bytes_per_token, heeds=heeds) as model:
        app = await program(client, model, spend_per_day=LIMIT)
        answered = [(await app.post(path, body)).status for path, body in shapes(seed=11, count=150)]
        charged = await spend(client)
    assert answered.count(200) >= 5 and 429 in answered and set(answered) <= {200, 422, 429}
    factor = 1 if tells is Tells.ASKED or bytes_per_token == 4 else FACTOR
    assert model.billed <= charged * factor * (1 + 1e-9)
    assert model.billed <= LIMIT * FACTOR


@proves("GW-1")
@pytest.mark.parametrize("text", ["中文字符", "0123456789", "A1B2C3", "{[(<!?>)]}", "ខ្មែរ", "🧶", "QXZJ"])
async def test_dense_text_is_charged_as_a_provider_that_counts_bytes_bills_it(client, text):
    async with BillingModel(tells=Tells.NEVER, bytes_per_token=1) as model:
        app = await program(client, model, spend_per_day=LIMIT)
        body = chat(messages=[{"role": "user", "content": text * (20_000 // len(text.encode()))}], max_tokens=1)[1]
        answer = await app.post(CHAT, raw=json.dumps(body, ensure_ascii=False).encode())
        assert answer.status == 200
        frame = len(json.dumps(chat(max_tokens=1)[1]))  # names of fields, which count as words
        assert model.billed <= await spend(client) + 2 * frame * INPUT / 1_000_000


@proves("GW-1")
async def test_an_image_is_not_charged_as_text(client):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A9+/" * 10_000, "detail": "low"}}
    async with BillingModel() as model:
        app = await program(client, model, tokens_per_day=15_000)
        assert (await app.post(*chat(max_tokens=1, messages=[{"role": "user", "content": [image]}]))).status == 200


@proves("GW-1")
async def test_a_stream_is_counted_though_its_client_did_not_ask_and_it_sees_nothing_of_it(client):
    async with BillingModel() as model:
        app = await program(client, model, spend_per_day=LIMIT)
        unasked = await app.post(*chat(stream=True, max_tokens=100))
        assert await spend(client) == pytest.approx(model.billed)
        asked = await app.post(*chat(stream=True, max_tokens=100, stream_options={"include_usage": True}))
        assert await spend(client) == pytest.approx(model.billed)
    assert TOLD_ONLY_HERE.encode() in unasked.body and unasked.body.endswith(b"data: [DONE]\n\n")
    assert b"completion_tokens" not in unasked.body and b"completion_tokens" in asked.body
    assert len(unasked.body.split(b"\n\n")) == len(asked.body.split(b"\n\n")) - 1


@proves("GW-1")
async def test_a_stream_that_its_client_leaves_is_charged_in_full(client):
    client.model.replies.append(Hang("Good d"))
    key = (await client.ask("POST", "/keys", {"name": "limited", "limits": {"tokens_per_day": 9000}}, expect=201))[
        "key"
    ]
    body = {"model": "scripted", "messages": HI, "stream": True, "max_tokens": 500}
    async with asyncio.timeout(60), aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
        async with session.post(client.url + CHAT, json=body) as response:
            await response.content.readany()
        await client.model.deserted()
    today = (await client.ask("GET", "/keys"))["keys"][0]["today"]
    assert (today["completion_tokens"], today["estimated"]) == (500, 1.0)


@proves("GW-1", "SEC-2")
async def test_no_header_or_query_of_a_limited_key_chooses_who_pays(client):
    sent = {
        "openai-organization": "org-of-others",
        "openai-project": "proj-of-others",
        "anthropic-beta": "context-1m",
        "x-portkey-config": "{}",
        "helicone-fallbacks": "[]",
        "x-model": "dearer",
        "user-agent": "editor/1",
    }
    async with BillingModel() as model:
        app = await program(client, model, spend_per_day=LIMIT)
        assert (await app.post(f"{CHAT}?model=dearer", chat(max_tokens=10)[1], headers=sent)).status == 200
        free = await program(client, model)
        assert (await free.post(*chat(max_tokens=10), headers=sent)).status == 200
    limited, unlimited = ({name.lower() for name in headers} for headers in model.headers)
    assert not limited & (set(sent) - {"user-agent"}) and "user-agent" in limited
    assert not unlimited & {"openai-organization", "openai-project"} and "x-model" in unlimited


@proves("GW-1")
async def test_a_request_without_a_bound_gets_what_the_limit_leaves(client):
    async with BillingModel() as model:
        app = await program(client, model, tokens_per_day=1000)
        assert (await app.post(*chat())).status == 200
        assert model.bills[0][1] < 1000
        body = json.dumps(chat()[1])
        assert (await app.post(CHAT, raw=body.encode())).status == 429
