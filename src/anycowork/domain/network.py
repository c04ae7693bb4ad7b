"""Parses network destinations (hosts and ports) into one canonical spelling for people, rules and the proxy. Pure.

`sandbox/network/dialer.py` resolves names and refuses private addresses.
"""

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote, urljoin, urlsplit

from anycowork.domain.values import value

NETWORK = "network"  # the tool name in rules; its resource is a destination
WEB_PORTS = (443, 80)
MOST_DESTINATIONS = 40
_ANYWHERE = "*"
_BELOW = "*."
_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_LONGEST_HOST = 260
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"[0-9]{1,5}")
_DOTS = dict.fromkeys((0x3002, 0xFF0E, 0xFF61), ".")  # what IDNA reads as a dot
_SCHEMES = ("http:", "https:", "ftp:", "ws:", "wss:")  # after these, browsers do without the slashes
_FILE_ENDING_LIST = """
bak bin bmp c cfg conf cpp css csv db doc docx eml gif gz h htm html ico ics ini ipynb jpeg jpg js json jsonl jsx lock log odt ods pdf
png ppt pptx properties rst rtf sql svg tar tex tmp toml ts tsv tsx txt vcf wav webp xls xlsx xml yaml yml"""
_FILE_ENDINGS = frozenset(_FILE_ENDING_LIST.split())  # no top-level domains
_FILE_OR_DOMAIN_ENDINGS = frozenset({"app", "cc", "java", "md", "me", "mov", "pl", "ps", "py", "rs", "sh", "so", "zip"})


@value
class Destination:
    """`host` is a lower-case name, an address, `*.name` (every subdomain, not the name itself), or `*`. `port` None means every port."""

    host: str
    port: int | None = None

    def covers(self, other: "Destination") -> bool:
        """Whether this destination includes the other one completely."""
        return self.port in (None, other.port) and _host_covers(self.host, other.host)

    def overlaps(self, other: "Destination") -> bool:
        """Whether both destinations have something in common."""
        ports = None in (self.port, other.port) or self.port == other.port
        return ports and (_host_covers(self.host, other.host) or _host_covers(other.host, self.host))

    @property
    def is_literal(self) -> bool:
        """Whether it is a single host without wildcards."""
        return not self.host.startswith(_ANYWHERE)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


@lru_cache(maxsize=4096)
def read_destination(text: str) -> Destination:
    """Parses `host`, `host:port`, `[v6]:port`, also with `*.` or `*`. Raises: ValueError with the reason."""
    if not text.isascii():
        raise ValueError(f"'{text[:80]}' contains non-ASCII letters; write the name in its 'xn--' form")
    host, port = _parted(text.strip().lower())
    if host == _ANYWHERE:
        return Destination(host, port)
    below = _BELOW if host.startswith(_BELOW) else ""
    return Destination(below + _read_host(host.removeprefix(below), wild=bool(below)), port)


def wanted_destinations(texts: Iterable[str]) -> tuple[Destination, ...]:
    """Returns the destinations of a call, each with a port: a host without a port means 443 and 80. Raises: ValueError."""
    destinations: list[Destination] = []
    for text in texts:
        read = read_destination(text)
        if read.host == _ANYWHERE:
            raise ValueError(f"'{text[:80]}' includes every host; name the hosts that are needed")
        destinations += [read] if read.port else [Destination(read.host, port) for port in WEB_PORTS]
    if len(destinations) > MOST_DESTINATIONS:
        raise ValueError(f"names more than {MOST_DESTINATIONS} destinations; request fewer at a time")
    return tuple(dict.fromkeys(destinations))


def looks_like_address(text: str) -> bool:
    """Whether a program may take this text for an address to fetch: it holds a link, or is a host, alone or with a path. In doubt it may.

    A mail address is none. The name of a file is one only if its ending is a domain as well, and more than two names stand before it.
    """
    if "://" in text:
        return True
    word = text.strip()
    if word.startswith(("//", "\\\\")) or word[:6].lower().startswith(_SCHEMES):
        return True
    authority = re.split(r"[/?\\]", word, maxsplit=1)[0]
    has_path = len(authority) < len(word)
    user, _, host = authority.rpartition("@")
    host, colon, port = host.partition(":") if host.count(":") < 2 else (host, "", "")
    goes_on = has_path or (colon != "" and not _PORT.fullmatch(port))
    return not (user and not colon and not has_path) and _is_reachable_name(host, goes_on=goes_on)


def _is_reachable_name(host: str, *, goes_on: bool) -> bool:
    """Whether it is a numeric address, or a name in a domain. `goes_on`: a path follows."""
    if len(host) > _LONGEST_HOST:
        return False
    try:
        ipaddress.ip_address(host.strip("[]"))
        return True
    except ValueError:
        pass
    name = "".join(sign if sign.isascii() or not sign.isalnum() else "x" for sign in host.translate(_DOTS).lower())
    *above, ending = name.removesuffix(".").split(".")
    if not above or not _NAME.fullmatch(name.removesuffix(".")) or ending in _FILE_ENDINGS:
        return name == "localhost"
    if ending in _FILE_OR_DOMAIN_ENDINGS and len(above) == 1 and not goes_on:
        return False
    return (len(ending) > 1 and ending.isalpha()) or ending.startswith("xn--")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server on this address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _parted(text: str) -> tuple[str, int | None]:
    if "/" in text or "@" in text:
        raise ValueError(f"'{text[:80]}' is more than a host; write it like 'example.org' or 'example.org:8443'")
    if text.startswith("["):
        host, closed, suffix = text[1:].partition("]")
        if not closed or (suffix and not suffix.startswith(":")):
            raise ValueError(f"'{text[:80]}' is not an address with a port; write it like '[2001:db8::1]:443'")
        return f"[{host}", _read_port(suffix[1:], text) if suffix else None
    if text.count(":") > 1:
        return f"[{text}", None
    host, colon, port = text.partition(":")
    return host, _read_port(port, text) if colon else None


def _read_port(digits: str, text: str) -> int:
    if not _PORT.fullmatch(digits) or not 0 < int(digits) < 65_536:
        raise ValueError(f"'{text[:80]}' has no port between 1 and 65535 after its colon")
    return int(digits)


def _read_host(host: str, *, wild: bool) -> str:
    if host.startswith("["):
        return _read_v6(host[1:])
    name = host.removesuffix(".")
    if not _NAME.fullmatch(name):
        raise ValueError(f"'{host[:80]}' is not a host name; write it like 'example.org'")
    if not _NUMBER.fullmatch(name.rpartition(".")[2]):
        return name
    # Programs also accept 127.1, 0x7f000001 or 2130706433 as addresses; only the usual spelling is accepted here.
    try:
        if not wild:
            return str(ipaddress.IPv4Address(name))
    except ValueError:
        pass
    raise ValueError(f"'{host[:80]}' is an unusual spelling of an address; write it like '192.0.2.1'")


def _read_v6(host: str) -> str:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        raise ValueError(f"'{host[:80]}' is not an IPv6 address") from None
    if address.scope_id is not None or address.ipv4_mapped is not None:
        raise ValueError(f"'{host[:80]}' is an unusual spelling of an address; write the usual one")
    return str(address)


def _host_covers(pattern: str, host: str) -> bool:
    if pattern in (_ANYWHERE, host):
        return True
    return pattern.startswith(_BELOW) and host != _ANYWHERE and host.removeprefix("*").endswith(pattern[1:])


LONGEST_ADDRESS = 4_096
_PORTS = {"https": 443, "http": 80}
_PATH_SIGNS = "/%:@!$&'()*+,;=~-._"


@value
class WebAddress:
    """`target` is the path with the query, as a request names it."""

    scheme: str
    destination: Destination
    target: str

    @property
    def reach(self) -> tuple[Destination, ...]:
        """The destinations that a call for this page needs: on the usual ports, both of them, since http often leads to https."""
        host, port = self.destination.host, self.destination.port
        return (
            tuple(Destination(host, web_port) for web_port in WEB_PORTS) if port in WEB_PORTS else (self.destination,)
        )

    @property
    def host_header(self) -> str:
        usual = self.destination.port == _PORTS[self.scheme]
        return str(Destination(self.destination.host) if usual else self.destination)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host_header}{self.target}"

    def joined(self, reference: str) -> "WebAddress":
        """Returns where a link or redirect of this page leads. Raises: ValueError."""
        return read_address(urljoin(str(self), reference.strip()))


def read_address(text: str) -> WebAddress:
    """Raises: ValueError with the reason."""
    if len(text) > LONGEST_ADDRESS:
        raise ValueError(f"the address has more than {LONGEST_ADDRESS:,} letters")
    if any(char <= " " or char == "\x7f" for char in text):
        raise ValueError("the address contains spaces or control characters; write a space as %20")
    parts = urlsplit(text)
    if parts.scheme.lower() not in _PORTS or not parts.netloc:
        raise ValueError("write the whole address, such as https://example.org/page; only http and https are read")
    if "@" in parts.netloc:
        raise ValueError("an address with a name or password before the host is not read; leave that part out")
    destination = read_destination(parts.netloc)
    if not destination.is_literal:
        raise ValueError("name one host, without '*'")
    scheme = parts.scheme.lower()
    query = f"?{quote(parts.query, safe=_PATH_SIGNS + '?')}" if parts.query else ""
    target = quote(parts.path or "/", safe=_PATH_SIGNS) + query
    return WebAddress(scheme, Destination(destination.host, destination.port or _PORTS[scheme]), target)
