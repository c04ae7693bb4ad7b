"""What was changed in a chat's workspace since the chat began, path by path, from the recorded changes. Pure."""

from collections.abc import Iterable, Mapping

from anycowork.domain.files import ChangedBy
from anycowork.domain.snapshots import PathImage, PathKind, RecordedChange, absent
from anycowork.domain.values import value


@value
class ChangedPath:
    """`base` is the state before the chat's first change of the path, `left` the one after its last (None if it is not known)."""

    base: PathImage
    left: PathImage | None
    changed_by: ChangedBy


def changed_paths(changes: Iterable[RecordedChange], chat_id: str) -> dict[str, ChangedPath]:
    """Return every path that the chat's changes, oldest first, touched. What was pruned is left out."""
    found: dict[str, ChangedPath] = {}
    for change in changes:
        if change.before.chat_id != chat_id or change.before.pruned:
            continue
        by = ChangedBy.YOU if change.before.by_person else ChangedBy.AGENT
        before = {image.path: image for image in change.before.images}
        after = None if change.after is None else {image.path: image for image in change.after.images}
        for path in {**before, **(after or {})}:
            was = before.get(path, absent(path))
            left = None if after is None else after.get(path, absent(path))
            if left is not None and was.same_as(left) and path not in found:
                continue
            known = found.get(path)
            found[path] = ChangedPath(known.base if known else was, left, _both(known, by))
    return found


def changed_folders(paths: Mapping[str, ChangedPath]) -> dict[str, ChangedBy]:
    """Return every folder with a net change below it, and who made it."""
    found: dict[str, ChangedBy] = {}
    for path, changed in paths.items():
        if not is_changed(changed):
            continue
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            found[folder] = _joined(found.get(folder), changed.changed_by)
    return found


def is_changed(changed: ChangedPath) -> bool:
    """Whether the last recorded state differs from the first one."""
    return changed.left is None or not changed.left.same_as(changed.base)


def who_changed(
    changed: ChangedPath | None, *, size: int, modified: int, chat_began: int, ignored: bool
) -> ChangedBy | None:
    """Return who changed a file that looks like this now. What no recorded change left like this, somebody changed outside: you.

    A commit of many paths records no times; then only the size tells.
    """
    if changed is None or changed.left is None:
        recorded = None if changed is None else changed.changed_by
        return recorded or (ChangedBy.YOU if modified > chat_began and not ignored else None)
    left = changed.left
    as_left = left.kind is PathKind.FILE and (not left.mtime or (left.mtime, left.size) == (modified, size))
    if as_left:
        return changed.changed_by if is_changed(changed) else None
    return _joined(changed.changed_by, ChangedBy.YOU)


def _both(known: ChangedPath | None, by: ChangedBy) -> ChangedBy:
    return _joined(known.changed_by if known else None, by)


def _joined(first: ChangedBy | None, second: ChangedBy) -> ChangedBy:
    return second if first in (None, second) else ChangedBy.BOTH
