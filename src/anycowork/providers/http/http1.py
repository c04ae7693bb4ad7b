"""A minimal HTTP/1.1 client for providers: bytes out, the response head, then the body's bytes as they arrive. And the pools that all share.

httptools parses the protocol; this module adds kept connections, time limits, backpressure and tunnels through a proxy, with TLS inside, so that
the proxy sees neither key nor content. It does not decode, redirect or retry.
"""

import asyncio
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

import httptools

from anycowork.domain.visible_text import os_reason
from anycowork.providers.http.certificates import BadAuthority, context_for
from anycowork.providers.http.proxy_env import HttpTarget, ProxyServer
from anycowork.providers.openai.upstream import Upstream

if TYPE_CHECKING:
    import aiohttp

MOST_PROXY_HEAD = 16 * 1024
KEPT_SECONDS = 30.0
MAX_HEAD = 128 * 1024
HIGH_WATER = 256 * 1024
HeaderPair = tuple[bytes, bytes]


class ProxyRefused(ConnectionError):
    """The proxy refused the tunnel; the message contains its answer."""


async def through(proxy: ProxyServer, target: HttpTarget, inside: asyncio.Protocol, context: ssl.SSLContext) -> None:
    """Connects `inside` to the target. The caller sets the time limit. Raises: OSError."""
    loop = asyncio.get_running_loop()
    try:
        outside, tunnel = await loop.create_connection(lambda: _TunnelRequest(proxy, target), proxy.host, proxy.port)
    except OSError as error:
        raise ProxyRefused(f"its proxy {proxy.host}:{proxy.port} cannot be reached: {os_reason(error)}") from None
    try:
        await tunnel.answered
        secured = await loop.start_tls(outside, inside, context, server_hostname=target.host)
    except BaseException:  # also on cancellation: nobody else closes the connection
        outside.abort()
        raise
    if secured is None:  # closed in the meantime
        raise ProxyRefused(f"its proxy {proxy.host}:{proxy.port} closed the tunnel")
    inside.connection_made(secured)


class _TunnelRequest(asyncio.Protocol):
    """Sends one CONNECT and reads the head of its response. Nothing may follow that before TLS starts."""

    def __init__(self, proxy: ProxyServer, target: HttpTarget) -> None:
        self._proxy, self._target = proxy, target
        self._head = b""
        self.answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        host = f"[{self._target.host}]" if ":" in self._target.host else self._target.host
        authority = f"{host}:{self._target.port}".encode()
        request = b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (authority, authority, self._proxy.header)
        transport.write(request)  # type: ignore[attr-defined]  # TCP

    def data_received(self, data: bytes) -> None:
        self._head += data
        if b"\r\n\r\n" in self._head:
            fields = self._head.split(b"\r\n", 1)[0].decode("latin-1").split(maxsplit=2)
            status = fields[1] if len(fields) > 1 and fields[0].startswith("HTTP/1.") else "something other than HTTP"
            self._settle("" if status.startswith("2") and len(status) == 3 else f"answered {status}")
        elif len(self._head) > MOST_PROXY_HEAD:
            self._settle("answered without an end")

    def connection_lost(self, error: Exception | None) -> None:
        self._settle("closed the connection")

    def _settle(self, fault: str) -> None:
        if self.answered.done():
            return
        if not fault:
            self.answered.set_result(None)
            return
        help_ = ". It requires a name and a password: http://name:password@…" if fault.endswith("407") else ""
        address = f"{self._proxy.host}:{self._proxy.port}"
        self.answered.set_exception(ProxyRefused(f"its proxy {address} {fault}{help_}"))


class ConnectionBroken(Exception):
    """The other side closed too early, or does not speak HTTP."""


class Http1Pool:
    """Keeps idle connections by target, the last used first. Belongs to one event loop."""

    def __init__(self) -> None:
        self._idle: dict[HttpTarget, list[Http1Connection]] = {}

    async def acquire(self, target: HttpTarget, *, seconds: float) -> "Http1Connection":
        """Returns a kept connection, or a new one. Raises: TimeoutError, OSError."""
        idle = self._idle.get(target)
        while idle:
            connection = idle.pop()
            if connection.usable:
                return connection
        async with asyncio.timeout(seconds):
            return await _connected(target)

    def release(self, target: HttpTarget, connection: "Http1Connection") -> None:
        """Keeps the connection for the next request if the last one ended cleanly; closes it otherwise."""
        if connection.rest(KEPT_SECONDS):
            self._idle.setdefault(target, []).append(connection)

    def close(self) -> None:
        for connection in [connection for connections in self._idle.values() for connection in connections]:
            connection.abort()
        self._idle.clear()


async def _connected(target: HttpTarget) -> "Http1Connection":
    loop = asyncio.get_running_loop()
    connection, context = Http1Connection(loop), context_for(target.ca_file) if target.tls else None
    if target.proxy is not None and context is not None:
        await through(target.proxy, target, connection, context)
    else:
        address = target.proxy or target
        await loop.create_connection(lambda: connection, address.host, address.port, ssl=context)
    return connection


class Http1Connection(asyncio.Protocol):
    """One connection, one exchange at a time: `ask`, then `read` until it returns nothing, then back to the pool."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiting: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._closed = False
        self._begin(asking=False)

    def _begin(self, *, asking: bool) -> None:
        self.status = 0
        self.headers: list[HeaderPair] = []
        self._asking, self._head_complete, self._done, self._reusable = asking, False, False, False
        self._pieces: list[bytes] = []
        self._size = self._head_size = 0
        self._paused = self._spoiled = False
        self._fault: Exception | None = None

    # --- sending a request

    async def ask(
        self, target: HttpTarget, method: str, path: str, headers: Sequence[HeaderPair], body: bytes, *, seconds: float
    ) -> None:
        """Returns when `status` and `headers` have arrived. Raises: ConnectionBroken, TimeoutError, OSError."""
        head = [f"{method} {target.prefix}/{path} HTTP/1.1\r\nHost: ".encode("ascii"), target.host_header, b"\r\n"]
        if target.proxy is not None and not target.tls:
            head.append(target.proxy.header)
        for name, text in headers:
            head += (name, b": ", text, b"\r\n")
        if body or method != "GET":
            head.append(b"Content-Length: %d\r\n" % len(body))
        head += (b"\r\n", body)
        self._begin(asking=True)
        if self._closed or self._transport is None:
            raise ConnectionBroken("the connection is closed")
        self._transport.write(b"".join(head))
        while not self._head_complete:
            await self._wait(seconds)

    async def read(self, *, seconds: float) -> bytes:
        """Returns the body bytes received since the last call; empty at the end. Raises: ConnectionBroken, TimeoutError, OSError."""
        while not self._pieces:
            if self._done:
                return b""
            await self._wait(seconds)
        piece = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return piece

    async def _wait(self, seconds: float) -> None:
        """Waits for data. Runs for every piece, so one timer serves all waits and checks whether the last one is overdue."""
        if self._fault is not None:
            raise self._fault
        self._waiting = self._loop.create_future()
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._set_timer(self._deadline)
        try:
            await self._waiting
        finally:
            self._waiting = None

    def _set_timer(self, when: float) -> None:
        self._drop_timer()
        self._timer = self._loop.call_at(when, self._check_timer)

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_timer(self) -> None:
        self._timer = None
        if self._waiting is None and self._asking:
            return  # the next wait sets it again
        if self._loop.time() < self._deadline:
            self._set_timer(self._deadline)
            return
        self._fail(TimeoutError())  # overdue, or idle for too long

    # --- between two exchanges

    def rest(self, seconds: float) -> bool:
        """Keeps the connection idle. Returns False, and closes it, if it cannot be used again."""
        if not (self._done and self._reusable) or self._spoiled or self._closed or self._fault is not None:
            self.abort()
            return False
        self._begin(asking=False)
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self._set_timer(self._deadline)
        return True

    @property
    def usable(self) -> bool:
        return not self._closed

    def abort(self) -> None:
        self._closed = True
        self._drop_timer()
        if self._transport is not None:
            self._transport.abort()

    # --- callbacks of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # TCP and TLS transports can both write

    def data_received(self, data: bytes) -> None:
        if not self._asking or self._done:
            self.abort()  # unexpected data while idle
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._fail(ConnectionBroken("what it sent is not HTTP"))

    def connection_lost(self, error: Exception | None) -> None:
        self._closed = True
        self._drop_timer()
        if self._done or not self._asking:
            return
        if error is None and self._head_complete and not self._has_length():
            self._done = True  # a response without a length ends with its connection
            self._wake()
            return
        self._fail(error if isinstance(error, OSError) else ConnectionBroken("it closed the connection"))

    def _has_length(self) -> bool:
        return any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in self.headers)

    # --- callbacks of the parser

    def on_message_begin(self) -> None:
        if self._done:  # a second response to one request: the connection is not usable any more
            self._spoiled = True

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > MAX_HEAD:
            self._fail(ConnectionBroken("its headers are too long"))
            return
        if not self._head_complete:  # headers after the body are trailers
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._spoiled:
            return
        self.status = self._parser.get_status_code()
        if self.status >= 200:
            self._head_complete = True
            self._wake()

    def on_body(self, piece: bytes) -> None:
        if self._spoiled:
            return
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > HIGH_WATER and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        if self._spoiled:
            self._reusable = False
            return
        if not self._head_complete:  # an interim response such as 100 Continue: the final one follows
            self.headers.clear()
            return
        self._done, self._reusable = True, bool(self._parser.should_keep_alive())
        self._wake()

    def _fail(self, error: Exception) -> None:
        if self._fault is None:
            self._fault = error
        self.abort()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(self._fault)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


class HttpRoute(TypedDict):
    """Request arguments that route the session to one provider."""

    ssl: ssl.SSLContext | bool
    proxy: str | None


class HttpPool:
    """Opens `session()` on first use; `aclose()` at the end. It opens again after that, so a restart in place is possible."""

    def __init__(self) -> None:
        self.connections = Http1Pool()
        self._session: aiohttp.ClientSession | None = None

    def session(self) -> "aiohttp.ClientSession":
        import aiohttp  # heavy: 0.3 CPU seconds and 12 MB, not needed without a provider

        if self._session is None or self._session.closed:
            # Each request sets its own time limits: an answer may rightly take minutes.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def route_to(self, upstream: Upstream) -> HttpRoute:
        """Raises: ProviderFault if the provider cannot be reached this way."""
        target = upstream.target()
        try:
            return {"ssl": context_for(target.ca_file) if target.tls else True, "proxy": upstream.proxy}
        except BadAuthority as error:
            raise upstream.unreachable(error) from None

    async def aclose(self) -> None:
        self.connections.close()
        if self._session is not None:
            await self._session.close()
