"""Sends one HTTP request through the checked dialer, and reads a bounded response. It follows nothing and unpacks nothing."""

import asyncio
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any  # of httpcore2, which is loaded late

from anycowork.domain.errors import ToolFault, ToolTimedOut
from anycowork.domain.network import WebAddress
from anycowork.domain.values import value
from anycowork.sandbox.network.dialer import CheckedDialer, NetworkReach, NetworkReport, NotReached, Streams
from anycowork.sandbox.network.egress import Egress

MOST_BYTES = 10 << 20
SECONDS = 30.0
_AGENT = "AnyCowork (a person's assistant)"


class PageNotRead(ToolFault):
    code = "page_not_read"


@value
class WebResponse:
    """`headers` by their names in lower case; of several with one name the last."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class WebClient:
    """Reaches what one call may reach: the dialer checks each connection's address again."""

    def __init__(self, egress: Egress, reach: NetworkReach) -> None:
        self._egress = egress
        self._reach = reach

    async def request(
        self,
        address: WebAddress,
        *,
        headers: Mapping[str, str],
        content: bytes | None = None,
        most_bytes: int = MOST_BYTES,
        seconds: float | None = None,
        reads_body: bool = True,
    ) -> WebResponse:
        """Gets the address, or posts `content` to it. Raises: PageNotRead, ToolTimedOut."""
        httpcore, context = await asyncio.to_thread(_http_library)
        dialer = self._egress.dialer(self._reach, NetworkReport())
        sent = {"User-Agent": _AGENT, "Accept-Encoding": "gzip, deflate", **headers, "Host": address.host_header}
        url = httpcore.URL(
            scheme=address.scheme.encode(),
            host=address.destination.host.encode(),
            port=address.destination.port,
            target=address.target.encode(),
        )
        try:
            async with (
                asyncio.timeout(seconds or SECONDS),
                httpcore.AsyncConnectionPool(
                    ssl_context=context,
                    network_backend=_CheckedBackend(dialer, address),
                ) as pool,
                pool.stream("GET" if content is None else "POST", url, headers=[*sent.items()], content=content) as got,
            ):
                response_headers = {
                    name.decode("latin-1").lower(): text.decode("latin-1") for name, text in got.headers
                }
                body = await _bounded(got, response_headers, most_bytes) if reads_body else b""
                return WebResponse(got.status, response_headers, body)
        except NotReached as refusal:
            raise PageNotRead(str(refusal)) from None
        except TimeoutError:
            missing = "send the page" if reads_body else "answer"
            raise ToolTimedOut(
                f"{address.destination} did not {missing} within {seconds or SECONDS:.0f} seconds."
            ) from None
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.UnsupportedProtocol,
            OSError,
            EOFError,
        ) as error:
            reason = str(getattr(error, "reason", "") or getattr(error, "strerror", "") or type(error).__name__)[:200]
            raise PageNotRead(f"{address.destination} could not be read ({reason}).") from None


async def _bounded(got: Any, headers: Mapping[str, str], most_bytes: int) -> bytes:
    too_large = PageNotRead(f"The page is larger than {most_bytes >> 20} MB, so it was not read.")
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length[:18]) > most_bytes:
        raise too_large
    body = bytearray()
    async for piece in got.aiter_stream():
        body += piece
        if len(body) > most_bytes:
            raise too_large
    return bytes(body)


@lru_cache(maxsize=1)
def _http_library() -> tuple[Any, ssl.SSLContext]:
    """Loads both with the first request. Blocking: the library takes a while to load."""
    import httpcore2

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return httpcore2, context


class _CheckedBackend:
    """httpcore's network, for the one destination of a request."""

    def __init__(self, dialer: CheckedDialer, address: WebAddress) -> None:
        self._dialer = dialer
        self._to = address.destination

    async def connect_tcp(self, host: str, port: int, **_options: object) -> "_StreamPair":
        return _StreamPair(await self._dialer.connect(self._to))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _StreamPair:
    """httpcore's view of a connection. The request's own timeout bounds every wait."""

    def __init__(self, streams: Streams) -> None:
        self._reader, self._writer = streams

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._reader.read(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._writer.write(buffer)
        await self._writer.drain()

    async def aclose(self) -> None:
        self._writer.transport.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_StreamPair":
        await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        return self

    def get_extra_info(self, info: str) -> object:
        return None
