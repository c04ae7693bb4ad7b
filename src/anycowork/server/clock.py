"""Time and ids: the only place that reads the clock."""

import os
import time
from collections.abc import Iterator
from itertools import repeat
from operator import add
from threading import Lock

_COUNTERS = tuple(f"{number:03x}" for number in range(4096))


class SystemClock:
    """Implements the `Clock` port.

    An agent needs a dozen ids at every step, so they are built in C: one `next` is one id, and no two threads get the same.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._ms = 0
        self._over = 0.0
        self._rests: Iterator[str] = iter(())
        self._ids: Iterator[str] = iter(())
        self._second = (0, "")

    def now(self) -> str:
        second, micros = divmod(time.time_ns() // 1000, 1_000_000)
        last_second, text = self._second
        if last_second != second:
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._second = second, text
        return f"{text}.{micros:06d}Z"

    def monotonic(self) -> float:
        return time.monotonic()

    def new_id(self) -> str:
        """Returns a UUIDv7, ascending within this process: 48 bits of milliseconds, a counter, then random bits shared by one count.

        It is a name, not a secret: from one id, its neighbours can be guessed.
        """
        if time.time() >= self._over:
            with self._lock:
                self._begin(time.time_ns() // 1_000_000)
        return next(self._ids, "") or self._restart()

    def _restart(self) -> str:
        """Restarts the counter with a later millisecond."""
        with self._lock:
            if new_id := next(self._ids, ""):  # another thread was first
                return new_id
            digits = os.urandom(8).hex()
            self._rests = map(add, _COUNTERS, repeat(f"-8{digits[:3]}-{digits[3:15]}"))
            self._begin(max(time.time_ns() // 1_000_000, self._ms + 1))
            return next(self._ids)

    def _begin(self, ms: int) -> None:
        """These digits come first in all its ids. Setting the clock back does not make them smaller."""
        self._ms = max(ms, self._ms)
        self._over = (self._ms + 1) / 1000
        self._ids = map(f"{self._ms >> 16:08x}-{self._ms & 0xFFFF:04x}-7".__add__, self._rests)
