"""What takes room on the disk, under its own name: for `anycowork doctor` and `GET /storage`. Changes nothing."""

from pathlib import Path

from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.settings import Settings
from anycowork.workspace.stage import Staging
from anycowork.workspace.tidying import UNWEIGHABLE, weigh


@value
class Share:
    """`bytes` is None where it cannot be told; `most` is its bound, and `setting` what sets that. Without one it grows with use."""

    name: str
    bytes: int | None
    most: int | None = None
    setting: str | None = None

    def as_json(self) -> Json:
        return {"name": self.name, "bytes": self.bytes, "most": self.most, "setting": self.setting}

    def __str__(self) -> str:
        bound = f" of {readable(self.most)}" if self.most is not None else ""
        return f"{self.name} {readable(self.bytes)}{bound}"


def shares(settings: Settings, staging: Staging) -> list[Share]:
    """Blocking: every file of the data folder is looked at."""
    return [
        Share("chats and records", _of_files(settings.database_path)),
        Share(
            "checkpoints",
            _weighed(settings.snapshots_folder),
            settings.snapshot_quota_bytes,
            "snapshot_quota_bytes",
        ),
        Share("caches of commands", _sum(staging.caches()), settings.command_cache_bytes, "command_cache_bytes"),
        Share("changes put aside", _sum(staging.kept()), settings.kept_changes_bytes, "kept_changes_bytes"),
        Share("changes that wait for you", _sum(staging.held())),
        Share("local models", _weighed(settings.models_folder)),
        Share("plugins", _weighed(settings.plugins_folder)),
    ]


def storage(settings: Settings, staging: Staging) -> list[Json]:
    """The same for readers from outside."""
    return [share.as_json() for share in shares(settings, staging)]


def readable(bytes_: int | None) -> str:
    if bytes_ is None:
        return "?"
    size, units = float(bytes_), iter(("bytes", "KB", "MB", "GB"))
    unit = next(units)
    while size >= 1024 and (larger := next(units, None)):
        size, unit = size / 1024, larger
    return f"{size:.0f} {unit}" if unit in ("bytes", "KB") else f"{size:.1f} {unit}"


def _of_files(database: Path) -> int:
    """The database with the log that it is written to first."""
    found = (database.with_name(database.name + ending) for ending in ("", "-wal", "-shm"))
    return sum(file.stat().st_size for file in found if file.is_file())


def _sum(places: list[Path]) -> int | None:
    weights = [_weighed(place) for place in places]
    known = [weight for weight in weights if weight is not None]
    return sum(known) if len(known) == len(weights) else None


def _weighed(place: Path) -> int | None:
    found = weigh(place).bytes
    return None if found >= UNWEIGHABLE else found
