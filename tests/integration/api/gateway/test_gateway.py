"""The passthrough over real sockets: a program, the whole server, and one or two providers behind it."""

import asyncio
import gzip
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from io import BytesIO

import aiohttp
import aiohttp.web
import pytest

from anycowork.api.application import create_api
from anycowork.providers.config import ProviderConfig
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.passthrough import Passthrough
from support.asgi import Client
from support.live_server import TOKEN, LiveServer, live_server
from support.ports import held_port
from support.scripted_model import BreakOff, Garbage, Hang, HttpError, Reply, ScriptedModel
from support.spec import proves

COMPLETIONS = "/v1/chat/completions"
PATHS = (COMPLETIONS, "/v1/responses", "/v1/embeddings")
SECRET = "sk-of-the-provider"
HELLO = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}
BODIES = {
    "unknown fields": b'{"model":"scripted","messages":[],"reasoning_effort":"low","x_new":{"a":[1,2.50,1e3]}}',
    "odd whitespace": b'\n { "messages" :\t[ ] ,\r\n  "model"  : "scripted" }  \n',
    "unicode": '{"model":"scripted","messages":[{"role":"user","content":"Grüße 👋 \\u00e9 \\ud83d\\udc4b"}]}'.encode(),
    "developer role": b'{"model":"scripted","messages":[{"role":"developer","content":"Be brief."}]}',
    "part list": b'{"model":"scripted","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}',
    "null content": b'{"model":"scripted","messages":[{"role":"assistant","content":null,"tool_calls":[]}]}',
    "both limits": b'{"model":"scripted","max_tokens":5,"max_completion_tokens":7,"messages":[]}',
    "repeated key": b'{"model":"scripted","n":1,"n":2,"messages":[]}',
    "model is no text": b'{"model":7}',
    "not JSON": b'{"model": "scripted", ',
    "not even text": b"\x00\xff\xfe model",
    "deep": b'{"model":"scripted","x":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "nothing": b"",
}


@pytest.fixture(autouse=True)
def migrated_data(tmp_path, migrated):
    """Every server here opens a database that need not be made first."""
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(migrated, tmp_path / "data")


@pytest.fixture
async def client(tmp_path, monkeypatch):
    monkeypatch.setenv("SCRIPTED_KEY", SECRET)
    async with live_server(tmp_path) as client:
        connect(client, "scripted", client.model, "scripted", api_key_env="SCRIPTED_KEY")
        yield client


def connect(client: LiveServer, name: str, model: ScriptedModel, *models: str, api_key_env: str | None = None) -> None:
    client.server.providers.put(
        ProviderConfig(name, base_url=model.base_url, models=models, api_key_env=api_key_env),
    )


@dataclass(frozen=True)
class Got:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def error(self):
        return json.loads(self.body)["error"]


async def post(client, body, path=COMPLETIONS, *, url=None, **headers) -> Got:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    async with (
        asyncio.timeout(60),
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.post(
            (url or client.url) + path, data=BytesIO(raw), headers={"Authorization": f"Bearer {TOKEN}", **sent}
        ) as response,
    ):
        return Got(response.status, response.headers, await response.read())


@asynccontextmanager
async def client_key(client):
    made = await client.ask("POST", "/keys", {"name": "editor"}, expect=201)
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {made['key']}"}) as session:
        yield made, session


# --- the request


@proves("GW-1")
async def test_passthrough_forwards_the_body_byte_for_byte(client):
    for what, body in BODIES.items():
        for path in PATHS:
            client.model.replies.append("Good day.")
            assert (await post(client, body, path)).status == 200, what
            assert (client.model.paths[-1], client.model.raw[-1]) == (path, body), what
    assert len(client.model.raw) == len(BODIES) * len(PATHS)


@proves("GW-1")
async def test_a_large_body_is_forwarded_byte_for_byte(client):
    client.model.replies.append("Seen.")
    body = json.dumps({**HELLO, "image": "é" * 1_500_000}, ensure_ascii=False).encode()
    assert (await post(client, body)).status == 200
    assert client.model.raw == [body]
    assert client.model.headers[0]["Content-Length"] == str(len(body))


@proves("GW-1", "SEC-2")
async def test_our_key_is_replaced_by_the_providers_and_our_cookies_stay_here(client):
    client.model.replies.append("Good day.")
    async with client_key(client) as (made, session):
        given = {
            "OpenAI-Beta": "assistants=v2",
            "User-Agent": "llm/0.36",
            "Idempotency-Key": "not ours: with spaces",
            "Cookie": "a=b",
            "X-Api-Key": made["key"],
            "Connection": "keep-alive, X-Hop",
            "X-Hop": "1",
        }
        async with session.post(f"{client.url}{COMPLETIONS}?api-version=1", json=HELLO, headers=given) as response:
            assert response.status == 200
    seen = {name.lower(): value for name, value in client.model.headers[0].items()}
    assert seen["authorization"] == f"Bearer {SECRET}"
    assert (seen["openai-beta"], seen["user-agent"]) == ("assistants=v2", "llm/0.36")
    assert seen["idempotency-key"] == "not ours: with spaces"
    assert made["key"] not in str(seen) and TOKEN not in str(seen)
    assert not {"cookie", "x-api-key", "x-hop"} & set(seen)
    assert client.model.paths == [f"{COMPLETIONS}?api-version=1"]


@proves("GW-1")
async def test_the_same_idempotency_key_is_passed_on_twice(client):
    client.model.replies += ["one", "two"]
    first = await post(client, HELLO, Idempotency_Key="k")
    second = await post(client, HELLO, Idempotency_Key="k")
    assert (b"one" in first.body, b"two" in second.body) == (True, True)


@proves("GW-1", "SEC-3")
async def test_a_body_over_the_limit_is_refused_and_reaches_no_provider(tmp_path):
    async with live_server(tmp_path, request_limit_bytes=100_000) as client:
        got = await post(client, b'{"model":"scripted","x":"' + b"a" * 100_000 + b'"}')
        assert (got.status, got.error["code"]) == (413, "too_large")
        assert client.model.raw == []


@proves("GW-1", "SEC-3")
async def test_a_body_that_does_not_say_its_length_is_held_to_the_limit_too(tmp_path):
    async def pieces():
        for _ in range(3):
            yield b"a" * 50_000

    async with live_server(tmp_path, request_limit_bytes=100_000) as client:
        async with asyncio.timeout(60), client.session.post(client.url + COMPLETIONS, data=pieces()) as response:
            assert (response.status, (await response.json())["error"]["code"]) == (413, "too_large")
        assert client.model.raw == []


@proves("GW-1")
async def test_a_body_that_cannot_be_read_goes_to_the_default_provider_whose_refusal_is_passed_on(client):
    async with ScriptedModel() as other:
        connect(client, "other", other, "other-1")
        client.model.replies.append(HttpError(400, {"error": {"message": "no JSON", "code": "bad"}}))
        got = await post(client, b'{"model": "other-1", ')
        assert (got.status, got.error["code"], other.raw) == (400, "bad", [])


# --- the answer

ANSWERS = {
    "whole": (HELLO, Reply("Good day.", usage={"total_tokens": 3, "new": None})),
    "streamed": ({**HELLO, "stream": True, "stream_options": {"include_usage": True}}, Reply("Good day to you all.")),
    "streamed without an end": ({**HELLO, "stream": True}, Reply("Good", done=False, finish=None)),
    "400": (HELLO, HttpError(400, {"error": {"message": "no", "type": "t", "param": "p", "code": "c"}})),
    "401": (HELLO, HttpError(401, {"error": {"message": "bad key", "type": "t", "param": None, "code": None}})),
    "404": (HELLO, HttpError(404, {"error": {"message": "no such model", "code": "model_not_found"}})),
    "429": (HELLO, HttpError(429, "slow down, please", retry_after=7)),
    "500": (HELLO, HttpError(500, "<html>oops</html>")),
    "garbage": (HELLO, Garbage(b"\x00\xff not an answer \r\n\r\n")),
    "nothing": (HELLO, Garbage(b"", "application/json")),
}


@proves("GW-1")
async def test_an_answer_through_the_gateway_is_the_providers_own(client):
    for what, (body, answer) in ANSWERS.items():
        client.model.replies += [answer, answer]
        direct = await post(client, body, "/chat/completions", url=client.model.base_url)
        passed = await post(client, body)
        assert (passed.status, passed.body) == (direct.status, direct.body), what
        for name in ("Content-Type", "Content-Length", "Retry-After"):
            assert passed.headers.get(name) == direct.headers.get(name), (what, name)


@proves("GW-1")
async def test_a_compressed_answer_stays_compressed(client):
    packed = gzip.compress(b'{"object": "chat.completion"}')

    async def answer(request):
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", "Set-Cookie": "theirs=1"}
        return aiohttp.web.Response(body=packed, headers={**headers, "Access-Control-Allow-Origin": "*", "X-Rate": "9"})

    async with provider(answer) as url:
        client.server.providers.put(ProviderConfig("zip", base_url=url, models=("zipped",)))
        got = await post(client, {"model": "zipped"}, Accept_Encoding="gzip")
    assert (got.body, got.headers["Content-Encoding"], got.headers["X-Rate"]) == (packed, "gzip", "9")
    assert "Set-Cookie" not in got.headers and "Access-Control-Allow-Origin" not in got.headers


@proves("GW-1", "SEC-2")
async def test_a_redirect_leads_neither_us_nor_the_client_elsewhere(client):
    async def answer(request):
        return aiohttp.web.Response(status=307, headers={"Location": f"{client.model.base_url}/chat/completions"})

    async with provider(answer) as url:
        client.server.providers.put(ProviderConfig("moved", base_url=url, models=("moved",)))
        got = await post(client, {"model": "moved"})
    assert (got.status, "Location" in got.headers, client.model.raw) == (307, False, [])


@asynccontextmanager
async def provider(answer):
    """A provider that is not scripted: any handler."""
    app = aiohttp.web.Application()
    app.router.add_route("*", "/v1/{path:.*}", answer)
    runner = aiohttp.web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await aiohttp.web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


@proves("GW-1")
async def test_a_streamed_piece_arrives_before_the_provider_has_sent_the_next(client):
    hold = asyncio.Event()
    client.model.replies.append(Reply(chunks=["first", "second"], hold=hold))
    async with (
        asyncio.timeout(60),
        client.session.post(client.url + COMPLETIONS, json={**HELLO, "stream": True}) as response,
    ):
        early = await response.content.readany()
        assert b"first" in early and b"second" not in early
        hold.set()
        late = await response.content.read()
    assert b"second" in late and late.endswith(b"data: [DONE]\n\n")


@proves("GW-1")
async def test_an_answer_that_breaks_off_breaks_off_for_the_client_too(client):
    client.model.replies.append(BreakOff("Good d"))
    async with (
        asyncio.timeout(60),
        client.session.post(client.url + COMPLETIONS, json={**HELLO, "stream": True}) as response,
    ):
        assert response.status == 200
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()
    client.model.replies.append("Still here.")
    assert (await post(client, HELLO)).status == 200


# --- providers that do not answer


@proves("GW-1")
async def test_a_stream_that_falls_silent_is_ended(tmp_path):
    async with live_server(tmp_path, replies=[Hang("Good d")], provider_timeout=2.0) as client:
        async with (
            asyncio.timeout(60),
            client.session.post(client.url + COMPLETIONS, json={**HELLO, "stream": True}) as response,
        ):
            with pytest.raises(aiohttp.ClientPayloadError):
                await response.read()
        await client.model.deserted()


@proves("GW-1")
async def test_a_provider_that_does_not_begin_to_answer_is_a_504(client):
    client.model.replies.append(Hang(headers=False))
    upstreams = Passthrough(client.server.providers, Timeouts(first_byte=0.2))
    services = client.server.services
    models = replace(services.models, upstreams=upstreams)
    got = await Client(create_api(replace(services, models=models)), token=TOKEN).post(COMPLETIONS, HELLO)
    assert (got.status, got.error["code"], got.error["type"]) == (504, "provider_timed_out", "provider_error")
    assert "scripted" in got.error["message"]
    await client.model.deserted()


@proves("GW-1")
async def test_a_provider_that_is_down_is_a_502(client, nowhere):
    client.server.providers.put(ProviderConfig("down", base_url=nowhere, models=("down",)))
    got = await post(client, {"model": "down"})
    assert (got.status, got.error["code"]) == (502, "provider_unreachable")
    assert set(got.error) == {"message", "type", "param", "code"}


@proves("GW-1")
async def test_a_provider_that_speaks_no_http_is_a_502(client):
    async def babble(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"220 mail.example ESMTP\r\n")
        writer.close()

    async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        client.server.providers.put(ProviderConfig("mail", base_url=url, models=("mail",)))
        got = await post(client, {"model": "mail"})
    assert (got.status, got.error["code"]) == (502, "provider_unreachable")


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address at which no server listens as long as the test runs."""
    with held_port() as port:
        yield f"http://127.0.0.1:{port}/v1"


@proves("GW-1")
@pytest.mark.parametrize("hang", [Hang(headers=False), Hang("Good d")], ids=["before the answer", "in its middle"])
async def test_a_client_that_leaves_ends_the_providers_work(client, hang):
    client.model.replies.append(hang)
    begun = asyncio.Event()

    async def ask(session: aiohttp.ClientSession) -> None:
        async with session.post(client.url + COMPLETIONS, json={**HELLO, "stream": True}) as response:
            assert b"Good" in await response.content.readany()
            begun.set()
            await response.read()

    async with asyncio.timeout(60), aiohttp.ClientSession(headers=client.session.headers) as session:
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(ask(session))
            await client.model.asked(1)
            if hang.headers:
                await begun.wait()
            asking.cancel()
        await client.model.deserted()


# --- which provider


@proves("GW-1")
async def test_models_choose_their_provider_and_unknown_ones_go_to_the_default(client):
    async with ScriptedModel(["b"] * 5) as other:
        connect(client, "other", other, "other-1", "scripted/odd")
        client.model.replies += ["a"] * 5
        for model in ("other-1", "scripted/odd", "scripted", "never-heard-of", "other/other-1"):
            assert (await post(client, {"model": model})).status == 200
        assert [body["model"] for body in other.requests] == ["other-1", "scripted/odd"]
        assert [body["model"] for body in client.model.requests] == ["scripted", "never-heard-of", "other/other-1"]


@proves("GW-1")
async def test_models_of_all_providers_are_listed_and_then_routed(client, nowhere):
    async with ScriptedModel(["b"], models=("big", "scripted")) as other:
        connect(client, "other", other)
        client.server.providers.put(ProviderConfig("down", base_url=nowhere, models=("far",)))
        listed = await client.ask("GET", "/v1/models")
        assert listed["object"] == "list"
        assert [entry["id"] for entry in listed["data"]] == ["scripted", "big", "far"]
        assert {entry["object"] for entry in listed["data"]} == {"model"}
        assert (await post(client, {"model": "big"})).status == 200
        assert (len(other.raw), client.model.raw) == (1, [])


@proves("GW-1")
async def test_one_model_is_told_by_its_own_id_also_to_a_client_key(client):
    async with ScriptedModel(models=("maker/big",)) as other, client_key(client) as (_, session):
        connect(client, "other", other)
        async with session.get(f"{client.url}/v1/models/maker/big") as found:
            assert (found.status, await found.json()) == (200, {"id": "maker/big", "object": "model"})
        assert await status_of(session.get(f"{client.url}/v1/models/nobodys")) == 404
        assert await status_of(session.delete(f"{client.url}/v1/models/scripted")) == 405
        assert await status_of(session.get(f"{client.url}/v1/modelsandmore")) == 403


@proves("GW-1")
async def test_a_list_that_no_provider_gives_says_why(tmp_path, nowhere):
    async with live_server(tmp_path, providers=(), model=None) as client:
        client.server.providers.put(ProviderConfig("down", base_url=nowhere))
        error = (await client.ask("GET", "/v1/models", expect=502))["error"]
        assert error["code"] == "provider_unreachable" and "down" in error["message"]


@proves("GW-1")
async def test_without_a_provider_people_are_told_how_to_connect_one(tmp_path, monkeypatch):
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    async with live_server(tmp_path, providers=(), model=None) as client:
        for got in (await post(client, HELLO), await post(client, {"model": "guide"})):
            assert (got.status, got.error["code"]) == (503, "no_provider")
            assert "OPENAI_API_KEY" in got.error["message"]
        assert await client.ask("GET", "/v1/models") == {"object": "list", "data": []}


# --- who may ask


@proves("GW-1", "SEC-5")
async def test_a_client_key_reaches_v1_only_until_it_is_revoked(client):
    client.model.replies.append("Good day.")
    async with client_key(client) as (made, session):
        assert await status_of(session.get(f"{client.url}/v1/models")) == 200
        assert await status_of(session.post(client.url + COMPLETIONS, json=HELLO)) == 200
        assert await status_of(session.get(f"{client.url}/context")) == 403
        assert f'requests_total{{principal="client_key:{made["id"]}"}} 2' in await metrics(client)
        await client.ask("DELETE", f"/keys/{made['id']}", expect=204)
        async with session.post(client.url + COMPLETIONS, json=HELLO) as refused:
            assert refused.status == 401
            assert (await refused.json())["error"]["type"] == "authentication_error"
    assert len(client.model.raw) == 1


@proves("GW-1")
async def test_nobody_without_a_key_is_passed_on(client):
    async with aiohttp.ClientSession() as session:
        for path in PATHS:
            assert await status_of(session.post(client.url + path, json=HELLO)) == 401
        assert await status_of(session.get(f"{client.url}/v1/models")) == 401
    assert client.model.raw == []


@proves("GW-1")
async def test_the_paths_take_one_method_each(client):
    assert (await client.ask("GET", COMPLETIONS, expect=405))["error"]["code"] == "method_not_allowed"
    assert (await client.ask("POST", "/v1/models", {}, expect=405))["error"]["code"] == "method_not_allowed"
    assert (await client.ask("POST", "/v1/images", {}, expect=404))["error"]["code"] == "route_not_found"


@proves("GW-1")
@pytest.mark.parametrize("path", ["/chat/completions", "/v1/v1/chat/completions", "/models"])
async def test_a_base_url_without_its_v1_or_with_two_is_told_as_such(client, path):
    async with client_key(client) as (_, session), session.post(client.url + path, json=HELLO) as refused:
        assert refused.status == 403
        assert "base URL end with /v1." in (await refused.json())["error"]["message"]


async def status_of(asking) -> int:
    async with asyncio.timeout(60), asking as response:
        return response.status


async def metrics(client) -> str:
    async with client.session.get(f"{client.url}/metrics") as response:
        return await response.text()
