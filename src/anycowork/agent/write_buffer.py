"""Buffers a turn's changes that are not written yet: a read call waits for its result, so that both are written together."""

import asyncio
from collections.abc import Awaitable

from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Change, Write
from anycowork.store.sql.journal import Journal

FLUSH_SECONDS = 0.05  # seconds at most, so that readers see a slow read while it runs


class WriteBuffer:
    """Changes of one turn, in order. None of them was published, and none has an effect. `pending` and `announcements` go into the next
    change, whatever it is."""

    def __init__(self) -> None:
        self.pending: list[Write] = []
        self.announcements: list[NewEvent] = []
        self._changes: list[Change] = []
        self._submitted: Awaitable[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def take_pending(self) -> tuple[tuple[Write, ...], tuple[NewEvent, ...]]:
        """Return and clear the writes and events for the next change: the usage of an answer, or the result of a read."""
        writes, drafts = tuple(self.pending), tuple(self.announcements)
        self.pending, self.announcements = [], []
        return writes, drafts

    def keep(self, journal: Journal, change: Change) -> None:
        """Buffer a change; it is written with the next one, or alone after a short time."""
        self._changes.append(change)
        if self._timer is None:  # a running timer covers this change too
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._submit, journal)

    async def write(self, journal: Journal, *changes: Change) -> None:
        """Write all buffered changes and then these, in one transaction. Raises: as `Journal.write`, also for submitted changes."""
        if self._submitted is not None:
            submitted, self._submitted = self._submitted, None
            await submitted  # if it failed, later changes must not be written either
        waited, self._changes = self._changes, []
        if waited or changes:
            await journal.write(*waited, *changes)

    def _submit(self, journal: Journal) -> None:
        self._timer = None
        if self._changes:
            waited, self._changes = self._changes, []
            self._submitted = journal.submit_change(*waited)
