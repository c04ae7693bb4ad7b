"""The recorded corpus, directly and through the gateway: the provider reads the same bytes, and the client too."""

import re
import shutil
from pathlib import Path

import pytest

from anycowork.providers.config import ProviderConfig
from support.live_server import TOKEN, live_server
from support.raw_http import Exchange, RawProvider, exchanged
from support.spec import proves

CORPUS = Path(__file__).parent / "corpus"
REQUESTS = sorted((CORPUS / "requests").glob("*.http"))
ANSWERS = sorted((CORPUS / "answers").glob("*.http"))
BROKEN = {"broken-chunks", "broken-length", "python-breaks"}

# Of one connection or one side's trust: api/gateway/proxy_headers.py says why each of them stays on its side.
NOT_SENT_ON = {"host", "authorization", "connection", "content-length", "sec-fetch-mode"}
NOT_SENT_BACK = {"connection", "transfer-encoding", "content-length", "www-authenticate", "server", "date"}
OURS = {
    "x-content-type-options",
    "referrer-policy",
    "x-frame-options",
    "cross-origin-resource-policy",
    "cross-origin-opener-policy",
    "content-security-policy",
    "cache-control",
    "date",
}


@pytest.fixture
async def ways(tmp_path, migrated):
    """The same provider twice: its own address, and ours."""
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(migrated, tmp_path / "data")
    async with RawProvider().serving() as provider, live_server(tmp_path) as client:
        client.server.providers.put(ProviderConfig("scripted", base_url=provider.url, models=("scripted",)))
        yield provider, client.url


def request_of(file: Path, key: str) -> bytes:
    """As recorded, with the key of whoever is asked; the connection closes, so that the end is seen."""
    raw = re.sub(rb"(?im)^connection: .*\r\n", b"", file.read_bytes())
    raw = re.sub(rb"(?im)^authorization: .*\r\n", b"authorization: Bearer " + key.encode() + b"\r\n", raw)
    return raw.replace(b"\r\n", b"\r\nHost: 127.0.0.1\r\nConnection: close\r\n", 1)


async def both(ways, request: Path, answer: Path) -> tuple[Exchange, Exchange]:
    provider, ours = ways
    provider.answer = answer.read_bytes()
    direct = await exchanged(provider.url, request_of(request, "any"))
    through = await exchanged(ours, request_of(request, TOKEN))
    return Exchange.read(direct), Exchange.read(through)


@proves("GW-1")
async def test_every_recorded_request_reaches_the_provider_as_it_was(ways):
    provider, _ = ways
    for file in REQUESTS:
        provider.asked.clear()
        await both(ways, file, CORPUS / "answers" / "python-whole.http")
        direct, through = (Exchange.read(raw) for raw in provider.asked)
        assert (through.first_line, through.body) == (direct.first_line, direct.body), file.name
        assert through.without(NOT_SENT_ON) == direct.without(NOT_SENT_ON), file.name
        assert ("content-length", str(len(direct.body))) in through.headers, file.name
        assert "authorization" not in dict(through.headers), file.name
    assert len(REQUESTS) >= 26


@proves("GW-1")
async def test_every_recorded_answer_reaches_the_client_as_it_was(ways):
    for file in ANSWERS:
        direct, through = await both(ways, CORPUS / "requests" / "python-streamed.http", file)
        assert (through.status, through.body) == (direct.status, direct.body), file.name
        assert through.complete == direct.complete == (file.stem not in BROKEN), file.name
        ours = NOT_SENT_BACK | (OURS - {name for name, _ in direct.headers})
        assert through.without(ours) == direct.without(ours), file.name
    assert len(ANSWERS) >= 29
