"""What holds on a connection before there is a request on it: strangers take up neither time nor memory without end."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from anycowork.api.middleware import body
from anycowork.server.uvicorn_server import KEEP_ALIVE_SECONDS, Connection
from support.live_server import TOKEN, live_server
from support.raw_http import Exchange
from support.scripted_model import Reply
from support.spec import proves

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HELLO = json.dumps({"model": "scripted", "stream": True, "messages": [{"role": "user", "content": "hi"}]}).encode()
ASK = (
    f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
    f"Content-Type: application/json\r\nContent-Length: {len(HELLO)}\r\n\r\n"
).encode() + HELLO


@pytest.fixture
def hurried(monkeypatch):
    monkeypatch.setattr(Connection, "head_seconds", 0.1)


@asynccontextmanager
async def line(client):
    host, port = client.url.removeprefix("http://").split(":")
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            yield reader, writer
        finally:
            writer.close()


@proves("SEC-1")
async def test_one_who_never_speaks_is_let_go(tmp_path, hurried):
    async with live_server(tmp_path) as client, line(client) as (reader, _):
        assert await reader.read() == b""


@proves("SEC-1")
@pytest.mark.parametrize("before", [b"", HEALTH], ids=["at once", "after a whole request"])
async def test_a_head_that_does_not_end_is_turned_away(tmp_path, hurried, before):
    async with live_server(tmp_path) as client, line(client) as (reader, writer):
        writer.write(before + b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        raw = await reader.read()
    assert raw.count(b"HTTP/1.1 200") == (1 if before else 0)
    last = Exchange.read(raw[raw.rindex(b"HTTP/1.1 ") :])
    assert last.status == 408 and last.complete and "did not arrive" in json.loads(last.body)["error"]["message"]


@proves("SEC-1")
async def test_a_head_without_measure_is_turned_away(tmp_path):
    async with live_server(tmp_path) as client, line(client) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        try:
            for number in range(500):
                writer.write(b"X-%d: %b\r\n" % (number, b"x" * 8_000))
                await writer.drain()
            answer = await reader.read()
        except ConnectionError:  # it closed while there was more to read
            answer = b" 431 "
    assert b" 431 " in answer


async def test_an_answer_on_its_way_is_not_cut_by_the_next_head_that_waits_behind_it(tmp_path, hurried):
    hold = asyncio.Event()
    replies = [Reply(chunks=["first", "second"], hold=hold)]
    async with live_server(tmp_path, replies=replies) as client, line(client) as (reader, writer):
        writer.write(ASK + b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        await reader.readuntil(b"first")
        passed = asyncio.Event()
        asyncio.get_running_loop().call_later(Connection.head_seconds * 2, passed.set)
        await passed.wait()
        hold.set()
        assert b"second" in await reader.readuntil(b"[DONE]")


async def test_a_connection_rests_longer_than_the_clients_that_keep_it():
    """The clients of our interop tests let go after five seconds; uvicorn's own five would close under their hands."""
    assert KEEP_ALIVE_SECONDS > 60


@proves("SEC-1")
@pytest.mark.parametrize(
    "raw",
    [
        b"garbage\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nno colon\r\n\r\n",
        b"POST /context HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
    ],
)
async def test_what_is_no_request_gets_an_error_of_the_usual_shape(tmp_path, raw):
    async with live_server(tmp_path) as client, line(client) as (reader, writer):
        writer.write(raw)
        got = Exchange.read(await reader.read())
    assert (got.status, got.complete) == (400, True)
    assert set(json.loads(got.body)["error"]) == {"code", "message", "param", "type"}


def _post(length: int | None, *, expect: str = "") -> bytes:
    said = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return (
        f"POST /context HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: application/json\r\n{said}\r\n{expect}\r\n"
    ).encode()


def _refused(raw: bytes) -> bool:
    got = Exchange.read(raw)
    return (got.status, got.complete, json.loads(got.body)["error"]["code"]) == (413, True, "too_large")


@proves("SEC-1")
@pytest.mark.parametrize("declared", [True, False], ids=["declared", "in chunks"])
async def test_one_who_sends_too_much_before_listening_still_hears_why_it_was_refused(tmp_path, declared):
    size, piece = 8 * 1024 * 1024, 64 * 1024
    async with live_server(tmp_path, request_limit_bytes=100_000) as client, line(client) as (reader, writer):
        writer.write(_post(size if declared else None))
        for _ in range(size // piece):
            writer.write(b"x" * piece if declared else b"%x\r\n%b\r\n" % (piece, b"x" * piece))
            await writer.drain()
        writer.write(b"" if declared else b"0\r\n\r\n")
        assert _refused(await reader.read())


@proves("SEC-1")
async def test_one_who_never_sends_what_it_announced_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(body, "LINGER_SECONDS", 0.1)
    async with live_server(tmp_path, request_limit_bytes=100_000) as client, line(client) as (reader, writer):
        writer.write(_post(200_000) + b"a little of it")
        assert _refused(await reader.read())


@proves("SEC-1")
async def test_one_who_asks_before_sending_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(body, "LINGER_SECONDS", 3600.0)
    async with live_server(tmp_path, request_limit_bytes=100_000) as client, line(client) as (reader, writer):
        writer.write(_post(200_000, expect="Expect: 100-continue\r\n"))
        assert _refused(await reader.read())
