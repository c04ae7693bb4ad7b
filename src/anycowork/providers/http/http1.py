"""HTTP/1.1 to a provider with as little as possible in between: bytes out, the head, then the body's bytes as they come.

httptools reads the protocol; here are connections that are kept, time limits and backpressure. Nothing is decoded, followed or retried.
"""

import asyncio
from collections.abc import Sequence

import httptools

from anycowork.providers.http.certificates import context_for
from anycowork.providers.http.proxy_env import Target
from anycowork.providers.http.tunnel import through

KEPT_SECONDS = 30.0
MAX_HEAD = 128 * 1024
HIGH_WATER = 256 * 1024
HeaderPair = tuple[bytes, bytes]


class ConnectionBroken(Exception):
    """The other side closed too early, or does not speak HTTP."""


class Http1Pool:
    """Connections by where they lead, the last used first. Belongs to one event loop."""

    def __init__(self) -> None:
        self._idle: dict[Target, list[Http1Connection]] = {}

    async def take(self, target: Target, *, seconds: float) -> "Http1Connection":
        """A kept connection, or a new one. Raises: TimeoutError, OSError."""
        kept = self._idle.get(target)
        while kept:
            wire = kept.pop()
            if wire.usable:
                return wire
        async with asyncio.timeout(seconds):
            return await _connected(target)

    def give_back(self, target: Target, wire: "Http1Connection") -> None:
        """Kept for the next request if the last one ended cleanly; closed otherwise."""
        if wire.rest(KEPT_SECONDS):
            self._idle.setdefault(target, []).append(wire)

    def close(self) -> None:
        for wire in [wire for kept in self._idle.values() for wire in kept]:
            wire.abort()
        self._idle.clear()


async def _connected(target: Target) -> "Http1Connection":
    loop = asyncio.get_running_loop()
    wire, context = Http1Connection(loop), context_for(target.ca_file) if target.tls else None
    if target.proxy is not None and context is not None:
        await through(target.proxy, target, wire, context)
    else:
        place = target.proxy or target
        await loop.create_connection(lambda: wire, place.host, place.port, ssl=context)
    return wire


class Http1Connection(asyncio.Protocol):
    """One connection, one exchange at a time: `ask`, then `read` until it returns nothing, then back to whoever keeps it."""

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
        self._asking, self._headed, self._done, self._reusable = asking, False, False, False
        self._pieces: list[bytes] = []
        self._size = self._head_size = 0
        self._paused = self._spoiled = False
        self._fault: Exception | None = None

    # --- asking

    async def ask(
        self, target: Target, method: str, path: str, headers: Sequence[HeaderPair], body: bytes, *, seconds: float
    ) -> None:
        """Returns when the head is there: `status` and `headers`. Raises: Broken, TimeoutError, OSError."""
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
        while not self._headed:
            await self._wait(seconds)

    async def read(self, *, seconds: float) -> bytes:
        """What has come of the body since; empty at its end. Raises: Broken, TimeoutError, OSError."""
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
        """Until something comes. This is done for every piece, so one timer stands for all waits: it looks whether the last is overdue."""
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
        self._timer = self._loop.call_at(when, self._look)

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._waiting is None and self._asking:
            return  # the next wait sets it again
        if self._loop.time() < self._deadline:
            self._set_timer(self._deadline)
            return
        self._fail(TimeoutError())  # or it has rested for long enough

    # --- between two exchanges

    def rest(self, seconds: float) -> bool:
        """False if it cannot be used again; then it is closed."""
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

    # --- what the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # TCP and TLS are both transports that write

    def data_received(self, data: bytes) -> None:
        if not self._asking or self._done:
            self.abort()  # nobody asked for this
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
        if error is None and self._headed and not self._measured():
            self._done = True  # an answer without a length ends with its connection
            self._wake()
            return
        self._fail(error if isinstance(error, OSError) else ConnectionBroken("it closed the connection"))

    def _measured(self) -> bool:
        return any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in self.headers)

    # --- what the parser tells

    def on_message_begin(self) -> None:
        if self._done:  # a second answer to one request: it is nobody's, and so is the connection from here on
            self._spoiled = True

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > MAX_HEAD:
            self._fail(ConnectionBroken("its headers never end"))
            return
        if not self._headed:  # what comes after the body are trailers
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self._spoiled:
            return
        self.status = self._parser.get_status_code()
        if self.status >= 200:
            self._headed = True
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
        if not self._headed:  # "continue", and the like: the answer is still to come
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
