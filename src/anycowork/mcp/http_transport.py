"""Remote servers as transports of the SDK: SSE and streamable HTTP, each answer bounded."""

import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anycowork.domain.mcp_servers import McpServerConfig

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

LARGEST_ANSWER = 4_000_000
_ASK = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_ACCEPT = {"Accept": "application/json, text/event-stream"}


def remote_transport(
    server: McpServerConfig, *, auth: Any = None, unauthorized: Callable[[], None] = lambda: None
) -> "AbstractAsyncContextManager[TransportStreams]":
    """`unauthorized` is called when the server answers 401. Nothing of the SDK is imported before this is called."""
    assert server.url is not None
    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    client = partial(_client, server.url, unauthorized)
    if server.kind == "sse":
        from mcp.client.sse import sse_client

        return sse_client(server.url, headers=headers, httpx_client_factory=client, auth=auth)
    return _streamable(server.url, client(headers=headers, auth=auth))


async def ask_for_sign_in(server: McpServerConfig, auth: Any) -> None:
    """Asks the server for something, so that it wants to know who asks. `auth` then has a person log in. Raises: what the SDK raises."""
    assert server.url is not None
    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    async with _client(server.url, lambda: None, headers={**headers, **_ACCEPT}, auth=auth) as client:
        await (client.get(server.url) if server.kind == "sse" else client.post(server.url, json=_ASK))


@asynccontextmanager
async def _streamable(url: str, http: "httpx2.AsyncClient") -> AsyncIterator["TransportStreams"]:
    from mcp.client.streamable_http import streamable_http_client

    async with (
        http as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST_ANSWER) as streams,
    ):
        yield streams


def _client(
    url: str,
    unauthorized: Callable[[], None],
    headers: dict[str, Any] | None = None,
    timeout: Any = None,
    auth: Any = None,
) -> "httpx2.AsyncClient":
    """The SDK's client, over a transport that counts. Proxies of the environment are not used: a remote server is reached directly."""
    import httpx2

    wait = timeout or httpx2.Timeout(30.0, read=300.0)
    return httpx2.AsyncClient(
        headers=headers, timeout=wait, auth=auth, transport=_bounded_transport(urlsplit(url).netloc, unauthorized)
    )


def _bounded_transport(own: str, unauthorized: Callable[[], None]) -> "httpx2.AsyncBaseTransport":
    import httpx2

    class BoundedStream(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            """An event stream is counted event by event, everything else as a whole."""
            size = 0
            async for piece in self._stream:
                size = len(piece) - piece.rfind(b"\n\n") - 2 if b"\n\n" in piece else size + len(piece)
                if size > LARGEST_ANSWER:
                    raise httpx2.ReadError(f"the answer has more than {LARGEST_ANSWER:,} bytes")
                yield piece

        async def aclose(self) -> None:
            await self._stream.aclose()

    class BoundedTransport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: "httpx2.Request") -> "httpx2.Response":
            """A server names its authorization server. It cannot name one inside of this network: only TLS to a host name is spoken."""
            asked = urlsplit(str(request.url))
            if asked.netloc != own and (asked.scheme != "https" or _is_local(asked.hostname or "")):
                raise httpx2.UnsupportedProtocol(f"the server sends us to {asked.netloc[:200]}, which is not used")
            response = await super().handle_async_request(request)
            if response.status_code == 401 and asked.netloc == own:
                unauthorized()
            response.stream = BoundedStream(response.stream)
            return response

    return BoundedTransport()


def _is_local(host: str) -> bool:
    """Whether it is an address, or a name of this machine or network, instead of a name on the internet."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." not in host.rstrip(".") or host.endswith((".localhost", ".local", ".internal"))
    return True
