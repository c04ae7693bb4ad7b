"""Parses the head of a request to the proxy strictly: anything ambiguous is refused. Pure."""

import re

from anycowork.domain.network import Destination, read_destination
from anycowork.domain.values import value

_REQUEST = re.compile(r"([A-Z]{1,20}) ([!-~]{1,8192}) HTTP/1\.[01]")
_FIELD_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_AUTHORITY = re.compile(r"http://([^/?#]+)([/?][^#]*)?", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MOST_FIELDS = 100
_HTTP_PORT = 80
# Hop-by-hop headers; we set the length, so that nobody after us reads another one.
_NOT_PASSED_ON = frozenset(
    {"host", "connection", "keep-alive", "te", "trailer", "upgrade", "content-length", "transfer-encoding"}
)


class BadHead(ValueError):
    """`status` is the status of the response."""

    def __init__(self, says: str, status: int = 400) -> None:
        super().__init__(says)
        self.status = status


@value
class TunnelRequest:
    """CONNECT: any bytes in both directions, to this one destination."""

    to: Destination


@value
class ForwardRequest:
    """One plain request to this one destination: its head as forwarded, and how many bytes follow."""

    to: Destination
    head: bytes
    body: int


def read_head(head: bytes) -> TunnelRequest | ForwardRequest:
    """`head` is everything up to its empty line. Raises: BadHead."""
    lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    request = _REQUEST.fullmatch(lines[0])
    if request is None:
        raise BadHead("This is a proxy: it takes CONNECT host:port, or a request for http://host/path.")
    fields = _fields(lines[1:])
    method, target = request.groups()
    if method == "CONNECT":
        if _lengths(fields):
            raise BadHead("CONNECT carries no body.")
        return TunnelRequest(_destination(target))
    return _forward(method, target, fields)


def _fields(lines: list[str]) -> list[tuple[str, str]]:
    if len(lines) > _MOST_FIELDS:
        raise BadHead("The request has too many header fields.", 431)
    parsed_fields = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _FIELD_NAME.fullmatch(name) or _CONTROL.search(line):
            raise BadHead("A header field of the request is malformed.")
        parsed_fields.append((name, value.strip(" \t")))
    return parsed_fields


def _forward(method: str, target: str, fields: list[tuple[str, str]]) -> ForwardRequest:
    url = _AUTHORITY.fullmatch(target)
    if url is None:
        raise BadHead("This is a proxy: it takes CONNECT host:port, or a request for http://host/path.")
    to = _destination(url[1], default=_HTTP_PORT)
    if sum(name.lower() == "host" for name, _ in fields) > 1:
        raise BadHead("The request names its host twice.")
    lengths = _lengths(fields)
    if any(name.lower() == "transfer-encoding" for name, _ in fields):
        raise BadHead("A body in chunks is not passed on over plain http: give its length, or use https.", 411)
    if len(lengths) > 1 or not all(re.fullmatch(r"[0-9]{1,15}", length) for length in lengths):
        raise BadHead("The length of the request's body is not clear.")
    path = url[2] or "/"
    meant_for_us = _connection_fields(fields)
    host = str(to if to.port != _HTTP_PORT else Destination(to.host))
    passed = [
        f"{method} {path if path.startswith('/') else '/' + path} HTTP/1.1",
        f"Host: {host}",
        *(f"{name}: {value}" for name, value in fields if _is_passed_on(name, meant_for_us)),
        *(f"Content-Length: {length}" for length in lengths),
        "Connection: close",
    ]
    return ForwardRequest(to, "\r\n".join([*passed, "", ""]).encode("latin-1"), int(lengths[0]) if lengths else 0)


def _destination(text: str, default: int | None = None) -> Destination:
    try:
        read = read_destination(text)
    except ValueError as error:
        raise BadHead(f"{error}.") from None
    port = read.port or default
    if port is None or not read.is_literal:
        raise BadHead(f"'{text[:80]}' is not one host with its port.")
    return Destination(read.host, port)


def _lengths(fields: list[tuple[str, str]]) -> list[str]:
    return [value for name, value in fields if name.lower() == "content-length"]


def _connection_fields(fields: list[tuple[str, str]]) -> frozenset[str]:
    """Returns further hop-by-hop fields: those that `Connection` names."""
    connection_values = (value for name, value in fields if name.lower() == "connection")
    return frozenset(word.strip().lower() for value in connection_values for word in value.split(","))


def _is_passed_on(name: str, meant_for_us: frozenset[str]) -> bool:
    lowered = name.lower()
    return lowered not in _NOT_PASSED_ON and lowered not in meant_for_us and not lowered.startswith("proxy-")
