"""A slow, long and lossy line between two machines of a test (`network_namespaces.py`): real packets, so TCP has to send again what is lost.

The kernel's own `netem` is a module that many machines lack. Here packets go through two TUN devices, and a thread delays and loses them.
"""

import fcntl
import os
import selectors
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from random import Random

from support.network_namespaces import Machines

NEAR, FAR = "10.78.0.1", "10.78.0.2"
_TUN, _NO_PACKET_INFO, _SET_INTERFACE = 0x0001, 0x1000, 0x400454CA
_QUEUE_BYTES = 64 << 10  # what waits for the line; more is lost, as in a router


def tun_missing() -> str | None:
    return (
        None
        if Path("/dev/net/tun").exists() and os.access("/dev/net/tun", os.R_OK | os.W_OK)
        else "no TUN devices here"
    )


@dataclass(slots=True)
class SlowLine:
    """`delay` is in seconds each way, `loss` the share of packets that are lost."""

    bytes_per_second: float
    delay: float
    loss: float
    carried: int = 0
    lost: int = 0
    _random: Random = field(default_factory=lambda: Random(30))
    _free_at: dict[int, float] = field(default_factory=dict)
    _flying: list[tuple[float, int, int, bytes]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def carry(self, one: int, other: int, stopped: int) -> None:
        """Moves packets between the two devices until something can be read from `stopped`."""
        with selectors.DefaultSelector() as selector:
            for end in (one, other, stopped):
                selector.register(end, selectors.EVENT_READ)
            while True:
                waits = max(0.0, self._flying[0][0] - time.monotonic()) if self._flying else None
                readable = {key.fd for key, _ in selector.select(waits)}
                if stopped in readable:
                    return
                for source, target in ((one, other), (other, one)):
                    if source in readable:
                        self._take(os.read(source, 65536), target)
                while self._flying and self._flying[0][0] <= time.monotonic():
                    _, _, target, packet = heappop(self._flying)
                    os.write(target, packet)

    def _take(self, packet: bytes, target: int) -> None:
        now = time.monotonic()
        free_at = max(now, self._free_at.get(target, 0.0))
        if self._random.random() < self.loss or (free_at - now) * self.bytes_per_second > _QUEUE_BYTES:
            self.lost += 1
            return
        self.carried += len(packet)
        self._free_at[target] = free_at = free_at + len(packet) / self.bytes_per_second
        heappush(self._flying, (free_at + self.delay, next(self._numbers), target, packet))


@contextmanager
def slow_line(network: Machines, near: str, far: str, line: SlowLine) -> Iterator[SlowLine]:
    """Connects two machines, which have the addresses NEAR and FAR on it."""
    ends = [_device(network, near, NEAR, FAR), _device(network, far, FAR, NEAR)]
    stopped, stop = os.pipe()
    thread = threading.Thread(target=line.carry, args=(*ends, stopped))
    thread.start()
    try:
        yield line
    finally:
        os.write(stop, b"x")
        thread.join()
        for fd in (*ends, stopped, stop):
            os.close(fd)


def _device(network: Machines, machine: str, own: str, peer: str) -> int:
    def opened() -> int:
        network.enter(machine)
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        fcntl.ioctl(fd, _SET_INTERFACE, struct.pack("16sH22x", b"slow0", _TUN | _NO_PACKET_INFO))
        for words in (["addr", "add", own, "peer", peer, "dev", "slow0"], ["link", "set", "slow0", "up"]):
            subprocess.run(["ip", *words], check=True, capture_output=True, timeout=60)
        return fd

    with ThreadPoolExecutor(1) as thread:  # which ends, and is on no other machine any more
        return thread.submit(opened).result()
