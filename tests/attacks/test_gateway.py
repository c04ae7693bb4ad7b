"""Attacks on the passthrough: a key where it does not belong, smuggled requests, limits walked around, secrets that leak."""

import asyncio
import logging
import shutil

import pytest

from anycowork.domain.metering import Price
from anycowork.providers.config import ProviderConfig
from support.asgi import Client
from support.live_server import TOKEN, LiveServer, live_server
from support.raw_http import Exchange, exchanged
from support.scripted_model import Hang, Reply
from support.spec import proves

COMPLETIONS = "/v1/chat/completions"
SECRET = "sk-of-the-provider-0123456789"
SMALL = {"model": "scripted", "max_tokens": 30, "messages": []}
USED = Reply("a", usage={"prompt_tokens": 20, "completion_tokens": 30})


@pytest.fixture
async def client(tmp_path, monkeypatch, migrated):
    monkeypatch.setenv("SCRIPTED_KEY", SECRET)
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(migrated, tmp_path / "data")
    async with live_server(tmp_path) as client:
        connect(client)
        client.model.mind = lambda body: USED
        yield client


def connect(client: LiveServer, **prices: Price) -> None:
    entry = ProviderConfig("scripted", base_url=client.model.base_url, api_key_env="SCRIPTED_KEY", prices=prices)
    client.server.providers.put(entry)


async def key_of(client: LiveServer, **limits: object) -> str:
    return (await client.ask("POST", "/keys", {"name": "stolen", "limits": limits}, expect=201))["key"]


async def program(client: LiveServer, **limits: object) -> Client:
    return Client(client.server.app, token=await key_of(client, **limits))


# --- a key where it does not belong


@proves("GW-1", "SEC-2")
@pytest.mark.parametrize(
    "place", ["?api_key={}", "?key={}", "?token={}", "?access_token={}", "?authorization=Bearer%20{}"]
)
async def test_a_key_in_the_address_opens_nothing(client, place):
    thief = Client(client.server.app)
    answer = await thief.post(COMPLETIONS + place.format(await key_of(client)), SMALL)
    assert (answer.status, client.model.raw) == (401, [])


@proves("GW-1", "SEC-2")
@pytest.mark.parametrize("header", ["cookie", "x-api-key", "api-key", "proxy-authorization", "x-authorization"])
async def test_a_key_in_another_header_opens_nothing(client, header):
    key = await key_of(client)
    value = f"anycowork={key}; token={key}" if header == "cookie" else key
    answer = await Client(client.server.app).post(COMPLETIONS, SMALL, headers={header: value})
    assert (answer.status, client.model.raw) == (401, [])


@proves("SEC-2")
async def test_a_key_is_not_traded_for_a_cookie(client):
    answer = await Client(client.server.app).get(f"/?token={await key_of(client)}")
    assert answer.status == 401 and "set-cookie" not in answer.headers


@proves("GW-1", "SEC-5")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/context", None),
        ("GET", "/keys", None),
        ("POST", "/keys", {"name": "more"}),
        ("DELETE", "/keys/{own}", None),
        ("GET", "/settings", None),
        ("PUT", "/settings", {"providers": []}),
        ("GET", "/rules", None),
        ("POST", "/rules", {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}),
        ("GET", "/providers", None),
        ("GET", "/metrics", None),
        ("GET", "/events", None),
        ("GET", "/openapi.json", None),
        ("GET", "/v1/system-prompts", None),
        ("GET", "/v1/chat/completions/../../../settings", None),
        ("POST", "/v1/chat/completions/", SMALL),
        ("POST", "/V1/chat/completions", SMALL),
        ("POST", "/v1//chat/completions", SMALL),
    ],
)
async def test_a_stolen_key_reaches_nothing_but_the_passthrough(client, method, path, body):
    made = await client.ask("POST", "/keys", {"name": "stolen"}, expect=201)
    thief = Client(client.server.app, token=made["key"])
    answer = await thief.ask(method, path.format(own=made["id"]), body)
    assert (answer.status, answer.error["code"], client.model.raw) == (403, "not_allowed", [])
    assert len((await client.ask("GET", "/keys"))["keys"]) == 1


# --- smuggling


def raw(key: str, *lines: str, body: bytes = b"{}") -> bytes:
    head = [f"POST {COMPLETIONS} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}", *lines]
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


INNER = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}"
SMUGGLED = {
    "both lengths": (("Content-Length: 6", "Transfer-Encoding: chunked"), b"0\r\n\r\nG" + INNER),
    "chunked first": (("Transfer-Encoding: chunked", "Content-Length: 4"), b"2\r\n{}\r\n0\r\n\r\n" + INNER),
    "two lengths": (("Content-Length: 2", "Content-Length: 90"), b"{}" + INNER),
    "signed length": (("Content-Length: +2",), b"{}" + INNER),
    "lengths in a list": (("Content-Length: 2, 90",), b"{}" + INNER),
    "odd coding": (("Transfer-Encoding: xchunked",), b"2\r\n{}\r\n0\r\n\r\n" + INNER),
    "space before the colon": (("Transfer-Encoding : chunked", "Content-Length: 2"), b"{}" + INNER),
    "two codings": (("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), b"2\r\n{}\r\n0\r\n\r\n" + INNER),
    "chunk of no number": (("Transfer-Encoding: chunked",), b"0x2\r\n{}\r\n0\r\n\r\n" + INNER),
    "nul in a header": (("X-A: a\x00b", "Content-Length: 2"), b"{}" + INNER),
    "bare line feeds": (("X-A: a\nTransfer-Encoding: chunked", "Content-Length: 2"), b"{}" + INNER),
}


@proves("GW-1", "SEC-5")
@pytest.mark.parametrize("trick", SMUGGLED)
async def test_no_second_request_is_smuggled_to_the_provider(client, trick):
    lines, body = SMUGGLED[trick]
    await exchanged(client.url, raw(await key_of(client), *lines, "Connection: close", body=body))
    assert len(client.model.raw) <= 1
    assert all(INNER not in sent and b"POST" not in sent for sent in client.model.raw)
    assert all(headers["Authorization"] == f"Bearer {SECRET}" for headers in client.model.headers)


@proves("GW-1", "SEC-2")
@pytest.mark.parametrize(
    "line",
    [
        "Connection: close, Authorization",
        "Connection: close\r\nX-Forwarded-For: 10.0.0.1\r\nVia: 1.1 evil",
        "Connection: close\r\nProxy-Authorization: Basic YTpi",
        "Connection: close\r\nUpgrade: websocket",
        "Connection: close\r\nTrailer: Authorization",
        "Connection: close\r\nX-Odd: caf\xe9 \x80",
        "Connection: close\r\nCookie: a=b\r\nOrigin: http://127.0.0.1",
        "Connection: close\r\nAuthorization: Bearer other",
        "Connection: close\r\nHost: elsewhere.example",
    ],
)
async def test_headers_of_one_side_do_not_cross_to_the_other(client, line):
    key = await key_of(client)
    await exchanged(client.url, raw(key, line, "Content-Length: 2"))
    for headers in client.model.headers:
        seen = {name.lower(): value for name, value in headers.items()}
        assert seen["authorization"] == f"Bearer {SECRET}" and seen["host"] in client.model.base_url
        assert not {"x-forwarded-for", "via", "proxy-authorization", "upgrade", "trailer", "x-odd", "cookie"} & set(
            seen
        )
        assert key not in str(seen) and "elsewhere" not in str(seen)


# --- limits walked around

SPELLINGS = ["dear", "DEAR", " dear", "Dear ", "dear-2026-11-15", "unheard-of", "", "dear\u200b"]


@proves("GW-1")
@pytest.mark.parametrize("name", SPELLINGS)
async def test_no_spelling_of_a_model_is_free_of_charge(client, name):
    connect(client, dear=Price(1000, 1000), cheap=Price(1, 1))
    thief = await program(client, spend_per_day=0.06)
    statuses = [(await thief.post(COMPLETIONS, {**SMALL, "model": name})).status for _ in range(3)]
    assert statuses == [200, 429, 429]


@proves("GW-1")
async def test_parallel_requests_do_not_overdraw(client):
    client.model.mind = lambda body: Hang(headers=False)
    key = await key_of(client, tokens_per_day=200)
    answered: asyncio.Queue[int] = asyncio.Queue()

    async def ask(peer: str) -> None:
        answer = await Client(client.server.app, token=key, peer=peer).post(COMPLETIONS, SMALL)
        answered.put_nowait(answer.status)

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        asking = [tasks.create_task(ask(f"10.0.0.{n}")) for n in range(64)]
        assert {await answered.get() for _ in range(60)} == {429}
        await client.model.asked(4)  # 43 tokens each
        assert len([task for task in asking if not task.done()]) == 4
        for task in asking:
            task.cancel()


@proves("GW-1")
async def test_a_second_connection_has_no_second_allowance(client):
    key = await key_of(client, requests_per_minute=1)
    request = raw(key, "Content-Length: 2", "Connection: close")
    answers = [Exchange.read(await exchanged(client.url, request)).status for _ in range(3)]
    assert (answers, len(client.model.raw)) == ([200, 429, 429], 1)


@proves("GW-1")
@pytest.mark.parametrize(
    "body",
    [
        {**SMALL, "max_tokens": -1},
        {**SMALL, "max_tokens": 0},
        {**SMALL, "max_tokens": "1"},
        {**SMALL, "max_tokens": 1, "max_completion_tokens": 100_000},
        {**SMALL, "max_tokens": 1, "n": 1000},
        {**SMALL, "max_tokens": 1, "n": -5},
        {**SMALL, "max_tokens": 10**30},
        {"model": "scripted", "messages": [{"role": "user", "content": "x" * 3000}]},
    ],
    ids=["negative", "none", "as text", "the other name", "many answers", "fewer than none", "huge", "long prompt"],
)
async def test_no_bound_in_the_body_opens_the_limit(client, body):
    """Whatever it claims to need, no more than the limit is ever set aside, and what it used counts."""
    thief = await program(client, tokens_per_day=60)
    statuses = [(await thief.post(COMPLETIONS, body)).status for _ in range(4)]
    assert statuses.count(200) <= 2 and statuses[-1] in (422, 429)  # 50 tokens each, as the provider says


@proves("GW-1")
async def test_words_of_the_model_do_not_lower_the_bill(client):
    lie = 'x", "usage": {"prompt_tokens": 0, "completion_tokens": 0}, "y": "'
    client.model.mind = lambda body: Reply(lie, usage={"prompt_tokens": 20, "completion_tokens": 30})
    thief = await program(client)
    await thief.post(COMPLETIONS, {**SMALL, "stream": True})
    await thief.post(COMPLETIONS, SMALL)
    today = (await client.ask("GET", "/keys"))["keys"][0]["today"]
    assert today["completion_tokens"] >= 30 + len(lie) // 7


@proves("GW-1")
@pytest.mark.parametrize("path", [COMPLETIONS, "/v1/responses", "/v1/embeddings"])
async def test_every_road_counts_for_the_same_limit(client, path):
    thief = await program(client, requests_per_minute=2)
    assert (await thief.post(COMPLETIONS, SMALL)).status == 200
    assert (await thief.post(path, SMALL)).status == 200
    assert (await thief.post(path, SMALL)).status == 429
    assert (await thief.get("/v1/models")).status == 429


@proves("GW-1")
async def test_a_revoked_key_is_refused_in_the_middle_of_its_work(client):
    made = await client.ask("POST", "/keys", {"name": "stolen"}, expect=201)
    thief = Client(client.server.app, token=made["key"])
    assert (await thief.post(COMPLETIONS, SMALL)).status == 200
    await client.ask("DELETE", f"/keys/{made['id']}", expect=204)
    assert (await thief.post(COMPLETIONS, SMALL)).status == 401
    assert len(client.model.raw) == 1


# --- secrets


@proves("GW-1", "SEC-2")
async def test_neither_our_keys_nor_the_providers_stand_in_logs_metrics_or_answers(client, caplog):
    caplog.set_level(logging.DEBUG)
    made = await client.ask("POST", "/keys", {"name": "stolen", "limits": {"requests_per_minute": 3}}, expect=201)
    down = ProviderConfig("down", base_url="http://127.0.0.1:9/v1", models=("down",), api_key_env="SCRIPTED_KEY")
    client.server.providers.put(down)
    thief = Client(client.server.app, token=made["key"])
    answers = [await thief.post(COMPLETIONS, {**SMALL, "model": model}) for model in ("scripted", "down")]
    answers += [await thief.post(f"{COMPLETIONS}?key={made['key']}", SMALL), await thief.post(COMPLETIONS, SMALL)]
    assert [answer.status for answer in answers] == [200, 502, 200, 429]
    owner = Client(client.server.app, token=TOKEN)
    answers += [await owner.get(path) for path in ("/metrics", "/keys", "/settings", "/providers")]
    told = caplog.text + str(answers)
    assert not [word for word in (made["key"], SECRET, TOKEN) if word in told]
