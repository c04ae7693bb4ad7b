"""Attempts of remote MCP servers to fill the memory or to hold up the server with what they answer."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any  # JSON-RPC

import httpx2
import pytest

from anycowork.mcp.answer_limits import LARGEST_ANSWER, AnswerRefused, EventStreamLimit, answer_limit
from anycowork.mcp.http_transport import _client
from support.live_server import LiveServer, live_server
from support.raw_mcp_http_server import HttpAnswer, Message, raw_http_server, reply
from support.raw_mcp_server import ADD, offered
from support.spec import proves

EVENTS = "text/event-stream"
DENSE = {**ADD, "x": [[]] * 100_000}
Answering = Callable[[Message], HttpAnswer]


def listed(asked: Message, schema: Any = ADD) -> bytes:
    return json.dumps(reply(asked, {"tools": [offered("add", schema)]})).encode()


def event(data: bytes, end: bytes = b"\n") -> bytes:
    return b"event: message" + end + b"data: " + data + end + end


def compressed(asked: Message) -> bytes:
    """A thousand times as large as it looks."""
    return gzip.compress(listed(asked)[:-1] + b" " * 50_000_000 + b"}", 9)


def spaced(asked: Message) -> Iterator[bytes]:
    """An answer that is not done before the reader is."""
    yield listed(asked)[:-1]
    yield from repeat(b"\n\n" * 50_000, 10_000)


HONEST: dict[str, Answering] = {
    "JSON": lambda asked: HttpAnswer([listed(asked)]),
    "an event": lambda asked: HttpAnswer([event(listed(asked))], EVENTS),
    "an event with Windows line ends": lambda asked: HttpAnswer([event(listed(asked), b"\r\n")], EVENTS),
    "an event after many others": lambda asked: HttpAnswer(
        [b": still there\r\n\r\n" * 10_000] * 30 + [event(listed(asked), b"\r\n")], EVENTS
    ),
}
HOSTILE: dict[str, Answering] = {
    "compressed": lambda asked: HttpAnswer([compressed(asked)], encoding="gzip"),
    "compressed twice": lambda asked: HttpAnswer([gzip.compress(compressed(asked))], encoding="gzip, gzip"),
    "deflated": lambda asked: HttpAnswer([zlib.compress(listed(asked))], encoding="deflate"),
    "compressed events": lambda asked: HttpAnswer([gzip.compress(event(listed(asked)))], EVENTS, "gzip"),
    "blank lines without end": lambda asked: HttpAnswer(spaced(asked)),
    "a line without end": lambda asked: HttpAnswer(repeat(b"data: " + b"x" * 100_000, 10_000), EVENTS),
    "an event without end": lambda asked: HttpAnswer(repeat(b"data: " + b"x" * 100_000 + b"\n", 10_000), EVENTS),
    "dense JSON": lambda asked: HttpAnswer([listed(asked, DENSE)]),
    "a dense event": lambda asked: HttpAnswer([event(listed(asked, DENSE))], EVENTS),
    "a dense event in pieces": lambda asked: HttpAnswer(
        [bytes([one]) for one in event(listed(asked, DENSE))[:-300_000]] + [event(listed(asked, DENSE))[-300_000:]],
        EVENTS,
    ),
    "a dense event of several lines": lambda asked: HttpAnswer(
        [event(listed(asked, DENSE).replace(b"[], [], ", b"[], \ndata: [], "))], EVENTS
    ),
    "a dense event behind a quotation mark": lambda asked: HttpAnswer(
        [b'id: "\n' + event(listed(asked, DENSE))], EVENTS
    ),
    "a dense event that is not ended": lambda asked: HttpAnswer(
        [b"data: " + listed(asked, DENSE) + b"\n", b"\r"], EVENTS
    ),
    "a dense event in other letters": lambda asked: HttpAnswer(
        [event(listed(asked, DENSE)).decode().encode("utf-16-le")], f"{EVENTS}; charset=utf-16-le"
    ),
    "dense JSON in other letters": lambda asked: HttpAnswer(
        [listed(asked, DENSE).decode().encode("utf-16-le")], "application/json; charset=utf-16-le"
    ),
}


async def connected(client: LiveServer, url: str) -> Any:
    await client.ask("POST", "/mcp/servers", {"name": "far", "url": url, "timeout": 20}, expect=201)
    return await client.ask("POST", "/mcp/servers/far/connect", {})


@proves("MCP-2")
@pytest.mark.parametrize("answering", HONEST.values(), ids=HONEST)
async def test_an_ordinary_answer_is_taken_in_every_form(tmp_path: Path, answering: Answering) -> None:
    async with live_server(tmp_path) as client:
        with raw_http_server(answering) as far:
            shown = await connected(client, far.url)
    assert shown["status"] == "ready" and [tool["name"] for tool in shown["tools"]] == ["add"]


@proves("MCP-2")
@pytest.mark.parametrize("answering", HOSTILE.values(), ids=HOSTILE)
async def test_an_answer_that_would_take_too_much_is_not_taken(tmp_path: Path, answering: Answering) -> None:
    async with live_server(tmp_path) as client:
        with raw_http_server(answering) as far:
            shown = await connected(client, far.url)
    assert shown["status"] == "failed" and not shown["tools"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_events_are_counted_one_by_one_however_they_are_cut(end: bytes, size: int) -> None:
    """A stream may be longer than any answer; one event of it may not."""
    limit = EventStreamLimit()
    stream = event(b"x" * 3_000, end) * (5 if size < 100 else 2_000)
    assert b"".join(limit.checked(stream[at : at + size]) for at in range(0, len(stream), size)) == stream
    with pytest.raises(AnswerRefused):
        for _ in range(LARGEST_ANSWER // 3_000 + 2):
            limit.checked(b"data: " + b"x" * 3_000 + end)


def test_nothing_of_an_answer_is_passed_on_before_all_of_it_is_counted() -> None:
    limit = answer_limit("application/json")
    assert limit.checked(b"[1,") == b"" and limit.checked(b"2]") == b"" and limit.rest() == b"[1,2]"


@pytest.mark.parametrize(
    "elsewhere",
    [
        *("http://far.example/token", "https://127.0.0.1/", "https://127.0.0.1./", "https://127.1/", "https://0x7f.1/"),
        *("https://127.0.0.0x1/", "https://2130706433/", "https://[::1]/", "https://10.0.0.7:8443/", "https://router/"),
        *("https://localhost/", "https://a.localhost./", "https://printer.local./", "https://vault.internal/"),
    ],
)
async def test_a_server_sends_us_to_no_address_of_this_machine_or_network(elsewhere: str) -> None:
    """Where it says that its authorization server is. Nothing is connected: another error would be one of the network."""
    async with _client("https://mcp.example/mcp", lambda: None, lambda line: None) as client:
        with pytest.raises(httpx2.UnsupportedProtocol, match="which is not used"):
            await client.get(elsewhere)
