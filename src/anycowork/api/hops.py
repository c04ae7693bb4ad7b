"""Which headers cross the gateway, each way. Pure. What belongs to one connection, or to one side's trust, stays on its side."""

from collections.abc import Iterable

_CONNECTION = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
# Our credentials, and what a browser says of our own page. The length is counted anew where the body is sent.
_OURS = frozenset(
    {
        b"host",
        b"authorization",
        b"cookie",
        b"x-api-key",
        b"api-key",
        b"content-length",
        b"expect",
        b"origin",
        b"referer",
    }
)
_OUR_NETWORK = (b"sec-", b"x-forwarded-", b"x-real-ip", b"forwarded", b"via")
# Words about the provider's own site; from our address, a browser would take them for ours, and a client would carry its key along.
_THEIRS = frozenset(
    {
        b"set-cookie",
        b"location",
        b"refresh",
        b"server",
        b"date",
        b"alt-svc",
        b"strict-transport-security",
        b"clear-site-data",
        b"content-security-policy",
        b"referrer-policy",
        b"www-authenticate",
        b"x-frame-options",
        b"x-content-type-options",
    }
)
_THEIR_ORIGIN = (b"access-control-", b"cross-origin-", b"report", b"nel")

HeaderPairs = Iterable[tuple[bytes, bytes]]


def towards_provider(headers: HeaderPairs) -> list[tuple[str, str]]:
    """A client's headers as its provider gets them; names are lower-case, as ASGI has them."""
    pairs = list(headers)
    kept = _without(pairs, _OURS | _named_by_connection(pairs), _OUR_NETWORK)
    return [(name.decode("ascii"), value.decode("ascii")) for name, value in kept if _plain(name) and _plain(value)]


def towards_client(headers: HeaderPairs) -> list[tuple[bytes, bytes]]:
    """A provider's headers as the client gets them."""
    pairs = [(name.lower(), value) for name, value in headers]
    return _without(pairs, _THEIRS | _named_by_connection(pairs), _THEIR_ORIGIN)


def _without(
    pairs: list[tuple[bytes, bytes]], names: frozenset[bytes], beginnings: tuple[bytes, ...]
) -> list[tuple[bytes, bytes]]:
    dropped = _CONNECTION | names
    return [pair for pair in pairs if pair[0] not in dropped and not pair[0].startswith(beginnings)]


def _named_by_connection(pairs: list[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """`Connection` may name further headers that end here."""
    said = b",".join(value for name, value in pairs if name == b"connection")
    return frozenset(name.strip().lower() for name in said.split(b",") if name.strip())


def _plain(word: bytes) -> bool:
    """Printable ASCII. Nothing else is written into another server's request."""
    return word.isascii() and word.decode("ascii").replace("\t", " ").isprintable()
