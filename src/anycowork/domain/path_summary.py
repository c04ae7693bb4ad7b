"""Shows many changed paths in proportion: folders with counts. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence

from anycowork.domain.messages import Json
from anycowork.domain.values import value

MOST_FOLDERS = 20
_DEEPEST = 12
_NONE = (0, 0, 0)
_VERBS = {"created": 0, "modified": 1, "deleted": 2}


@value
class FolderCount:
    """How many paths changed below `folder`, "" for the workspace itself."""

    folder: str
    created: int = 0
    modified: int = 0
    deleted: int = 0

    @property
    def total(self) -> int:
        return self.created + self.modified + self.deleted

    def to_json(self) -> Json:
        return {"folder": self.folder, "created": self.created, "modified": self.modified, "deleted": self.deleted}

    def line(self) -> str:
        counts = ((self.created, "created"), (self.modified, "modified"), (self.deleted, "deleted"))
        listed = ", ".join(f"{count:,} {verb}" for count, verb in counts if count)
        return f"{self.folder or '.'}/: {listed}"


def folder_counts(changes: Sequence[tuple[str, str]], most: int = MOST_FOLDERS) -> list[FolderCount]:
    """Groups changes (path and verb: created, modified or deleted) by folder, as deep as at most `most` folders allow.

    If already the topmost folders are more, the last entry counts all that do not fit, under the name "…".
    """
    counted = Counter((path.rpartition("/")[0], verb) for path, verb in changes)
    return counts_of_folders(
        {(tuple(folder.split("/")) if folder else (), verb): count for (folder, verb), count in counted.items()}, most
    )


def counts_of_folders(
    counted: Mapping[tuple[tuple[str, ...], str], int], most: int = MOST_FOLDERS
) -> list[FolderCount]:
    """Like `folder_counts`, for changes that are already counted: how many with this verb are directly in this folder, by its parts."""
    by_folder: dict[tuple[str, ...], list[int]] = {}
    for (parts, verb), count in counted.items():
        by_folder.setdefault(parts, [0, 0, 0])[_VERBS[verb]] += count
    grouped = _grouped(by_folder, 1)
    for depth in range(2, _DEEPEST):
        deeper = _grouped(by_folder, depth)
        if len(deeper) > most or deeper == grouped:
            break
        grouped = deeper
    counts = [FolderCount(folder, *numbers) for folder, numbers in grouped.items()]
    counts.sort(key=lambda count: (-count.total, count.folder))
    if len(counts) <= most:
        return sorted(counts, key=lambda count: count.folder)
    return [*counts[: most - 1], _sum_of(counts[most - 1 :])]


def _grouped(by_folder: Mapping[tuple[str, ...], Sequence[int]], depth: int) -> dict[str, tuple[int, int, int]]:
    grouped: dict[str, tuple[int, int, int]] = {}
    for parts, (created, modified, deleted) in by_folder.items():
        folder = "/".join(parts[:depth])
        more = grouped.get(folder, _NONE)
        grouped[folder] = more[0] + created, more[1] + modified, more[2] + deleted
    return grouped


def _sum_of(counts: Sequence[FolderCount]) -> FolderCount:
    return FolderCount(
        "…",
        sum(count.created for count in counts),
        sum(count.modified for count in counts),
        sum(count.deleted for count in counts),
    )
