"""Asks the kernel where an address leads: to this machine, to its network segment, or further. Sends nothing."""

import ipaddress
import socket
import struct

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
