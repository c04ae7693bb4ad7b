"""Listens, publishes the address, and serves an ASGI app until it is told to stop. Knows sockets, signals and uvicorn; nothing of the app."""

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from anycowork import __version__
from anycowork.config.settings import Settings
from anycowork.domain.errors import Conflict
from anycowork.domain.ports import Clock
from anycowork.domain.values import replace, value
from anycowork.server.browser_sessions import BrowserSessions, SignInCode
from anycowork.server.data_folder import DataFolderLock, ServerInfo

log = logging.getLogger(__name__)
_TICK_SECONDS = 1.0  # the Date header may be this old
_LOOK_SECONDS = 0.005  # between two looks at what is still open at the end
NewCode = Callable[[float], SignInCode]
"""Makes a one-time sign-in code that is valid for this many seconds."""


class CannotListen(Conflict):
    code = "cannot_listen"


@value
class ListenAddress:
    """Where to listen (port 0: any free one), and how many seconds open requests get at shutdown."""

    host: str
    port: int
    grace_seconds: float


async def serve_app(
    app: ASGIApp, address: ListenAddress, *, stopping: asyncio.Event, ready: Callable[[int], None], handle_signals: bool
) -> None:
    """Serves until `stopping` is set or, if it handles signals, until a signal ends it; calls `ready` with the port.

    Raises: CannotListen.
    """
    listener = _listen(address)
    server = _Server(_config(app, address))
    with _signals(server, stopping) if handle_signals else _nothing():
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.serve(sockets=[listener]))
            try:
                await server.answering.wait()
                ready(listener.getsockname()[1])
                await stopping.wait()
            finally:
                stopping.set()
                server.end()
                server.stop_listening()


def loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    """Returns the event loop of servers and workers; None for Python's own."""
    try:
        import uvloop
    except ImportError:  # not available on Windows
        return None
    return uvloop.Loop


def tune_gc() -> None:
    """Freezes what startup created, so that the collector never scans it, and collects the rest less often: most objects die young.

    The few thousand objects that startup left unused stay too: to find them took a fourteenth of a start, and gave no memory back.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()  # disabled during startup


def _config(app: ASGIApp, address: ListenAddress) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # it would write tokens of the query into the log
        server_header=False,
        http=Connection,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        lifespan="off",
        proxy_headers=False,  # a client that sends `X-Forwarded-For` could choose whose guesses are slowed down
        ws="none",
        timeout_graceful_shutdown=max(1, int(address.grace_seconds)),
    )


class _Server(uvicorn.Server):
    """Reports when it answers, and leaves the signals to us: uvicorn would raise them again before the services are closed."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.answering = asyncio.Event()
        self._stop_requested = asyncio.Event()

    def end(self) -> None:
        self.should_exit = True
        self._stop_requested.set()

    def stop_listening(self) -> None:
        """Closes the sockets at once: a server that is cancelled would leave them open."""
        for listening in getattr(self, "servers", ()):
            listening.close()

    async def main_loop(self) -> None:
        """uvicorn polls ten times a second whether it should end; this loop is notified, and updates the time once a second."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._stop_requested.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Lets open requests end within the grace. uvicorn sleeps a tenth of a second first, even if nothing is open."""
        self.stop_listening()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                await asyncio.sleep(0)  # closed connections are forgotten in the next turn of the loop
                while self._is_busy() and not self.force_exit:  # noqa: ASYNC110  # uvicorn has no event for it
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            log.warning("%s requests did not end in time and are cancelled", len(self.server_state.tasks))
            for task in self.server_state.tasks:
                task.cancel()

    def _is_busy(self) -> bool:
        return bool(self.server_state.connections or self.server_state.tasks)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.answering.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listen(address: ListenAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listener = socket.create_server((address.host, address.port), family=family, backlog=2048)
    except OSError as error:
        raise CannotListen(_cannot_listen(address, error)) from error
    # Connections inherit it. asyncio sets it only where a socket names its protocol: without it the second write of an answer waits 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


_NOT_OURS = {errno.EADDRNOTAVAIL, socket.EAI_NONAME, socket.EAI_AGAIN, socket.EAI_FAIL}


def _cannot_listen(address: ListenAddress, error: OSError) -> str:
    if error.errno in _NOT_OURS:
        return f"'{address.host}' is not an address of this machine, so nothing can listen there. Name another with --host."
    way_out = "Choose another with --port, or 0 for any."
    if error.errno == errno.EADDRINUSE:
        return f"Port {address.port} on {address.host} is in use by another program. {way_out}"
    if error.errno == errno.EACCES:
        return f"Port {address.port} on {address.host} is reserved for system services. {way_out}"
    return f"Port {address.port} on {address.host} cannot be used ({os.strerror(error.errno or 0)}). {way_out}"


@contextmanager
def _signals(server: uvicorn.Server, stopping: asyncio.Event) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stopping.is_set():
            server.force_exit = True  # second signal: do not wait for open requests
        stopping.set()

    numbers = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # otherwise it was started with nohup
        numbers.append(signal.SIGHUP)  # its terminal was closed
    for number in numbers:
        loop.add_signal_handler(number, on_signal)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


HEAD_SECONDS = 30.0
HEAD_BYTES = 64 * 1024
# Longer than clients keep an idle connection: the server closes last, so no client sends into a closed one.
KEEP_ALIVE_SECONDS = 75


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, which would wait forever for a half-sent head. `head_seconds` and `head_bytes` limit it."""

    head_seconds = HEAD_SECONDS
    head_bytes = HEAD_BYTES
    _deadline: asyncio.TimerHandle | None = None
    _in_head = False
    _so_far = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        had_begun = self._in_head
        super().data_received(data)
        if not self._in_head:
            return
        self._so_far = self._so_far + len(data) if had_begun else 0
        if self._so_far > self.head_bytes:
            self._reject(b"431 Request Header Fields Too Large", "The request's headers are too large. Send fewer.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        if self._deadline is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._forget_deadline()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._reject(b"400 Bad Request", "This is not a valid HTTP request.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self._on_head_timeout)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _on_head_timeout(self) -> None:
        self._deadline = None
        if self._answering():  # the next request waits behind a running response
            self._await_head()
        elif self._in_head:
            self._reject(b"408 Request Timeout", "The request's head did not arrive in time.")
        else:
            self.transport.close()  # nothing was sent

    def _answering(self) -> bool:
        return not getattr(self.cycle, "response_complete", True)  # there is no cycle before the first request

    def _reject(self, status: bytes, reason: str) -> None:
        self._forget_deadline()
        self._in_head = False
        if self.transport.is_closing():
            return
        if not self._answering():  # otherwise this text would appear in the middle of a response
            body = (
                b'{"error":{"code":"bad_head","message":"%b","param":null,"type":"invalid_request_error"}}'
                % reason.encode()
            )
            head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            self.transport.write(head % (status, len(body)) + body)
        self.transport.close()


class Announcement:
    """Publishes where the server answers. The address stays the same when the server joins again."""

    def __init__(
        self,
        settings: Settings,
        folder: DataFolderLock,
        clock: Clock,
        ready: Callable[[ServerInfo, NewCode], None] | None,
    ) -> None:
        self.address = ListenAddress(settings.host, settings.port, settings.shutdown_seconds)
        self.published = False
        self._folder = folder
        self._clock = clock
        self._ready = ready

    def publish(self, sessions: BrowserSessions, port: int) -> None:
        self.address = replace(self.address, port=port)
        name = self.address.host
        info = ServerInfo(
            pid=os.getpid(),
            url=f"http://{f'[{name}]' if ':' in name else name}:{port}",
            host=name,
            port=port,
            started_at=self._clock.now(),
            version=__version__,
        )
        self._folder.announce(info)
        if self.published:
            log.warning("this server has joined the others again, and answers at %s", info.url)
        elif self._ready:
            self._ready(info, lambda seconds: sessions.offer(seconds))
        self.published = True
