"""The connections that every provider shares: a client for what is read here, bare wires for what only passes. Closed by their owner."""

import ssl
from typing import TYPE_CHECKING, TypedDict

from anycowork.providers.http.certificates import BadAuthority, context_for
from anycowork.providers.http.http1 import Http1Pool
from anycowork.providers.openai.upstream import Upstream

if TYPE_CHECKING:
    import aiohttp


class HttpRoute(TypedDict):
    """How the session goes to one provider, as it is told with each request."""

    ssl: ssl.SSLContext | bool
    proxy: str | None


class HttpPool:
    """`session()` at first use, `aclose()` at the end; after that it opens anew, so a restart in place is possible."""

    def __init__(self, session: "aiohttp.ClientSession | None" = None) -> None:
        self.wires = Http1Pool()
        self._session = session

    def session(self) -> "aiohttp.ClientSession":
        import aiohttp  # heavy: 0.3 CPU seconds and 12 MB that a house without a provider never needs

        if self._session is None or self._session.closed:
            # Time limits are set request by request: an answer may rightly take minutes.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=30),
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session

    def way_to(self, upstream: Upstream) -> HttpRoute:
        """Raises: ProviderFault if there is none."""
        target = upstream.target()
        try:
            return {"ssl": context_for(target.ca_file) if target.tls else True, "proxy": upstream.proxy}
        except BadAuthority as error:
            raise upstream.unreachable(error) from None

    async def aclose(self) -> None:
        self.wires.close()
        if self._session is not None:
            await self._session.close()
