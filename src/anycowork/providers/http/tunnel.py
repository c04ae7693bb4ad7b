"""Opens a tunnel through a proxy and uses TLS inside it, so that the proxy sees neither key nor content."""

import asyncio
import ssl

from anycowork.domain.visible_text import os_reason
from anycowork.providers.http.proxy_env import HttpTarget, ProxyServer

MAX_HEAD = 16 * 1024


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
        elif len(self._head) > MAX_HEAD:
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
