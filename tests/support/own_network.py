"""A program of its own in a network of its own: gives the machine public addresses and asks a proxy for a service on them.

Prints JSON: what the kernel says of each address named in the arguments, and what the proxy answered for each of this machine's.
"""

import asyncio
import ctypes
import fcntl
import json
import os
import socket
import struct
import sys

NEW_USER, NEW_NET = 0x10000000, 0x40000000
SET_ADDRESS, SET_FLAGS, SET_MASK = 0x8916, 0x8914, 0x891C
OWN_V4, OWN_V6 = "93.184.215.77", "2606:2800:21f::77"


def enter() -> None:
    """Before anything else is imported that could start a thread: those cannot enter a user namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    flags = NEW_NET if os.geteuid() == 0 else NEW_NET | NEW_USER
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def give_addresses() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as v4,
        socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as v6,
    ):
        fcntl.ioctl(v4, SET_FLAGS, struct.pack("16sH14x", b"lo", 0x1 | 0x40))
        name = struct.pack("16s", b"lo:1")
        address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(OWN_V4))
        fcntl.ioctl(v4, SET_ADDRESS, name + address)
        mask = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton("255.255.255.0"))
        fcntl.ioctl(v4, SET_MASK, name + mask)
        given = struct.pack("16sIi", socket.inet_pton(socket.AF_INET6, OWN_V6), 64, socket.if_nametoindex("lo"))
        fcntl.ioctl(v6, SET_ADDRESS, given)


async def ask_proxy(address: str) -> tuple[str, int]:
    """What a proxy that is allowed to go there answers, and how many connections the service got."""
    from anycowork.domain.network import wanted_destinations
    from anycowork.sandbox.network.dialer import NetworkReach, RealNetwork
    from anycowork.sandbox.network.proxy import ProxyLimits, SandboxProxy

    class Named(RealNetwork):
        async def addresses(self, host: str) -> list[str]:
            return [address]

    taken = 0
    # A service of another process: the port is not one of ours.
    child_listens, child_tells = os.pipe()
    child = os.fork()
    if child == 0:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as service:
            service.bind((address, 80))
            service.listen()
            os.write(child_tells, b".")
            service.settimeout(10)
            try:
                connection, _ = service.accept()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
                connection.close()
            except OSError:
                pass
        os._exit(0)
    os.read(child_listens, 1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            proxy = SandboxProxy(NetworkReach(wanted_destinations(["own.example"])), Named(), ProxyLimits())
            serving = tasks.create_task(proxy.serve(listening))
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            writer.write(b"GET http://own.example/ HTTP/1.1\r\n\r\n")
            heard = await reader.read()
            writer.close()
            serving.cancel()
    os.kill(child, 9)
    os.waitpid(child, 0)
    taken += b"secret" in heard
    return heard.decode("latin-1"), taken


def main(addresses: list[str]) -> None:
    enter()
    give_addresses()
    from anycowork.sandbox.network.dialer import why_nearby

    found = {address: why_nearby(address) for address in addresses}
    asked = {own: asyncio.run(ask_proxy(own)) for own in (OWN_V4, OWN_V6)}
    sys.stdout.write(json.dumps({"nearby": found, "asked": asked}))


if __name__ == "__main__":
    main(sys.argv[1:])
