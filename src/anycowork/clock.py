"""Time and ids: the only place that reads the clock."""

import os
import time
from datetime import UTC, datetime
from threading import Lock


class SystemClock:
    """The `Clock` of the domain's ports."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_ms = 0
        self._counter = 0
        self._second = (-1, "")

    def now(self) -> str:
        second, micro = divmod(time.time_ns() // 1000, 1_000_000)
        known, text = self._second
        if second != known:  # the date is worked out once a second, not once a record
            text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            self._second = (second, text)
        return f"{text}.{micro:06d}Z"

    def monotonic(self) -> float:
        return time.monotonic()

    def new_id(self) -> str:
        """UUIDv7, ascending within this process: 48 bits of milliseconds, then a counter, then randomness."""
        with self._lock:
            ms = time.time_ns() // 1_000_000
            if ms > self._last_ms:
                self._last_ms, self._counter = ms, int.from_bytes(os.urandom(2)) & 0x3FF
            else:
                self._counter += 1
                if self._counter > 0xFFF:
                    self._last_ms, self._counter = self._last_ms + 1, 0
            ms, counter = self._last_ms, self._counter
        tail = int.from_bytes(os.urandom(8)) & 0x3FFF_FFFF_FFFF_FFFF
        value = (ms << 80) | (0x7 << 76) | (counter << 64) | (0b10 << 62) | tail
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
