"""Bare pool over real sockets: what is kept, what is closed, and what a server may do wrong. Bytes are compared in tests/interop."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from anycowork.providers.http.http1 import HIGH_WATER, MAX_HEAD, ConnectionBroken, Http1Pool
from anycowork.providers.http.proxy_env import target_of

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(serve: Serve):
    """Its pool and where they lead; `met` counts connections."""
    met: list[int] = []

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        met.append(1)
        try:
            await serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the test is over
        finally:
            writer.close()

    pool = Http1Pool()
    async with asyncio.timeout(60), await asyncio.start_server(meet, "127.0.0.1", 0) as listening:
        target = target_of(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/base/")
        try:
            yield pool, target, met
        finally:
            pool.close()


def saying(*answers: bytes) -> Serve:
    """One answer for each request of a connection, which then stays open until the client leaves."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
        await reader.read()

    return serve


async def asked(pool: Http1Pool, target, *, seconds: float = 60.0) -> tuple[int, bytes]:
    connection = await pool.acquire(target, seconds=seconds)
    try:
        await connection.ask(target, "GET", "x", [(b"A", b"b")], b"", seconds=seconds)
        body = b""
        while piece := await connection.read(seconds=seconds):
            body += piece
        return connection.status, body
    finally:
        pool.release(target, connection)


async def test_a_connection_is_used_again():
    async with server(saying(OK, OK, OK)) as (pool, target, met):
        assert [await asked(pool, target) for _ in range(3)] == [(200, b"hi")] * 3
        assert len(met) == 1


async def test_requests_side_by_side_have_a_connection_each():
    async with server(saying(OK)) as (pool, target, met):
        assert await asyncio.gather(*(asked(pool, target) for _ in range(5))) == [(200, b"hi")] * 5
        assert len(met) == 5


async def test_the_request_is_what_was_given():
    seen = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.set_result(await reader.readuntil(b"body"))
        writer.write(OK)
        await reader.read()

    async with server(serve) as (pool, target, _):
        connection = await pool.acquire(target, seconds=60)
        await connection.ask(target, "POST", "x?y=1", [(b"a", b"b")], b"body", seconds=60)
        pool.release(target, connection)
    host = f"127.0.0.1:{target.port}".encode()
    assert await seen == b"POST /base/x?y=1 HTTP/1.1\r\nHost: " + host + b"\r\na: b\r\nContent-Length: 4\r\n\r\nbody"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    ],
)
async def test_a_connection_that_is_not_to_be_kept_is_not(answer):
    async with server(saying(answer)) as (pool, target, met):
        assert [await asked(pool, target) for _ in range(2)] == [(200, b"hi")] * 2
        assert len(met) == 2


async def test_one_that_the_server_closed_meanwhile_is_not_used():
    gone = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await writer.drain()
        gone.set()

    async with server(serve) as (pool, target, met):
        assert await asked(pool, target) == (200, b"hi")
        await gone.wait()
        while any(connection.usable for connection in pool._idle[target]):
            await asyncio.sleep(0)
        assert await asked(pool, target) == (200, b"hi")
        assert len(met) == 2


async def test_words_after_the_end_spoil_a_connection():
    """What a server sends unasked must not become the answer to the next request."""
    async with server(saying(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", OK)) as (pool, target, met):
        assert [await asked(pool, target) for _ in range(2)] == [(200, b"hi")] * 2
        assert len(met) == 2


async def test_an_interim_answer_is_waited_past_and_trailers_are_dropped():
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Late: 1\r\n\r\n"
    async with server(saying(interim + chunked)) as (pool, target, _):
        connection = await pool.acquire(target, seconds=60)
        await connection.ask(target, "GET", "x", [], b"", seconds=60)
        assert (connection.status, connection.headers) == (200, [(b"Transfer-Encoding", b"chunked")])
        assert (await connection.read(seconds=60), await connection.read(seconds=60)) == (b"hi", b"")
        assert connection.headers == [(b"Transfer-Encoding", b"chunked")]
        pool.release(target, connection)


@pytest.mark.parametrize(
    "answer",
    [
        b"220 mail.example ESMTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-A: " + b"a" * (MAX_HEAD + 1) + b"\r\n\r\n",
    ],
    ids=["no http", "two lengths", "no chunk", "another protocol", "endless headers"],
)
async def test_what_is_no_proper_answer_breaks(answer):
    async with server(saying(answer)) as (pool, target, _):
        with pytest.raises((ConnectionBroken, TimeoutError)):
            await asked(pool, target, seconds=0.5)


async def test_silence_has_an_end_before_the_answer_and_in_its_middle():
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"
    for answer in (b"", half):
        async with server(saying(answer)) as (pool, target, _):
            with pytest.raises(TimeoutError):
                await asked(pool, target, seconds=0.05)


async def test_a_connection_that_breaks_in_the_middle_is_no_end():
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi")

    async with server(serve) as (pool, target, _):
        with pytest.raises(ConnectionBroken):
            await asked(pool, target)


async def test_a_slow_reader_holds_the_sender_back():
    sent, size = [0], 64 * HIGH_WATER

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        while sent[0] < size:
            writer.write(b"x" * 65536)
            sent[0] += 65536
            await writer.drain()
        await reader.read()

    async with server(serve) as (pool, target, _):
        connection = await pool.acquire(target, seconds=60)
        await connection.ask(target, "GET", "x", [], b"", seconds=60)
        before = -1
        while before != sent[0]:  # until the sender stands still
            before = sent[0]
            for _ in range(50):
                await asyncio.sleep(0)
        assert connection._size < 4 * HIGH_WATER
        total = 0
        while piece := await connection.read(seconds=60):
            total += len(piece)
        assert total == size
        pool.release(target, connection)


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://a/b", "http://", "http://a:b/v1", "http://[::1/v1"])
def test_what_is_no_address_is_told(url):
    with pytest.raises(ValueError):
        target_of(url)


def test_addresses_are_understood():
    plain, secure, six = (
        target_of("http://a.example/v1/"),
        target_of("https://b.example:8443"),
        target_of("http://[::1]:80/x y"),
    )
    assert (plain.port, plain.tls, plain.prefix, plain.host_header) == (80, False, "/v1", b"a.example")
    assert (secure.port, secure.tls, secure.prefix, secure.host_header) == (8443, True, "", b"b.example:8443")
    assert (six.host, six.prefix, six.host_header) == ("::1", "/x%20y", b"[::1]")
