"""Packed requests: they reach the provider whose model they name, as they came, and no bomb is opened further than a body may be large."""

import gzip
import json
import shutil
import zlib

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.api.gateway.app import UnknownEncoding, decompressed
from anycowork.domain.errors import TooLarge
from anycowork.providers.config import ProviderConfig
from support.live_server import TOKEN, live_server
from support.raw_http import Exchange, RawProvider
from support.spec import proves

ANSWER = b'{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}'
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)
PLAIN = json.dumps({"model": "theirs", "messages": [{"role": "user", "content": "hi " * 200}]}).encode()
LIMIT = 10_000


def bare_deflate(body: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-15)
    return packing.compress(body) + packing.flush()


PACKED = {
    "gzip": ("gzip", gzip.compress(PLAIN)),
    "x-gzip": ("X-GZip", gzip.compress(PLAIN)),
    "zlib": ("deflate", zlib.compress(PLAIN)),
    "bare deflate": ("deflate", bare_deflate(PLAIN)),
    "two members": ("gzip", gzip.compress(PLAIN[:50]) + gzip.compress(PLAIN[50:])),
    "twice": ("deflate, gzip", gzip.compress(zlib.compress(PLAIN))),
    "not at all": ("identity", PLAIN),
}


@pytest.fixture
async def server(tmp_path, migrated):
    """A server with two providers, of which the second has the model 'theirs'."""
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(migrated, tmp_path / "data")
    async with RawProvider(OK).serving() as first, RawProvider(OK).serving() as second, live_server(tmp_path) as client:
        client.server.providers.put(ProviderConfig("first", base_url=first.url, models=("ours",)))
        client.server.providers.put(ProviderConfig("second", base_url=second.url, models=("theirs",)))
        client.server.providers.choose("first/ours")
        yield client, first, second


async def post(client, body: bytes, encoding: str, key: str = TOKEN) -> tuple[int, dict]:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}", "Content-Encoding": encoding}
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(5)) as session,
        session.post(f"{client.url}/v1/chat/completions", data=body, headers=headers) as response,
    ):
        return response.status, await response.json()


@proves("GW-1")
@pytest.mark.parametrize("what", PACKED)
async def test_a_packed_request_reaches_the_provider_of_its_model_as_it_came(server, what):
    client, first, second = server
    encoding, body = PACKED[what]
    assert (await post(client, body, encoding))[0] == 200
    sent = Exchange.read(second.asked[0])
    assert (sent.body, dict(sent.headers)["content-encoding"], first.asked) == (body, encoding, [])


@proves("GW-1")
async def test_what_cannot_be_opened_is_sent_to_nobody(server):
    client, first, second = server
    status, told = await post(client, b"\x1b\x05\x00", "br")
    assert (status, told["error"]["code"], told["error"]["param"]) == (415, "unknown_encoding", "content-encoding")
    assert "gzip" in told["error"]["message"] and first.asked == second.asked == []


@proves("GW-1")
async def test_a_bomb_is_refused_as_a_plain_body_of_its_size_would_be(server):
    client, first, second = server
    status, told = await post(client, gzip.compress(b" " * 11_000_000), "gzip")
    assert (status, told["error"]["code"]) == (413, "too_large")
    assert first.asked == second.asked == []


async def test_a_damaged_body_goes_to_the_default_provider_who_says_what_is_wrong(server):
    client, first, _ = server
    assert (await post(client, b"\x1f\x8b nonsense", "gzip"))[0] == 200
    assert Exchange.read(first.asked[0]).body == b"\x1f\x8b nonsense"


@proves("GW-1")
async def test_a_key_is_counted_by_what_the_body_holds(server):
    client, *_ = server
    made = await client.ask("POST", "/keys", {"name": "k", "limits": {"tokens_per_day": 1000}}, expect=201)
    large = gzip.compress(
        json.dumps({"model": "theirs", "max_tokens": 1, "messages": [{"role": "user", "content": "y" * 8000}]}).encode()
    )
    assert len(large) < 200  # packed, it would pass for a small one
    status, told = await post(client, large, "gzip", made["key"])
    assert (status, told["error"]["param"]) == (429, "tokens_per_day")
    assert (await post(client, *reversed(PACKED["gzip"]), made["key"]))[0] == 200
    used = (await client.ask("GET", "/keys"))["keys"][-1]["today"]
    assert (used["prompt_tokens"], used["completion_tokens"], used["estimated"]) == (7, 2, 0)


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "gzip, deflate", "", "identity"]))
def test_any_bytes_are_opened_or_left(body, encodings):
    assert len(decompressed(body, encodings, max_bytes=LIMIT)) <= LIMIT


@given(st.binary(max_size=LIMIT))
def test_what_was_packed_is_what_is_opened(body):
    for pack in (gzip.compress, zlib.compress, bare_deflate):
        assert decompressed(pack(body), "gzip", max_bytes=LIMIT) == body


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, bare_deflate])
def test_one_byte_too_many_is_too_many(pack):
    assert len(decompressed(pack(b"a" * LIMIT), "gzip", max_bytes=LIMIT)) == LIMIT
    with pytest.raises(TooLarge):
        decompressed(pack(b"a" * (LIMIT + 1)), "gzip", max_bytes=LIMIT)
    with pytest.raises(TooLarge):
        decompressed(gzip.compress(b"a" * 6_000) * 2, "gzip", max_bytes=LIMIT)
    with pytest.raises(UnknownEncoding):
        decompressed(b"", "zstd", max_bytes=LIMIT)
