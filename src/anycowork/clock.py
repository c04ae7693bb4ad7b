"""Time and ids: the only place that reads the clock."""

import os
import time
from threading import Lock

_CHANCE = 15  # digits of an id that are random
_AT_ONCE = 512  # ids for one system call: asking for chance each time costs more than all the rest


class SystemClock:
    """The `Clock` of the domain's ports."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_ms = 0
        self._head = ""
        self._counter = 0
        self._digits = ""
        self._used = 0
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
            if self._used == len(self._digits):
                self._digits, self._used = os.urandom(_CHANCE * _AT_ONCE // 2).hex(), 0
            start = self._used
            middle, end = start + 3, start + _CHANCE
            digits, self._used = self._digits, end
            ms = time.time_ns() // 1_000_000
            if ms > self._last_ms:
                self._begin(ms, int(digits[start:middle], 16) >> 2)
            elif self._counter == 0xFFF:
                self._begin(self._last_ms + 1, 0)
            else:
                self._counter += 1
            return f"{self._head}{self._counter:03x}-8{digits[start:middle]}-{digits[middle:end]}"

    def _begin(self, ms: int, counter: int) -> None:
        """A new millisecond: its digits are the same in all its ids."""
        self._last_ms, self._counter = ms, counter
        self._head = f"{ms >> 16:08x}-{ms & 0xFFFF:04x}-7"
