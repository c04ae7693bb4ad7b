"""Remote servers as transports of the SDK: SSE and streamable HTTP, each answer bounded."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from anycowork.domain.mcp_servers import McpServerConfig

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

LARGEST_ANSWER = 4_000_000


def remote_transport(server: McpServerConfig) -> "AbstractAsyncContextManager[TransportStreams]":
    """Nothing of the SDK is imported before this is called."""
    assert server.url is not None
    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    if server.kind == "sse":
        from mcp.client.sse import sse_client

        return sse_client(server.url, headers=headers, httpx_client_factory=_client)
    return _streamable(server.url, headers)


@asynccontextmanager
async def _streamable(url: str, headers: dict[str, str]) -> AsyncIterator["TransportStreams"]:
    from mcp.client.streamable_http import streamable_http_client

    async with (
        _client(headers=headers) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST_ANSWER) as streams,
    ):
        yield streams


def _client(headers: dict[str, Any] | None = None, timeout: Any = None, auth: Any = None) -> "httpx2.AsyncClient":
    """The SDK's client, over a transport that counts. Proxies of the environment are not used: a remote server is reached directly."""
    import httpx2

    wait = timeout or httpx2.Timeout(30.0, read=300.0)
    return httpx2.AsyncClient(headers=headers, timeout=wait, auth=auth, transport=_bounded_transport())


def _bounded_transport() -> "httpx2.AsyncBaseTransport":
    import httpx2

    class Counted(httpx2.AsyncByteStream):
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
            response = await super().handle_async_request(request)
            response.stream = Counted(response.stream)
            return response

    return BoundedTransport()
