"""Time and ids: the only place that reads the clock."""

import os
import time
from datetime import UTC, datetime
from threading import Lock

_RANDOM_BLOCK = 4096  # one system call for 512 ids: asking for 8 bytes each time costs more than all the rest


class SystemClock:
    """The `Clock` of the domain's ports."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_ms = 0
        self._counter = 0
        self._random = b""
        self._at = 0

    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

    def monotonic(self) -> float:
        return time.monotonic()

    def new_id(self) -> str:
        """UUIDv7, ascending within this process: 48 bits of milliseconds, then a counter, then randomness."""
        with self._lock:
            tail = self._eight_random_bytes()
            ms = time.time_ns() // 1_000_000
            if ms > self._last_ms:
                self._last_ms, self._counter = ms, tail >> 54
            else:
                self._counter += 1
                if self._counter > 0xFFF:
                    self._last_ms, self._counter = self._last_ms + 1, 0
            high = (self._last_ms << 16) | 0x7000 | self._counter
        text = f"{high:016x}{(tail & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000:016x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def _eight_random_bytes(self) -> int:
        if self._at >= len(self._random):
            self._random, self._at = os.urandom(_RANDOM_BLOCK), 0
        self._at += 8
        return int.from_bytes(self._random[self._at - 8 : self._at])
