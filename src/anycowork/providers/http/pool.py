"""The connections that all providers share: an HTTP client for our own requests, raw connections for the passthrough.

Closed by their owner.
"""

import ssl
from typing import TYPE_CHECKING, TypedDict

from anycowork.providers.http.certificates import BadAuthority, context_for
from anycowork.providers.http.http1 import Http1Pool
from anycowork.providers.openai.upstream import Upstream

if TYPE_CHECKING:
    import aiohttp


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
