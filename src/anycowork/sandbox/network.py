"""The world beyond this machine as the proxy sees it: names become addresses, and addresses are dialled. A port of this room."""

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

_LISTENING = "0A"


class Network(Protocol):
    """Decides nothing. Who is allowed to go where was asked before."""

    async def addresses(self, host: str) -> Sequence[str]:
        """What the name stands for, best first. Raises: OSError."""

    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To this very address, never to a name. Raises: OSError."""


class RealNetwork:
    """This machine's resolver and this machine's routes."""

    async def addresses(self, host: str) -> Sequence[str]:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(place[0]) for *_, place in found))

    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(address, port)


def is_own_address(address: str, port: int) -> bool:
    """Whether this very process listens there. Found out rather than told, so that no door can be forgotten. Blocking."""
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
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/self/net", table).read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == _LISTENING and f"socket:[{columns[9]}]" in ours:
                found.add(int(columns[1].rpartition(":")[2], 16))
    return found


def _led_to(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""  # closed meanwhile
