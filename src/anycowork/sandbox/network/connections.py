"""The network beyond this machine as the proxy uses it: resolves names and connects to addresses. A port of this package."""

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

_LISTENING = "0A"


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
