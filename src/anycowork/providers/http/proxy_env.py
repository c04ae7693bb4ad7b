"""Decides how a provider is reached: the target of its base URL, and the proxy that the environment names for it. Pure."""

import base64
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import quote, unquote, urlsplit

from anycowork.domain.network import is_loopback
from anycowork.domain.values import value

_IN_PATHS = "/%:@!$&'()*+,;=~-._"


class UnusableProxy(ValueError):
    """This address, or its proxy's, is not usable; the message says why, without secrets."""


@value
class ProxyServer:
    """`header` is the proxy's authorization: a whole header line, or nothing."""

    host: str
    port: int
    header: bytes = field(default=b"", repr=False)


@value
class HttpTarget:
    """`prefix` precedes a request's path.

    `proxy` is the server to connect to instead; `ca_file` holds authorities trusted for the target.
    """

    host: str
    port: int
    tls: bool
    prefix: str
    host_header: bytes
    proxy: ProxyServer | None = None
    ca_file: str | None = None


@lru_cache(maxsize=256)
def target_of(base_url: str, proxy_url: str | None = None, ca_file: str | None = None) -> HttpTarget:
    """Raises: UnusableProxy."""
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        raise UnusableProxy("it is not a web address") from None
    if not parts.hostname or parts.scheme not in ("http", "https"):
        raise UnusableProxy("it is not a web address")
    tls = parts.scheme == "https"
    usual = 443 if tls else 80
    name = _in_ascii(parts.hostname)
    bracketed = f"[{name}]" if ":" in name else name
    host_header = bracketed if (port or usual) == usual else f"{bracketed}:{port}"
    path = quote(parts.path.rstrip("/"), safe=_IN_PATHS)
    proxy = _proxy(proxy_url) if proxy_url else None
    # An HTTP proxy gets the whole address in the request; for TLS it opens a tunnel and sees no content.
    prefix = f"http://{host_header}{path}" if proxy and not tls else path
    return HttpTarget(name, port or usual, tls, prefix, host_header.encode(), proxy, ca_file)


def proxy_for(base_url: str, environment: Mapping[str, str]) -> str | None:
    """Returns the value of `HTTPS_PROXY`, `HTTP_PROXY` or `ALL_PROXY` for this address, unless `NO_PROXY` exempts it. Addresses of
    this machine never use a proxy."""
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if not host or is_loopback(host):
        return None
    proxy = _either(f"{parts.scheme}_proxy", environment) or _either("all_proxy", environment)
    if not proxy or _is_exempt(host, port, _either("no_proxy", environment)):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _either(name: str, environment: Mapping[str, str]) -> str:
    return (environment.get(name) or environment.get(name.upper()) or "").strip()


def _is_exempt(host: str, port: int | None, exceptions: str) -> bool:
    """Matches by name including subdomains, by name and port, by address, or by network (`10.0.0.0/8`)."""
    return any(_matches(host, port, word.lower()) for word in exceptions.replace(",", " ").split())


def _matches(host: str, port: int | None, word: str) -> bool:
    if word == "*":
        return True
    if network := _network(word.strip("[]")):
        return (address := _address(host)) is not None and address in network
    name, _, only = word.removeprefix("*").removeprefix(".").partition(":")
    return (host == name or host.endswith(f".{name}")) and (not only or only == str(port))


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _network(word: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(word, strict=False)
    except ValueError:
        return None


def _proxy(url: str) -> ProxyServer:
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError:
        raise UnusableProxy("the proxy that the environment names for it is not a web address") from None
    if parts.scheme != "http" or not parts.hostname:
        raise UnusableProxy(
            f"the environment names a {parts.scheme} proxy for it. Only http:// proxies are supported. "
            "Set HTTPS_PROXY to one, or add this host to NO_PROXY"
        )
    if parts.username is None:
        return ProxyServer(_in_ascii(parts.hostname), port)
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return ProxyServer(
        _in_ascii(parts.hostname), port, b"Proxy-Authorization: Basic " + base64.b64encode(credentials) + b"\r\n"
    )


def _in_ascii(name: str) -> str:
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        raise UnusableProxy("its host is not a name") from None
