"""Filters the headers that pass the gateway in each direction. Pure. Hop-by-hop headers and credentials are not forwarded."""

import re
from collections.abc import Iterable
from urllib.parse import quote

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
        b"x-anycowork-page-key",
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

_HARMLESS = frozenset({b"accept", b"content-type", b"user-agent"})
# They choose whose account pays. The owner's key belongs to one account, and no program chooses another.
_ACCOUNTS = frozenset({b"openai-organization", b"openai-project", b"x-goog-user-project", b"anthropic-workspace-id"})

_NOT_SENT_ON = _CONNECTION | _OURS | _ACCOUNTS
_NOT_SENT_BACK = _CONNECTION | _THEIRS
_PLAIN = re.compile(rb"[\t -~]*")  # nothing else is written into another server's request
_USUAL = (b"keep-alive", b"close", b"")
_OPENED = (b"gzip", b"x-gzip", b"deflate", b"identity")  # `usage_watch` decodes these

_IN_ADDRESSES = "".join(map(chr, range(0x21, 0x7F)))

HeaderPairs = Iterable[tuple[bytes, bytes]]


def towards_provider(headers: HeaderPairs) -> list[tuple[bytes, bytes]]:
    """A client's headers as its provider gets them; names are lower-case, as ASGI has them."""
    pairs = list(headers)
    passed_on = _without(pairs, _NOT_SENT_ON, _OUR_NETWORK)
    plain = _PLAIN.fullmatch
    return [_readable(pair) for pair in passed_on if plain(pair[0]) and plain(pair[1])]


def towards_provider_limited(headers: HeaderPairs) -> list[tuple[bytes, bytes]]:
    """Of a key with a limit: what the body is and who sent it, and nothing that chooses an account, a model or a price.

    The answer comes unpacked, so that what it tells of its use can be read and taken out.
    """
    harmless = [(name, value) for name, value in towards_provider(headers) if name in _HARMLESS]
    return [*harmless, (b"accept-encoding", b"identity")]


def towards_client(headers: HeaderPairs) -> list[tuple[bytes, bytes]]:
    """A provider's headers as the client gets them."""
    return _without([(name.lower(), value) for name, value in headers], _NOT_SENT_BACK, _THEIR_ORIGIN)


def towards_provider_query(query: bytes) -> str:
    """What stood behind the question mark, as it was; bytes that may not stand in an address are escaped."""
    return quote(query, safe=_IN_ADDRESSES)


def _readable(pair: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """A client may take encodings that are not opened here; in one of them an answer could be counted by guess only."""
    if pair[0] != b"accept-encoding":
        return pair
    encodings = [word.strip() for word in pair[1].split(b",") if word.split(b";")[0].strip().lower() in _OPENED]
    return pair[0], b", ".join(encodings) or b"identity"


def _without(
    pairs: list[tuple[bytes, bytes]], dropped: frozenset[bytes], beginnings: tuple[bytes, ...]
) -> list[tuple[bytes, bytes]]:
    for name, value in pairs:
        if name == b"connection" and value.strip().lower() not in _USUAL:
            dropped = dropped | _named_in(value)
    return [pair for pair in pairs if pair[0] not in dropped and not pair[0].startswith(beginnings)]


def _named_in(connection: bytes) -> frozenset[bytes]:
    """`Connection` may name further headers that end here."""
    return frozenset(name.strip().lower() for name in connection.split(b","))
