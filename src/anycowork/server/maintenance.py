"""Periodic clean-up for a server that runs for years: removes what is no longer needed, so that the disk does not fill up."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.times import written_time
from anycowork.sandbox.layers.stage import Staging
from anycowork.store.sql.idempotency import IdempotencyKeys

AFTER_THE_START = 60.0  # seconds
EVERY_SECONDS = 3600.0
RECEIPT_DAYS = 7  # a repeated request is recognised for so long

log = logging.getLogger(__name__)


class Maintenance:
    """Runs one round after startup, one whenever something was deleted, and one every hour."""

    def __init__(
        self,
        *,
        receipts: IdempotencyKeys,
        snapshots: Snapshots,
        staging: Staging,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._receipts = receipts
        self._snapshots = snapshots
        self._staging = staging
        self._now = now
        self._wanted = asyncio.Event()

    def soon(self) -> None:
        """Requests a round because something was deleted: its space is freed later, and nobody waits for that."""
        self._wanted.set()

    async def keep_up(self) -> None:
        """Runs until it is cancelled. A failure is logged and retried with the next round."""
        await self._wait_for_request(AFTER_THE_START)
        while True:
            self._wanted.clear()
            try:
                await self.round()
            except (AnyCoworkError, OSError) as error:
                log.warning("what is no longer needed could not be removed: %s", error)
            await self._wait_for_request(EVERY_SECONDS)

    async def _wait_for_request(self, seconds: float) -> None:
        """Returns when a round is requested, or after this time."""
        try:
            async with asyncio.timeout(seconds):
                await self._wanted.wait()
        except TimeoutError:
            pass

    async def round(self) -> None:
        """Raises: StorageFault, OSError."""
        await self._receipts.forget(before=written_time(self._now() - timedelta(days=RECEIPT_DAYS)))
        await self._snapshots.forget_unneeded()
        await asyncio.to_thread(self._staging.tidy, anew=True)
