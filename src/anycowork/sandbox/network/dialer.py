"""Connects to allowed destinations alone: resolves each name itself, checks every address, and dials the address that it checked.

A name whose address changes in between leads nowhere else. Commands' proxies and the tools that read the web connect through it.
"""

import asyncio
import ipaddress
import socket
import struct
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Protocol

from anycowork.domain.network import Destination
from anycowork.domain.values import mutable_value, value

_LISTENING = "0A"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_MOST_REPORTED = 50


class Network(Protocol):
    """Makes no decisions: the caller has checked what is allowed."""

    async def addresses(self, host: str) -> Sequence[str]:
        """Resolves the name, best address first. Raises: OSError."""

    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connects to exactly this address, never to a name. Raises: OSError."""


class RealNetwork:
    """Uses this machine's resolver and routes."""

    async def addresses(self, host: str) -> Sequence[str]:
        results = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(address[0]) for *_, address in results))

    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(address, port)


def is_own_address(address: str, port: int) -> bool:
    """Tells whether this process listens there. It reads the process's sockets, so that no listener can be forgotten. Blocking."""
    return _is_of_this_machine(address) and port in _own_ports()


def _is_of_this_machine(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _own_ports() -> set[int]:
    ours = {_led_to(fd) for fd in Path("/proc/self/fd").iterdir()}
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/self/net", table).read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == _LISTENING and f"socket:[{columns[9]}]" in ours:
                ports.add(int(columns[1].rpartition(":")[2], 16))
    return ports


def _led_to(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""  # closed meanwhile


@value
class NetworkReach:
    """Where a call may go. `private` are destinations that a permanent rule names literally: their address need not be public.

    `own_server`: this server itself may be reached too; never for what an agent runs.
    """

    allowed: tuple[Destination, ...]
    private: tuple[Destination, ...] = ()
    own_server: bool = False


@mutable_value
class NetworkReport:
    """Where the call connected to, and which destinations were refused and why."""

    reached: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def got(self, to: Destination) -> None:
        if str(to) in self.reached or len(self.reached) < _MOST_REPORTED:
            self.reached[str(to)] = self.reached.get(str(to), 0) + 1

    def not_got(self, to: Destination, reason: str) -> None:
        if len(self.refused) < _MOST_REPORTED:
            self.refused[str(to)] = reason


class NotReached(Exception):
    """`status` is that of an HTTP response that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class CheckedDialer:
    """Dials for one call, and writes into `report` what it reached and refused. `seconds` bound the lookup and the connection."""

    def __init__(self, reach: NetworkReach, outside: Network, report: NetworkReport, *, seconds: float) -> None:
        self._reach = reach
        self._outside = outside
        self._report = report
        self._seconds = seconds

    async def connect(self, to: Destination) -> Streams:
        """Connects to an allowed destination. Raises: NotReached."""
        try:
            addresses = await self._addresses(to)
            async with asyncio.timeout(self._seconds):
                connected = await self._dialled(addresses, to)
        except NotReached as refusal:
            self._report.not_got(to, str(refusal))
            raise
        except (OSError, TimeoutError, UnicodeError) as error:  # the last: a name that the resolver rejects
            message = f"{to} could not be reached ({getattr(error, 'strerror', None) or 'no answer in time'})."
            self._report.not_got(to, message)
            raise NotReached(502, message) from None
        self._report.got(to)
        return connected

    async def _addresses(self, to: Destination) -> list[str]:
        """Returns the checked addresses. Raises: NotReached, OSError, TimeoutError."""
        if not any(allowed.covers(to) for allowed in self._reach.allowed):
            allowed_list = ", ".join(map(str, self._reach.allowed))
            raise NotReached(403, f"{to} is not among the destinations that this command was allowed ({allowed_list}).")
        async with asyncio.timeout(self._seconds):
            resolved = [to.host] if _is_address(to.host) else list(await self._outside.addresses(to.host))
        kinds = {address: _why_refused(address) for address in resolved}
        good = [address for address in resolved if kinds[address] is None or to in self._reach.private]
        if not good:
            kind = next(iter(kinds.values()), None) or "no address at all"
            raise NotReached(
                403,
                f"{to} stands for {kind}, which commands do not reach unless a rule allows 'network' on exactly '{to}'.",
            )
        return good

    async def _dialled(self, addresses: list[str], to: Destination) -> Streams:
        assert to.port is not None  # every request names one
        failed: OSError | None = None
        for address in addresses:
            if not self._reach.own_server and await asyncio.to_thread(is_own_address, address, to.port):
                raise NotReached(403, f"{to} is this server itself, which no command reaches.")
            try:
                return await self._outside.connect(address, to.port)
            except OSError as error:
                failed = error
        raise failed or OSError("there is no address to try")


def _why_refused(address: str) -> str | None:
    """Returns why nothing here may reach this address. Checked for every connection: a machine's addresses change while it runs."""
    nearby = (why_nearby(inner) for inner in embedded_addresses(address))
    return why_not_public(address) or next((reason for reason in nearby if reason), None)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_TRANSLATED = ipaddress.IPv6Network("::ffff:0:0:0/96")  # SIIT
_ISATAP = (0x00005EFE, 0x02005EFE)
_SHARED = ipaddress.IPv4Network("100.64.0.0/10")
# In addition to what Python's tables of some versions call private.
_NEVER_V4 = tuple(
    map(ipaddress.IPv4Network, ("0.0.0.0/8", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4"))
)
_CLOUD_HOST = ipaddress.IPv4Address("168.63.129.16")  # formally public, but Azure's own service for each machine
_NEVER_V6 = tuple(
    map(ipaddress.IPv6Network, ("100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10"))
)


def why_not_public(text: str) -> str | None:
    """Returns the kind of address if no command may reach it, or None."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return "no address"
    for inner in _resolve_embedded(address):
        if kind := _kind(inner):
            return kind
    return None


def embedded_addresses(text: str) -> list[str]:
    """Returns the addresses that this one leads to: itself, or the one embedded in it; a tunnel's leads to both."""
    try:
        return [str(inner) for inner in _resolve_embedded(ipaddress.ip_address(text.partition("%")[0]))]
    except ValueError:
        return []


def _resolve_embedded(address: Address) -> list[Address]:
    """Returns the address itself, unless it only stands for an IPv4 one; a tunnel's stands for both."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if any(address in net for net in (*_NAT64, _TRANSLATED)) or (address in _COMPATIBLE and int(address) > 1):
        return [low]
    if address.sixtofour is not None:
        return [address.sixtofour, address]
    if address.teredo is not None:
        return [*address.teredo, address]
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return [low, address]
    return [address]


def _kind(address: Address) -> str | None:
    if address.is_unspecified:
        return "the unspecified address"
    if address.is_loopback:
        return "this machine's own address"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast:
        return "a multicast address"
    never = _NEVER_V4 if address.version == 4 else _NEVER_V6
    if any(address in net for net in never):
        return "a reserved address"
    if address == _CLOUD_HOST:
        return "a cloud's metadata address"
    if address in _SHARED:
        return "an address behind a carrier's NAT"
    return None if address.is_global else "a private address"


_GET_ROUTE, _NEW_ROUTE = 26, 24
_REQUEST = 1
# RTM_F_FIB_MATCH: the entry of the table, with its length, instead of a route made for this address.
_MATCHED_ENTRY = 0x2000
_UNICAST, _LOCAL, _BROADCAST, _ANYCAST = 1, 2, 3, 4
_DESTINATION, _GATEWAY, _VIA = 1, 5, 18
_HEADER, _ROUTE = struct.Struct("=IHHII"), struct.Struct("=BBBBBBBBI")
_ATTRIBUTE = struct.Struct("=HH")
_KINDS = {
    _LOCAL: "this machine's own address",
    _BROADCAST: "a broadcast address",
    _ANYCAST: "an anycast address of this machine",
}
_SHORTEST_SEGMENT = 32  # bits of an IPv6 prefix; a shorter one is a default route through a tunnel


def why_nearby(address: str) -> str | None:
    """Returns the kind of address if it belongs to this machine, or by IPv6 to a machine on the same segment; None if it leads further."""
    try:
        ip_address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None  # not an address: other checks refuse it
    if isinstance(ip_address, ipaddress.IPv6Address) and ip_address.ipv4_mapped is not None:
        ip_address = ip_address.ipv4_mapped
    try:
        kind, length, through_gateway = _route_to(ip_address)
    except OSError:
        return _by_source(ip_address)
    if kind in _KINDS:
        return _KINDS[kind]
    if ip_address.version == 6 and kind == _UNICAST and not through_gateway and length >= _SHORTEST_SEGMENT:
        return "an address of this machine's own network segment"
    return None


def _route_to(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> tuple[int, int, bool]:
    """Returns the kind of the route, its prefix length, and whether it has a gateway. Raises: OSError if there is none."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    destination = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(address.packed), _DESTINATION) + address.packed
    route = _ROUTE.pack(family, len(address.packed) * 8, 0, 0, 0, 0, 0, 0, _MATCHED_ENTRY)
    size = _HEADER.size + len(route) + len(destination)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE) as kernel:
        kernel.settimeout(1.0)
        kernel.sendto(_HEADER.pack(size, _GET_ROUTE, _REQUEST, 1, 0) + route + destination, (0, 0))
        answer = kernel.recv(65_536)
    size, kind, *_ = _HEADER.unpack_from(answer)
    if kind != _NEW_ROUTE:
        raise OSError("the kernel knows no route")
    _, length, _, _, _, _, _, route_kind, _ = _ROUTE.unpack_from(answer, _HEADER.size)
    return route_kind, length, _has_gateway(answer[_HEADER.size + _ROUTE.size : size])


def _has_gateway(attributes: bytes) -> bool:
    offset = 0
    while offset + _ATTRIBUTE.size <= len(attributes):
        size, kind = _ATTRIBUTE.unpack_from(attributes, offset)
        if kind in (_GATEWAY, _VIA):
            return True
        offset += max(_ATTRIBUTE.size, (size + 3) & ~3)
    return False


def _by_source(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str | None:
    """Used where the kernel does not answer: a packet to this machine has its own target as its source."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            source = str(probe.getsockname()[0])
    except OSError:
        return None  # not reachable at all
    return _KINDS[_LOCAL] if ipaddress.ip_address(source.partition("%")[0]) == address else None
