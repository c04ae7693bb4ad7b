"""What a restore is asked for and what it results in: values and pure functions. `rollback_service.py` carries it out."""

from collections.abc import Sequence

from anycowork.domain.errors import Invalid, RestoreConflict, SnapshotPruned
from anycowork.domain.messages import Json
from anycowork.domain.snapshots import (
    FileDifference,
    PathKind,
    Restored,
    RestorePreview,
    Snapshot,
    Undo,
    in_paths,
    paths_without_undo,
    shown_path,
)
from anycowork.domain.values import value

MOST_LISTED = 1_000  # paths of one answer or record


@value
class RollbackRequest:
    """`only` undoes the snapshot's own change and keeps later work; otherwise everything since is undone.

    `paths` (and what lies below them) narrows it; `overwrite` names the paths where someone else's change may be lost.
    """

    dry_run: bool = False
    only: bool = False
    paths: tuple[str, ...] | None = None
    overwrite: tuple[str, ...] = ()


@value
class ShownDifference:
    """`files` is one page of all `total`; `next` is the path after which the next page begins."""

    text: str = ""
    files: tuple[FileDifference, ...] = ()
    total: int = 0
    next: str | None = None

    def to_json(self) -> Json:
        return {
            "diff": self.text,
            "files": [file.to_json() for file in self.files],
            "total": self.total,
            "next": self.next,
        }


@value
class RollbackResult:
    """`preview` is what a restore would do; `done` is what was restored, or for a dry run what would be.

    Of very many paths, the JSON names the first; `counts` tells how many there are, as `count_files` does.
    """

    done: Restored
    preview: RestorePreview
    undo_snapshot: str | None = None

    def to_json(self) -> Json:
        done = self.done
        reasons = done.conflicts or {}
        lists = {"restored": done.restored, "deleted": done.deleted, "kept": done.kept, "unkept": done.unkept}
        counts: Json = {name: count_files(paths) for name, paths in lists.items()}
        return {
            **{name: [shown_path(path) for path in paths[:MOST_LISTED]] for name, paths in lists.items()},
            "counts": counts,
            "conflicts": [shown_path(path) for path in sorted(reasons)],
            "reasons": {shown_path(path): reason for path, reason in reasons.items()},
            "left": done.left,
            "undo_snapshot": self.undo_snapshot,
            "diff": self.preview.diff,
            "files": [file.to_json() for file in self.preview.files[:MOST_LISTED]],
        }


def pruned_error(snapshot_id: str) -> SnapshotPruned:
    return SnapshotPruned(
        f"The content of snapshot '{snapshot_id}' was pruned to make space for newer ones. Choose a newer one,"
        " and raise 'snapshot_quota_bytes' to keep them longer."
    )


def narrowed(undos: list[Undo], paths: Sequence[str]) -> list[Undo]:
    """Returns the undos at these paths or below them. Raises: Invalid if there is none at one of the paths."""
    for path in paths_without_undo(undos, paths):
        raise Invalid(f"Nothing was recorded at '{path}' that could be undone.", param="paths")
    return in_paths(undos, paths)


def require_no_conflicts(preview: RestorePreview, overwrite: Sequence[str]) -> None:
    allowed = {path.strip("/") for path in overwrite}
    remaining = {
        shown_path(path): reason
        for path, reason in preview.conflicts.items()
        if path in preview.hopeless or shown_path(path) not in allowed
    }
    if remaining:
        raise RestoreConflict.over(remaining)


def expected_result(preview: RestorePreview) -> Restored:
    removed = tuple(undo.path for undo in preview.undos if undo.target.kind is PathKind.ABSENT)
    back = tuple(undo.path for undo in preview.undos if undo.target.kind is not PathKind.ABSENT)
    return Restored(back, removed, conflicts=preview.conflicts, unkept=preview.unkept)


def file_differences(before: Snapshot, after: Snapshot) -> list[FileDifference]:
    was = {image.path: image for image in before.images}
    now = {image.path: image for image in after.images}
    differences = []
    for path in sorted({**was, **now}):
        old, new = was.get(path), now.get(path)
        exists = [image.kind is not PathKind.ABSENT if image else False for image in (old, new)]
        if not any(exists) or (old and new and old.same_as(new)):
            continue
        status = "modified" if all(exists) else "added" if exists[1] else "deleted"
        differences.append(FileDifference(path, status, new.additions if new else 0, new.deletions if new else 0))
    return differences


def count_files(paths: Sequence[str]) -> int:
    """Counts the paths without the folders of which a content is counted, as a difference lists them. Pure."""
    holders = {path[:end] for path in paths for end in range(len(path)) if path[end] == "/"}
    return sum(path not in holders for path in paths)


def summary_text(done: Restored) -> str:
    parts = _changed_parts(count_files(done.restored), count_files(done.deleted))
    if done.kept:
        folders = (
            "1 folder kept because it contains"
            if len(done.kept) == 1
            else f"{len(done.kept)} folders kept because they contain"
        )
        parts.append(f"{folders} other files")
    if done.unkept:
        first = min(done.unkept)
        parts.append(
            f"{len(done.unkept)} in folders that git ignores left as they are, because their older content was not kept"
            f" ('{shown_path(first)}')"
        )
    if done.conflicts:
        first, reason = min(done.conflicts.items())
        parts.append(f"{len(done.conflicts)} left unchanged ('{shown_path(first)}': {reason.rstrip('.')})")
    if done.left:
        parts.append(f"{done.left} not reached because it was stopped (restore again to go on)")
    return f"Files were restored to an earlier state: {', '.join(parts) or 'every file is as it was then'}."


def _changed_parts(restored: int, removed: int) -> list[str]:
    """Names the noun once: "3 files restored", "1 removed"."""
    counts = [(count, verb) for count, verb in ((restored, "restored"), (removed, "removed")) if count]
    return [
        f"{count:,} {verb}" if index else f"{count:,} {'file' if count == 1 else 'files'} {verb}"
        for index, (count, verb) in enumerate(counts)
    ]
