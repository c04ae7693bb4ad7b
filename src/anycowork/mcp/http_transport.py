"""Remote servers as transports of the SDK: SSE and streamable HTTP, each answer bounded."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.mcp.answer_limits import LARGEST_ANSWER, AnswerRefused, answer_limit

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

_ASK = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_ACCEPT = {"Accept": "application/json, text/event-stream"}


def remote_transport(
    server: McpServerConfig, *, auth: Any, unauthorized: Callable[[], None], note: Callable[[bytes], None]
) -> "AbstractAsyncContextManager[TransportStreams]":
    """`unauthorized` is called when the server answers 401, `note` with the reason why an answer is not taken.

    Nothing of the SDK is imported before this is called.
    """
    assert server.url is not None
    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    client = partial(_client, server.url, unauthorized, note)
    if server.kind == "sse":
        from mcp.client.sse import sse_client

        return sse_client(server.url, headers=headers, httpx_client_factory=client, auth=auth)
    return _streamable(server.url, client(headers=headers, auth=auth))


async def ask_for_sign_in(server: McpServerConfig, auth: Any) -> None:
    """Asks the server for something, so that it wants to know who asks. `auth` then has a person log in. Raises: what the SDK raises."""
    assert server.url is not None
    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    async with _client(server.url, lambda: None, lambda _: None, headers={**headers, **_ACCEPT}, auth=auth) as client:
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
    note: Callable[[bytes], None],
    headers: dict[str, Any] | None = None,
    timeout: Any = None,
    auth: Any = None,
) -> "httpx2.AsyncClient":
    """The SDK's client, over a transport that counts. Proxies of the environment are not used: a remote server is reached directly."""
    import httpx2

    wait = timeout or httpx2.Timeout(30.0, read=300.0)
    return httpx2.AsyncClient(
        headers=headers, timeout=wait, auth=auth, transport=_bounded_transport(urlsplit(url).netloc, unauthorized, note)
    )


def _bounded_transport(
    own_host: str, unauthorized: Callable[[], None], note: Callable[[bytes], None]
) -> "httpx2.AsyncBaseTransport":
    import httpx2

    class BoundedTransport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: "httpx2.Request") -> "httpx2.Response":
            """A server names its authorization server. It cannot name one inside of this network: only TLS to a host name is spoken.

            An answer is taken as it is: a compressed one could grow a thousandfold, and another charset would hide what it holds.
            """
            target = urlsplit(str(request.url))
            if target.netloc != own_host and (target.scheme != "https" or _is_local(target.hostname or "")):
                raise httpx2.UnsupportedProtocol(f"the server sends us to {target.netloc[:200]}, which is not used")
            request.headers["Accept-Encoding"] = "identity"
            response = await super().handle_async_request(request)
            if response.status_code == 401 and target.netloc == own_host:
                unauthorized()
            if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
                await response.aclose()
                raise _refused_answer("the answer is compressed, and we asked for one that is not", note)
            response.encoding = "utf-8"
            response.stream = _bounded_stream(response, note)
            return response

    return BoundedTransport()


def _bounded_stream(response: "httpx2.Response", note: Callable[[bytes], None]) -> "httpx2.AsyncByteStream":
    import httpx2

    stream: Any = response.stream
    limit = answer_limit(response.headers.get("content-type", ""))

    class BoundedStream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for piece in stream:
                    if passed := limit.checked(piece):
                        yield passed
                if passed := limit.rest():
                    yield passed
            except AnswerRefused as refused:
                raise _refused_answer(str(refused), note) from None

        async def aclose(self) -> None:
            await stream.aclose()

    return BoundedStream()


def _refused_answer(reason: str, note: Callable[[bytes], None]) -> "httpx2.ReadError":
    import httpx2

    note(f"the session was ended: {reason}".encode())
    return httpx2.ReadError(reason)


def _is_local(host: str) -> bool:
    """Whether it is an address, in any of the ways to write one, or a name of this machine or network, instead of a name on the internet."""
    name = host.rstrip(".")
    last_label = name.rpartition(".")[2]
    is_address = ":" in name or last_label.isdigit() or last_label.startswith("0x")
    return is_address or "." not in name or name.endswith((".localhost", ".local", ".internal"))
