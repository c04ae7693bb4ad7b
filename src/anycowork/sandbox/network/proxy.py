"""The only way from a command to the network: CONNECT and plain HTTP, to the destinations allowed for this command.

The head of a request is parsed strictly: anything ambiguous is refused. `dialer.py` resolves names and connects to the checked addresses.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import assert_never

from anycowork.domain.network import Destination, read_destination
from anycowork.domain.values import value
from anycowork.sandbox.network.dialer import CheckedDialer, Network, NetworkReach, NetworkReport, NotReached, Streams

_REQUEST = re.compile(r"([A-Z]{1,20}) ([!-~]{1,8192}) HTTP/1\.[01]")
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_AUTHORITY = re.compile(r"http://([^/?#]+)([/?][^#]*)?", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MOST_FIELDS = 100
_HTTP_PORT = 80
# Hop-by-hop headers; we set the length, so that nobody after us reads another one.
_NOT_PASSED_ON = frozenset(
    {"host", "connection", "keep-alive", "te", "trailer", "upgrade", "content-length", "transfer-encoding"}
)
_PIECE = 65_536
_HEAD_ENDS = b"\r\n\r\n"
_BREATH = 0.1  # seconds


class BadHead(ValueError):
    """`status` is the status of the response."""

    def __init__(self, says: str, status: int = 400) -> None:
        super().__init__(says)
        self.status = status


@value
class TunnelRequest:
    """CONNECT: any bytes in both directions, to this one destination."""

    to: Destination


@value
class ForwardRequest:
    """One plain request to this one destination: its head as forwarded, and how many bytes follow."""

    to: Destination
    head: bytes
    body: int


def read_head(head: bytes) -> TunnelRequest | ForwardRequest:
    """`head` is everything up to its empty line. Raises: BadHead."""
    lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    request = _REQUEST.fullmatch(lines[0])
    if request is None:
        raise BadHead("This is a proxy: it takes CONNECT host:port, or a request for http://host/path.")
    fields = _fields(lines[1:])
    method, target = request.groups()
    if method == "CONNECT":
        if _lengths(fields):
            raise BadHead("CONNECT carries no body.")
        return TunnelRequest(_destination(target))
    return _forward(method, target, fields)


def _fields(lines: list[str]) -> list[tuple[str, str]]:
    if len(lines) > _MOST_FIELDS:
        raise BadHead("The request has too many header fields.", 431)
    parsed_fields = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _FIELD_NAME.fullmatch(name) or _CONTROL.search(line):
            raise BadHead("A header field of the request is malformed.")
        parsed_fields.append((name, value.strip(" \t")))
    return parsed_fields


def _forward(method: str, target: str, fields: list[tuple[str, str]]) -> ForwardRequest:
    url = _AUTHORITY.fullmatch(target)
    if url is None:
        raise BadHead("This is a proxy: it takes CONNECT host:port, or a request for http://host/path.")
    to = _destination(url[1], default=_HTTP_PORT)
    if sum(name.lower() == "host" for name, _ in fields) > 1:
        raise BadHead("The request names its host twice.")
    lengths = _lengths(fields)
    if any(name.lower() == "transfer-encoding" for name, _ in fields):
        raise BadHead("A body in chunks is not passed on over plain http: give its length, or use https.", 411)
    if len(lengths) > 1 or not all(re.fullmatch(r"[0-9]{1,15}", length) for length in lengths):
        raise BadHead("The length of the request's body is not clear.")
    path = url[2] or "/"
    meant_for_us = _connection_fields(fields)
    host = str(to if to.port != _HTTP_PORT else Destination(to.host))
    passed = [
        f"{method} {path if path.startswith('/') else '/' + path} HTTP/1.1",
        f"Host: {host}",
        *(f"{name}: {value}" for name, value in fields if _is_passed_on(name, meant_for_us)),
        *(f"Content-Length: {length}" for length in lengths),
        "Connection: close",
    ]
    return ForwardRequest(to, "\r\n".join([*passed, "", ""]).encode("latin-1"), int(lengths[0]) if lengths else 0)


def _destination(text: str, default: int | None = None) -> Destination:
    try:
        read = read_destination(text)
    except ValueError as error:
        raise BadHead(f"{error}.") from None
    port = read.port or default
    if port is None or not read.is_literal:
        raise BadHead(f"'{text[:80]}' is not one host with its port.")
    return Destination(read.host, port)


def _lengths(fields: list[tuple[str, str]]) -> list[str]:
    return [value for name, value in fields if name.lower() == "content-length"]


def _connection_fields(fields: list[tuple[str, str]]) -> frozenset[str]:
    """Returns further hop-by-hop fields: those that `Connection` names."""
    connection_values = (value for name, value in fields if name.lower() == "connection")
    return frozenset(word.strip().lower() for value in connection_values for word in value.split(","))


def _is_passed_on(name: str, meant_for_us: frozenset[str]) -> bool:
    lowered = name.lower()
    return lowered not in _NOT_PASSED_ON and lowered not in meant_for_us and not lowered.startswith("proxy-")


@value
class ProxyLimits:
    """For one command."""

    at_once: int = 64  # connections
    in_all: int = 10_000  # connections
    bytes: int = 4 << 30  # both ways together
    head_bytes: int = 32_768
    head_seconds: float = 10.0
    connect_seconds: float = 15.0
    quiet_seconds: float = 120.0  # without a byte either way


class _Spent(Exception):
    """The command has used all its bytes, or may send no more."""


class SandboxProxy:
    """`may_send` is asked before each piece of data goes out."""

    def __init__(
        self, reach: NetworkReach, outside: Network, limits: ProxyLimits, may_send: Callable[[], bool] = lambda: True
    ) -> None:
        self.report = NetworkReport()
        self._may_send = may_send
        self._dialer = CheckedDialer(reach, outside, self.report, seconds=limits.connect_seconds)
        self._limits = limits
        self._open = 0
        self._bytes = 0

    async def serve(self, listening: socket.socket) -> None:
        """Accepts connections until it is cancelled or the limit is reached; every connection ends with it."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._limits.in_all):
                connection = await _accepted(loop, listening)
                if self._open >= self._limits.at_once:
                    connection.close()
                    continue
                self._open += 1
                tasks.create_task(self._serve_connection(connection))
            listening.close()

    async def _serve_connection(self, connection: socket.socket) -> None:
        try:
            async with _closing(
                await asyncio.open_connection(sock=connection, limit=self._limits.head_bytes)
            ) as client:
                await self._exchange(client)
        except (OSError, EOFError, TimeoutError, _Spent):
            pass  # one side closed, or the limit is reached: the other side is closed, too
        finally:
            self._open -= 1

    async def _exchange(self, client: Streams) -> None:
        try:
            request = await self._read_request(client[0])
            if not self._may_send():  # a name that is looked up says something, too
                raise _Spent
            server = await self._dialer.connect(request.to)
        except (BadHead, NotReached) as refusal:
            await _answer(client[1], refusal.status, str(refusal))
            return
        async with _closing(server):
            match request:
                case TunnelRequest():
                    client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    await self._join(client, server, body=None)
                case ForwardRequest(head=head, body=body):
                    server[1].write(head)
                    await self._join(client, server, body=body)
                case _:
                    assert_never(request)

    async def _read_request(self, reader: asyncio.StreamReader) -> TunnelRequest | ForwardRequest:
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                return read_head(await reader.readuntil(_HEAD_ENDS))
        except asyncio.LimitOverrunError:
            raise BadHead("The head of the request is too long.", 431) from None

    # --- the data

    async def _join(self, client: Streams, server: Streams, *, body: int | None) -> None:
        """Runs until the server ends, and in a tunnel (`body` None) the client, too. Raises: OSError, TimeoutError, _Spent."""
        try:
            async with asyncio.timeout(self._limits.quiet_seconds) as quiet, asyncio.TaskGroup() as tasks:
                asking = tasks.create_task(self._flow(client[0], server[1], quiet, most=body))
                await self._flow(server[0], client[1], quiet)
                if body is not None:
                    asking.cancel()
        except ExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _flow(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        quiet: asyncio.Timeout,
        most: int | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        remaining = most
        while piece := await source.read(_PIECE if remaining is None else min(_PIECE, remaining)):
            quiet.reschedule(loop.time() + self._limits.quiet_seconds)
            self._bytes += len(piece)
            if self._bytes > self._limits.bytes or not self._may_send():
                raise _Spent
            remaining = None if remaining is None else remaining - len(piece)
            target.write(piece)
            await target.drain()
        if most is None and target.can_write_eof():
            target.write_eof()


@asynccontextmanager
async def _closing(streams: Streams) -> AsyncIterator[Streams]:
    """Sends pending data after a clean end, and drops it after any other: everything ends with the command."""
    transport = streams[1].transport
    try:
        yield streams
    except BaseException:
        transport.abort()
        raise
    transport.close()


async def _accepted(loop: asyncio.AbstractEventLoop, listening: socket.socket) -> socket.socket:
    while True:
        try:
            return (await loop.sock_accept(listening))[0]
        except OSError:
            await asyncio.sleep(_BREATH)  # the server is short of descriptors: the command waits instead of failing


async def _answer(writer: asyncio.StreamWriter, status: int, message: str) -> None:
    body = f"{message}\n".encode()
    lines = [
        f"HTTP/1.1 {status} Refused",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Connection: close",
        "",
        "",
    ]
    writer.write("\r\n".join(lines).encode() + body)
    await writer.drain()
