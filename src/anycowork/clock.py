"""Time and ids: the only place that reads the clock."""

import os
import struct
import time
from collections.abc import Iterator
from threading import Lock

_RANDOM = struct.Struct(
    "512Q"
)  # one system call for 512 ids: asking for 8 bytes each time costs more than all the rest


class SystemClock:
    """The `Clock` of the domain's ports."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_ms = 0
        self._counter = 0
        self._random: Iterator[int] = iter(())
        self._second = (0, "")

    def now(self) -> str:
        second, micros = divmod(time.time_ns() // 1000, 1_000_000)
        known, text = self._second
        if known != second:
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._second = second, text
        return f"{text}.{micros:06d}Z"

    def monotonic(self) -> float:
        return time.monotonic()

    def new_id(self) -> str:
        """UUIDv7, ascending within this process: 48 bits of milliseconds, then a counter, then randomness."""
        with self._lock:
            tail = next(self._random, None)
            if tail is None:
                self._random = iter(_RANDOM.unpack(os.urandom(_RANDOM.size)))
                tail = next(self._random)
            ms = time.time_ns() // 1_000_000
            if ms > self._last_ms:
                self._last_ms, self._counter = ms, tail >> 54
            else:
                self._counter += 1
                if self._counter > 0xFFF:
                    self._last_ms, self._counter = self._last_ms + 1, 0
            ms, counter = self._last_ms, self._counter
        variant, node = 0x8000 | tail >> 48 & 0x3FFF, tail & 0xFFFF_FFFF_FFFF
        return f"{ms >> 16:08x}-{ms & 0xFFFF:04x}-7{counter:03x}-{variant:04x}-{node:012x}"
