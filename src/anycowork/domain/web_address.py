"""Parses the address of a web page strictly: http or https, one host, no credentials. Pure."""

from urllib.parse import quote, urljoin, urlsplit

from anycowork.domain.network import WEB_PORTS, Destination, read_destination
from anycowork.domain.values import value

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
