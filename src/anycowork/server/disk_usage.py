"""Reports what uses disk space, by name, and removes regularly what is no longer needed, so that a server can run for years."""

import asyncio
import logging
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from anycowork.checkpoints.snapshots import Snapshots
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.messages import Json
from anycowork.domain.times import written_time
from anycowork.domain.values import value
from anycowork.sandbox.cache_limits import UNWEIGHABLE, folder_size
from anycowork.sandbox.layers.stage import Staging
from anycowork.store.sql.idempotency import IdempotencyKeys

AFTER_THE_START = 60.0  # seconds
EVERY_SECONDS = 3600.0
RECEIPT_DAYS = 7  # a repeated request is recognised for so long
log = logging.getLogger(__name__)


@value
class DiskShare:
    """`bytes` is None if it is not known; `most` is its limit, and `setting` the name of that limit. Without one it grows with use."""

    name: str
    bytes: int | None
    most: int | None = None
    setting: str | None = None

    def as_json(self) -> Json:
        return {"name": self.name, "bytes": self.bytes, "most": self.most, "setting": self.setting}

    def __str__(self) -> str:
        bound = f" of {human_size(self.most)}" if self.most is not None else ""
        return f"{self.name} {human_size(self.bytes)}{bound}"


def disk_shares(settings: Settings, staging: Staging) -> list[DiskShare]:
    """Blocking: reads the size of every file in the data folder."""
    return [
        *([DiskShare("chats and records", _of_files(settings.database_path))] if settings.database_url is None else []),
        DiskShare(
            "checkpoints",
            _size_of(settings.snapshots_folder),
            settings.snapshot_quota_bytes,
            "snapshot_quota_bytes",
        ),
        DiskShare("caches of commands", _sum(staging.caches()), settings.command_cache_bytes, "command_cache_bytes"),
        DiskShare("changes put aside", _sum(staging.kept()), settings.kept_changes_bytes, "kept_changes_bytes"),
        DiskShare("changes that wait for you", _sum(staging.held())),
        DiskShare("data of MCP servers", _size_of(settings.mcp_data_folder)),
        DiskShare("local models", _size_of(settings.models_folder)),
        DiskShare("plugins", _size_of(settings.plugins_folder)),
    ]


def disk_usage(settings: Settings, staging: Staging) -> list[Json]:
    """Returns the same as JSON."""
    return [share.as_json() for share in disk_shares(settings, staging)]


def human_size(bytes_: int | None) -> str:
    """Writes a size as the page does (`web/src/texts/sizes.ts`): in units of 1024, as all limits are; bytes and KB whole, MB and GB
    with one decimal, halves rounded up. tests/support/sizes.json holds examples that both must meet."""
    if bytes_ is None:
        return "?"
    size, units = float(bytes_), iter(("bytes", "KB", "MB", "GB"))
    unit = next(units)
    while size >= 1024 and (larger := next(units, None)):
        size, unit = size / 1024, larger
    decimals = 0 if unit in ("bytes", "KB") else 1
    return f"{math.floor(size * 10**decimals + 0.5) / 10**decimals:,.{decimals}f} {unit}"


def _of_files(database: Path) -> int:
    """Returns the size of the database with its write-ahead log."""
    files = (database.with_name(database.name + ending) for ending in ("", "-wal", "-shm"))
    return sum(file.stat().st_size for file in files if file.is_file())


def _sum(folders: list[Path]) -> int | None:
    weights = [_size_of(folder) for folder in folders]
    known_weights = [weight for weight in weights if weight is not None]
    return sum(known_weights) if len(known_weights) == len(weights) else None


def _size_of(folder: Path) -> int | None:
    size = folder_size(folder).bytes
    return None if size >= UNWEIGHABLE else size


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
