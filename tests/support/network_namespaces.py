"""Machines of a test: network namespaces on one bridge, each with an address. Root only."""

import ctypes
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

HUB_ADDRESS = "10.77.0.1"
_NETWORK = 0x40000000  # CLONE_NEWNET


def namespaces_missing() -> str | None:
    """Returns why there can be none here, or None."""
    if shutil.which("ip") is None or shutil.which("setpriv") is None:
        return "the programs 'ip' and 'setpriv' are not installed"
    name = f"acw-probe-{secrets.token_hex(3)}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, timeout=60)
    if made.returncode:
        return f"no network namespaces here: {made.stderr.strip()}"
    probe = ["ip", "-n", name, "link", "add", "name", "bridge0", "type", "bridge"]
    bridge = subprocess.run(probe, capture_output=True, text=True, timeout=60)
    subprocess.run(["ip", "netns", "del", name], check=True, timeout=60)
    return f"no bridges here: {bridge.stderr.strip()}" if bridge.returncode else None


class Machines:
    def __init__(self, names: tuple[str, ...]) -> None:
        self._prefix = f"acw-{secrets.token_hex(3)}-"
        self._names = names

    def inside(self, name: str) -> tuple[str, ...]:
        """Returns the command that runs another one on this machine."""
        return ("ip", "netns", "exec", self._prefix + name)

    def enter(self, name: str) -> None:
        """Moves the calling thread to this machine, for good."""
        with Path(f"/var/run/netns/{self._prefix}{name}").open() as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NETWORK):
                raise OSError(ctypes.get_errno(), "setns")

    def listener(self, address: str = HUB_ADDRESS) -> socket.socket:
        """Returns a socket of this process that the machines reach at this address of the hub."""

        def listen() -> socket.socket:
            self.enter("hub")
            return socket.create_server((address, 0))

        with ThreadPoolExecutor(1) as thread:  # which ends, and is on no other machine any more
            return thread.submit(listen).result()

    def cut_off(self, name: str) -> None:
        self._ip("-n", self._prefix + "hub", "link", "set", "dev", name, "down")

    def connect(self, name: str) -> None:
        self._ip("-n", self._prefix + "hub", "link", "set", "dev", name, "up")

    def set_up(self) -> None:
        hub = self._prefix + "hub"
        self._ip("netns", "add", hub)
        self._ip("-n", hub, "link", "set", "lo", "up")
        self._ip("-n", hub, "link", "add", "name", "bridge0", "type", "bridge")
        self._ip("-n", hub, "addr", "add", f"{HUB_ADDRESS}/24", "dev", "bridge0")
        self._ip("-n", hub, "link", "set", "bridge0", "up")
        for number, name in enumerate(self._names, 10):
            own = self._prefix + name
            self._ip("netns", "add", own)
            self._ip("link", "add", "name", name, "netns", hub, "type", "veth", "peer", "name", "eth0", "netns", own)
            self._ip("-n", hub, "link", "set", "dev", name, "master", "bridge0")
            self._ip("-n", hub, "link", "set", "dev", name, "up")
            self._ip("-n", own, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            self._ip("-n", own, "link", "set", "eth0", "up")

    def remove(self) -> None:
        for name in (*self._names, "hub"):
            subprocess.run(["ip", "netns", "del", self._prefix + name], capture_output=True, timeout=60)

    def _ip(self, *arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=60)


@contextmanager
def machines(*names: str) -> Iterator[Machines]:
    made = Machines(names)
    try:
        made.set_up()
        yield made
    finally:
        made.remove()
