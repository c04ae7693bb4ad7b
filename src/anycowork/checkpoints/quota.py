"""Keeps the pack under its quota: prunes the oldest snapshots, then sweeps contents that no snapshot needs."""

import asyncio
from typing import Protocol

from anycowork.checkpoints.pack import Pack

# Pruning frees more than needed, so that not every call prunes.
_FILLED_AFTERWARDS = 0.8


class RetentionPort(Protocol):
    """The part of the store that knows which contents are still needed."""

    async def forget_oldest(self, *, bytes_left: int) -> None:
        """Prunes the oldest snapshots until the rest need at most this many bytes."""

    async def needed_hashes(self) -> set[str]: ...


class QuotaExceeded(Exception):
    """The pack has no space for this many bytes."""

    def __init__(self, needs: int) -> None:
        super().__init__(needs)
        self.needs = needs


class PackQuota:
    """`max_bytes` is the maximum size of the pack."""

    def __init__(self, pack: Pack, retention: RetentionPort, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._pack = pack
        self._retention = retention
        self._pruning = asyncio.Lock()

    def has_space(self, needs: int) -> bool:
        return needs == 0 or self._pack.size + needs <= self.max_bytes

    def require_space(self, needs: int) -> None:
        """Raises: QuotaExceeded."""
        if not self.has_space(needs):
            raise QuotaExceeded(needs)

    async def free_space(self, needs: int) -> None:
        """Makes space, if that many bytes can fit at all. One at a time: two concurrent prunings would prune too much."""
        async with self._pruning:
            if self._pack.size + needs <= self.max_bytes:
                return
            if needs > self.max_bytes:
                return  # nothing is deleted for a content that cannot fit anyway
            await self._prune(min(int(self.max_bytes * _FILLED_AFTERWARDS), self.max_bytes - needs))

    async def forget_unneeded(self) -> None:
        """Brings records and contents under the quota, and removes contents that no snapshot names any more: those of deleted chats.

        Raises: StorageFault, OSError.
        """
        async with self._pruning:
            await self._prune(self.max_bytes)

    async def _prune(self, left: int) -> None:
        await self._retention.forget_oldest(bytes_left=left)
        self._pack.mark()
        needed = await self._retention.needed_hashes()
        await asyncio.to_thread(self._pack.sweep, needed, most=left)
