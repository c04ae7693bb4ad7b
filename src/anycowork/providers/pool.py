"""The connections that every provider shares: a client for what is read here, bare wires for what only passes. Closed by their owner."""

from typing import TYPE_CHECKING

from anycowork.providers.wire import Wires

if TYPE_CHECKING:
    import aiohttp


class HttpPool:
    """`session()` at first use, `aclose()` at the end; after that it opens anew, so a restart in place is possible."""

    def __init__(self, session: "aiohttp.ClientSession | None" = None) -> None:
        self.wires = Wires()
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

    async def aclose(self) -> None:
        self.wires.close()
        if self._session is not None:
            await self._session.close()
