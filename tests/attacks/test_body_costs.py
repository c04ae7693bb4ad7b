"""Bodies that are made to be dear: huge names, many values, deep nesting, long texts, wrong types; at every route, for every sender.

The cost is the processor's time of this process, threads included, beside that of a body which is read in any case: no clock on a wall."""

import asyncio
import itertools
import json
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

import pytest

from anycowork.api.middleware.body import FORM_BYTES, MAX_FIELDS, SIGN_IN_BYTES, LargeBodies
from anycowork.domain.bounded_json import MAX_VALUES
from anycowork.domain.principals import OWNER
from support.asgi import Client
from support.spec import proves

JSON = {"content-type": "Application/JSON"}  # in this spelling: the routes read it all the same
MB = 1 << 20
MOST = 12  # times what Python takes to read an object with a hundred thousand fields
NO_BODY = frozenset({"/v1/chat/completions", "/v1/responses", "/v1/embeddings"})  # passed on, and tried below


@cache
def dear_bodies(size: int) -> dict[str, bytes]:
    """Bodies of about this many bytes, by name."""
    names = b",".join(b'"k%07d":0' % at for at in range(size // 12))
    escaped = b'{"content":"' + b'\\",' * (size // 3) + b'"}'
    wide = b"{" + b",".join(b'"%d":0' % at for at in range(250)) + b"}"
    wrong = b"[" + b"0," * min(size // 2 - 20, MAX_VALUES - 10) + b"0]"
    return {
        "many names": b"{" + names + b"}",
        "many numbers": b'{"content":[' + b"1," * (size // 2 - 20) + b"1]}",
        "many empty lists": b"[" + b"[]," * (size // 3 - 20) + b"[]]",
        "deep": b'{"a":' * (size // 6) + b"1" + b"}" * (size // 6),
        "long text": b'{"content":"' + b"a," * (size // 2 - 20) + b'"}',
        "escaped quotes": escaped[:size],
        "wide objects": b'{"decisions":[' + (wide + b",") * min(199, size // 2000) + b"{}]}",
        "wrong types": b'{"overwrite":' + wrong + b"}",
    }


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for path, methods in document["paths"].items():
        for method in ("post", "put", "patch"):
            if method in methods and path not in NO_BODY:
                yield method.upper(), path


def filled(path: str, chat_id: str) -> str:
    parts = (chat_id if part == "{chat_id}" else "none" if part.startswith("{") else part for part in path.split("/"))
    return "/".join(parts)


async def cost(attempt: Callable[[], Awaitable[object]], most: float) -> float:
    """What it takes of the processor; the least of three if it is too much: the first may pay for something else, as `baseline` may."""
    least = math.inf
    for _ in range(3):
        began = time.process_time()
        await attempt()
        least = min(least, time.process_time() - began)
        if least < most:
            break
    return least


def baseline() -> float:
    """Takes the least of three: the first may pay for something else."""
    body = json.dumps({str(at): 0 for at in range(100_000)})
    costs = []
    for _ in range(3):
        began = time.process_time()
        json.loads(body)
        costs.append(time.process_time() - began)
    return min(costs)


@proves("SEC-1")
async def test_no_body_at_any_route_is_dear(client, attempts):
    document = (await client.get("/openapi.json")).json()
    chat_id = (await client.post("/context", {})).json()["id"]
    bodies, most = dear_bodies(MB // 2), MOST * baseline()
    for method, path in operations(document):  # a first request makes the route
        await client.ask(method, filled(path, chat_id), raw=b"[]", headers=JSON)

    async def attempt(case: tuple[str, str, str]) -> None:
        method, path, body = case
        answers = []

        async def ask() -> None:
            answers.append(await client.ask(method, filled(path, chat_id), raw=bodies[body], headers=JSON))

        taken = await cost(ask, most)
        assert answers[0].status < 500
        assert taken < most, f"{taken:.2f} s of the processor, at most {most:.2f}"

    await attempts.each(((method, path, body) for method, path in operations(document) for body in bodies), attempt)


@proves("SEC-1")
async def test_an_anonymous_client_sends_next_to_nothing(client, anonymous, attempts):
    """Neither at the route that signs in nor at the pages that are open to everybody."""
    bodies, most = dear_bodies(9 * MB), MOST * baseline()

    async def attempt(case: tuple[str, str]) -> None:
        path, body = case
        answers = []

        async def ask() -> None:
            answers.append(await anonymous.post(path, raw=bodies[body], headers=JSON))

        assert await cost(ask, most / 4) < most / 4
        assert answers[0].status == 413

    await attempts.each(
        ((path, body) for path in ("/session", "/workers/join", "/", "/healthz") for body in bodies), attempt
    )
    largest = json.dumps({"code": "x" * 100}).encode().ljust(SIGN_IN_BYTES)
    assert (await anonymous.post("/session", raw=largest, headers=JSON)).status == 401
    assert (await anonymous.post("/session", raw=largest + b" ", headers=JSON)).status == 413
    pieces = [b'{"code":', b'"' + b"x" * SIGN_IN_BYTES, b'"}']
    assert (await anonymous.post("/session", raw=pieces, headers=JSON)).status == 413


@proves("SEC-1")
async def test_a_form_is_no_file(client):
    """Routes whose bodies hold no text of a person or a file take less."""
    body = b'{"name":"' + b"x" * FORM_BYTES + b'"}'
    for path in ("/keys", "/people", "/rules", "/roles", "/workflows", "/mcp/servers"):
        refused = await client.post(path, raw=body, headers=JSON)
        assert (refused.status, refused.error["code"]) == (413, "too_large")
    many = b'{"content":[' + b"1," * MAX_VALUES + b"1]}"
    chat_id = (await client.post("/context", {})).json()["id"]
    refused = await client.post(f"/context/{chat_id}/messages", raw=many, headers=JSON)
    assert (refused.status, refused.error["code"]) == (413, "too_many_values")
    wide = json.dumps({"content": "x", "more": {f"field{number}": 0 for number in range(MAX_FIELDS + 1)}}).encode()
    refused = await client.post(f"/context/{chat_id}/messages", raw=wide, headers=JSON)
    assert (refused.status, refused.error["code"]) == (413, "too_many_values")
    commas = json.dumps(
        {"path": "a.csv", "text": "1,[{" * 100_000, "sha256": None}
    ).encode()  # signs within a text are no values
    assert (await client.put(f"/context/{chat_id}/file", raw=commas, headers=JSON)).status in (200, 201, 409)


@proves("GW-1")
@pytest.mark.parametrize("limits", [{"tokens_per_day": 10_000}, {"spend_per_day": 900.0}])
async def test_no_body_of_a_limited_key_is_dear(client, attempts, limits):
    key = (await client.post("/keys", {"name": "limited", "limits": limits})).json()["key"]
    program, bodies, most = Client(client.app, token=key), dear_bodies(9 * MB), MOST * baseline()

    async def attempt(case: tuple[str, str]) -> None:
        path, body = case
        answers = []

        async def ask() -> None:
            answers.append(await program.post(path, raw=bodies[body], headers=JSON))

        taken = await cost(ask, most)
        assert answers[0].status in (422, 429), answers[0].body
        assert taken < (most / 10 if limits == {"tokens_per_day": 10_000} else most), taken

    await attempts.each(((path, body) for path in sorted(NO_BODY)[:2] for body in bodies), attempt)


@pytest.mark.parametrize("by", [{}, {"principal": OWNER}], ids=["an address", "a person at any address"])
async def test_of_one_sender_few_large_bodies_are_read_at_once(by):
    """The others wait, at whatever route, and other senders do not wait for them."""
    numbers = itertools.count()
    large, small = [(b"content-length", b"100000")], [(b"content-length", b"10")]
    bodies = LargeBodies()

    def scope(headers: list[tuple[bytes, bytes]], peer: str) -> dict[str, Any]:
        return {"headers": headers, "client": (peer, 1), "path": f"/{next(numbers)}", **by}

    async with AsyncExitStack() as stack:
        for _ in range(4):
            await stack.enter_async_context(bodies.turn(scope(large, "10.0.0.1")))
        await stack.enter_async_context(bodies.turn({"headers": large, "client": ("10.0.0.2", 1)}))
        await stack.enter_async_context(bodies.turn(scope(small, "10.0.0.1")))
        waits = bodies.turn(scope([(b"transfer-encoding", b"chunked")], "10.0.0.3" if by else "10.0.0.1"))
        fifth = asyncio.ensure_future(waits.__aenter__())
        await asyncio.sleep(0)
        assert not fifth.done()
    async with asyncio.timeout(60):
        await fifth
    await waits.__aexit__(None, None, None)
