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
async def guest(tmp_path, monkeypatch, migrated):
    monkeypatch.setenv("SCRIPTED_KEY", SECRET)
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(migrated, tmp_path / "data")
    async with live_server(tmp_path) as guest:
        connect(guest)
        guest.model.mind = lambda body: USED
        yield guest


def connect(guest: LiveServer, **prices: Price) -> None:
    entry = ProviderConfig("scripted", base_url=guest.model.base_url, api_key_env="SCRIPTED_KEY", prices=prices)
    guest.house.providers.put(entry)


async def key_of(guest: LiveServer, **limits: object) -> str:
    return (await guest.ask("POST", "/keys", {"name": "stolen", "limits": limits}, expect=201))["key"]


async def program(guest: LiveServer, **limits: object) -> Client:
    return Client(guest.house.app, token=await key_of(guest, **limits))


# --- a key where it does not belong


@proves("GW-1", "SEC-2")
@pytest.mark.parametrize(
    "place", ["?api_key={}", "?key={}", "?token={}", "?access_token={}", "?authorization=Bearer%20{}"]
)
async def test_a_key_in_the_address_opens_nothing(guest, place):
    thief = Client(guest.house.app)
    answer = await thief.post(COMPLETIONS + place.format(await key_of(guest)), SMALL)
    assert (answer.status, guest.model.raw) == (401, [])


@proves("GW-1", "SEC-2")
@pytest.mark.parametrize("header", ["cookie", "x-api-key", "api-key", "proxy-authorization", "x-authorization"])
async def test_a_key_in_another_header_opens_nothing(guest, header):
    key = await key_of(guest)
    value = f"anycowork={key}; token={key}" if header == "cookie" else key
    answer = await Client(guest.house.app).post(COMPLETIONS, SMALL, headers={header: value})
    assert (answer.status, guest.model.raw) == (401, [])


@proves("SEC-2")
async def test_a_key_is_not_traded_for_a_cookie(guest):
    answer = await Client(guest.house.app).get(f"/?token={await key_of(guest)}")
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
async def test_a_stolen_key_reaches_nothing_but_the_passthrough(guest, method, path, body):
    made = await guest.ask("POST", "/keys", {"name": "stolen"}, expect=201)
    thief = Client(guest.house.app, token=made["key"])
    answer = await thief.ask(method, path.format(own=made["id"]), body)
    assert (answer.status, answer.error["code"], guest.model.raw) == (403, "not_allowed", [])
    assert len((await guest.ask("GET", "/keys"))["keys"]) == 1


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
async def test_no_second_request_is_smuggled_to_the_provider(guest, trick):
    lines, body = SMUGGLED[trick]
    await exchanged(guest.url, raw(await key_of(guest), *lines, "Connection: close", body=body))
    assert len(guest.model.raw) <= 1
    assert all(INNER not in sent and b"POST" not in sent for sent in guest.model.raw)
    assert all(headers["Authorization"] == f"Bearer {SECRET}" for headers in guest.model.headers)


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
async def test_headers_of_one_side_do_not_cross_to_the_other(guest, line):
    key = await key_of(guest)
    await exchanged(guest.url, raw(key, line, "Content-Length: 2"))
    for headers in guest.model.headers:
        seen = {name.lower(): value for name, value in headers.items()}
        assert seen["authorization"] == f"Bearer {SECRET}" and seen["host"] in guest.model.base_url
        assert not {"x-forwarded-for", "via", "proxy-authorization", "upgrade", "trailer", "x-odd", "cookie"} & set(
            seen
        )
        assert key not in str(seen) and "elsewhere" not in str(seen)


# --- limits walked around

SPELLINGS = ["dear", "DEAR", " dear", "Dear ", "dear-2026-11-15", "unheard-of", "", "dear\u200b"]


@proves("GW-1")
@pytest.mark.parametrize("name", SPELLINGS)
async def test_no_spelling_of_a_model_is_free_of_charge(guest, name):
    connect(guest, dear=Price(1000, 1000), cheap=Price(1, 1))
    thief = await program(guest, spend_per_day=0.06)
    statuses = [(await thief.post(COMPLETIONS, {**SMALL, "model": name})).status for _ in range(3)]
    assert statuses == [200, 429, 429]


@proves("GW-1")
async def test_parallel_requests_do_not_overdraw(guest):
    guest.model.mind = lambda body: Hang(headers=False)
    key = await key_of(guest, tokens_per_day=200)
    answered: asyncio.Queue[int] = asyncio.Queue()

    async def ask(peer: str) -> None:
        answer = await Client(guest.house.app, token=key, peer=peer).post(COMPLETIONS, SMALL)
        answered.put_nowait(answer.status)

    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        asking = [tasks.create_task(ask(f"10.0.0.{n}")) for n in range(64)]
        assert {await answered.get() for _ in range(60)} == {429}
        await guest.model.asked(4)  # 43 tokens each
        assert len([task for task in asking if not task.done()]) == 4
        for task in asking:
            task.cancel()


@proves("GW-1")
async def test_a_second_connection_has_no_second_allowance(guest):
    key = await key_of(guest, requests_per_minute=1)
    request = raw(key, "Content-Length: 2", "Connection: close")
    answers = [Exchange.read(await exchanged(guest.url, request)).status for _ in range(3)]
    assert (answers, len(guest.model.raw)) == ([200, 429, 429], 1)


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
async def test_no_bound_in_the_body_opens_the_limit(guest, body):
    """Whatever it claims to need, no more than the limit is ever set aside, and what it used counts."""
    thief = await program(guest, tokens_per_day=60)
    statuses = [(await thief.post(COMPLETIONS, body)).status for _ in range(4)]
    assert statuses.count(200) <= 2 and statuses[-1] in (422, 429)  # 50 tokens each, as the provider says


@proves("GW-1")
async def test_words_of_the_model_do_not_lower_the_bill(guest):
    lie = 'x", "usage": {"prompt_tokens": 0, "completion_tokens": 0}, "y": "'
    guest.model.mind = lambda body: Reply(lie, usage={"prompt_tokens": 20, "completion_tokens": 30})
    thief = await program(guest)
    await thief.post(COMPLETIONS, {**SMALL, "stream": True})
    await thief.post(COMPLETIONS, SMALL)
    today = (await guest.ask("GET", "/keys"))["keys"][0]["today"]
    assert today["completion_tokens"] >= 30 + len(lie) // 7


@proves("GW-1")
@pytest.mark.parametrize("path", [COMPLETIONS, "/v1/responses", "/v1/embeddings"])
async def test_every_road_counts_for_the_same_limit(guest, path):
    thief = await program(guest, requests_per_minute=2)
    assert (await thief.post(COMPLETIONS, SMALL)).status == 200
    assert (await thief.post(path, SMALL)).status == 200
    assert (await thief.post(path, SMALL)).status == 429
    assert (await thief.get("/v1/models")).status == 429


@proves("GW-1")
async def test_a_revoked_key_is_refused_in_the_middle_of_its_work(guest):
    made = await guest.ask("POST", "/keys", {"name": "stolen"}, expect=201)
    thief = Client(guest.house.app, token=made["key"])
    assert (await thief.post(COMPLETIONS, SMALL)).status == 200
    await guest.ask("DELETE", f"/keys/{made['id']}", expect=204)
    assert (await thief.post(COMPLETIONS, SMALL)).status == 401
    assert len(guest.model.raw) == 1


# --- secrets


@proves("GW-1", "SEC-2")
async def test_neither_our_keys_nor_the_providers_stand_in_logs_metrics_or_answers(guest, caplog):
    caplog.set_level(logging.DEBUG)
    made = await guest.ask("POST", "/keys", {"name": "stolen", "limits": {"requests_per_minute": 3}}, expect=201)
    down = ProviderConfig("down", base_url="http://127.0.0.1:9/v1", models=("down",), api_key_env="SCRIPTED_KEY")
    guest.house.providers.put(down)
    thief = Client(guest.house.app, token=made["key"])
    answers = [await thief.post(COMPLETIONS, {**SMALL, "model": model}) for model in ("scripted", "down")]
    answers += [await thief.post(f"{COMPLETIONS}?key={made['key']}", SMALL), await thief.post(COMPLETIONS, SMALL)]
    assert [answer.status for answer in answers] == [200, 502, 200, 429]
    owner = Client(guest.house.app, token=TOKEN)
    answers += [await owner.get(path) for path in ("/metrics", "/keys", "/settings", "/providers")]
    told = caplog.text + str(answers)
    assert not [word for word in (made["key"], SECRET, TOKEN) if word in told]
