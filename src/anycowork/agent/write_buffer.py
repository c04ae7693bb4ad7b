"""What a turn has said and not written yet: a call that only reads waits for what it brings, and both become durable together."""

import asyncio
from collections.abc import Awaitable

from anycowork.domain.journal import Change
from anycowork.domain.ports import Journal

PATIENCE = 0.05  # seconds at most: readers are told of a read that takes long while it runs


class WriteBuffer:
    """Changes of one turn, in their order. Nothing of them was shown to anybody, and nothing of them has an effect."""

    def __init__(self) -> None:
        self._changes: list[Change] = []
        self._handed_in: Awaitable[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def keep(self, journal: Journal, change: Change) -> None:
        """It is written with the next thing that is, or by itself soon."""
        self._changes.append(change)
        if self._timer is None:  # one that runs does for this change as well: then it waits less
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._hand_in, journal)

    async def write(self, journal: Journal, *changes: Change) -> None:
        """All that waits and then these, in one transaction. Raises: as `Journal.write`, also for what was handed in before."""
        if self._handed_in is not None:
            handed_in, self._handed_in = self._handed_in, None
            await handed_in  # if it was not written, what follows from it must not be either
        waited, self._changes = self._changes, []
        if waited or changes:
            await journal.write(*waited, *changes)

    def _hand_in(self, journal: Journal) -> None:
        self._timer = None
        if self._changes:
            waited, self._changes = self._changes, []
            self._handed_in = journal.submit_change(*waited)
