"""Decides which addresses a command may reach: only the public internet. An address embedded in another one is checked, too. Pure."""

import ipaddress

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
