"""Checks the host and origin of requests, against DNS rebinding and cross-site request forgery. Pure."""

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import Scope

from anycowork.api.asgi import header
from anycowork.domain.errors import NotAllowed
from anycowork.domain.network import is_loopback
from anycowork.domain.values import value

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class WrongHost(NotAllowed):
    code = "wrong_host"
    status = 421


class ForeignOrigin(NotAllowed):
    code = "foreign_origin"


@value
class AllowedHosts:
    """`names` are the allowed host names. Beyond loopback any literal address is allowed too, because it cannot be rebound."""

    names: frozenset[str]
    literals: bool

    @classmethod
    def of(cls, bound: str, extra: Iterable[str] = ()) -> "AllowedHosts":
        """`bound` is the address the server listens on."""
        names = LOOPBACK | {bound.lower().strip("[]")} | {name.lower() for name in extra}
        return cls(names=frozenset(names), literals=not is_loopback(bound))

    def check(self, scope: Scope, *, by_cookie: bool) -> None:
        """Raises: WrongHost, ForeignOrigin."""
        self.check_host(scope)
        _check_origin(scope, header(scope, b"host") or "", by_cookie=by_cookie)

    def check_host(self, scope: Scope) -> None:
        """Raises: WrongHost, also for a request with two hosts, which another server could interpret differently."""
        if sum(name == b"host" for name, _ in scope["headers"]) > 1:
            raise WrongHost("This request names two hosts. Send one Host header.")
        name = _name_of(header(scope, b"host") or "")
        if name in self.names or (self.literals and _is_address(name)):
            return
        raise WrongHost(
            f"This server does not answer to the host '{name[:100]}'. Use the address it was started with, or allow the name in its settings."
        )


def _check_origin(scope: Scope, host: str, *, by_cookie: bool) -> None:
    origin = header(scope, b"origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        raise ForeignOrigin("This request comes from another site's page. Only this server's own page may send it.")
    changing = scope["method"] not in _READING
    site = header(scope, b"sec-fetch-site")
    if (by_cookie or changing) and site not in (None, "same-origin", "none"):
        raise ForeignOrigin(
            "The browser says that another site started this request. Open this server's own page instead."
        )


def _name_of(host: str) -> str:
    """Returns the host without the port: `[::1]:8484` → `::1`. An invalid host matches nothing."""
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
