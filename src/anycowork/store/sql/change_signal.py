"""Wakes those who wait for a change of one table: at once in this process, by looking again where other servers write too."""

import asyncio
from collections.abc import Awaitable, Callable

POLL_SECONDS = 1.0


class ChangeSignal:
    """`shared`: other servers change the table too, so waiting looks again every second."""

    def __init__(self, *, shared: bool) -> None:
        self._seconds = POLL_SECONDS if shared else None
        self._written = asyncio.Event()

    def notify(self) -> None:
        """Call it on the event loop after each write."""
        self._written.set()
        self._written = asyncio.Event()

    async def until(self, happened: Callable[[], Awaitable[bool]]) -> None:
        """Return when it has happened; at once if it had before. Raises what `happened` raises."""
        while True:
            written = self._written
            if await happened():
                return
            try:
                async with asyncio.timeout(self._seconds):
                    await written.wait()
            except TimeoutError:
                continue
