"""What was changed in a chat's workspace since the chat began, path by path, from the recorded changes. Pure."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping

from anycowork.domain.chats import Chat
from anycowork.domain.files import ChangedBy
from anycowork.domain.snapshots import PathImage, PathKind, RecordedChange, absent
from anycowork.domain.values import value
from anycowork.store.sql.store import Store


@value
class ChangedPath:
    """`base` is the state before the chat's first change of the path, `left` the one after its last (None if it is not known)."""

    base: PathImage
    left: PathImage | None
    changed_by: ChangedBy


def changed_paths(changes: Iterable[RecordedChange], chat_id: str) -> dict[str, ChangedPath]:
    """Returns every path that the chat's changes, oldest first, touched. What was pruned is left out."""
    changed: dict[str, ChangedPath] = {}
    earlier: dict[str, list[tuple[PathImage, ChangedBy | None]]] = {}
    for change in changes:
        if change.before.chat_id != chat_id or change.before.pruned:
            continue
        by = ChangedBy.YOU if change.before.by_person else ChangedBy.AGENT
        before = {image.path: image for image in change.before.images}
        after = None if change.after is None else {image.path: image for image in change.after.images}
        for path in {**before, **(after or {})}:
            was = before.get(path, absent(path))
            after_image = None if after is None else after.get(path, absent(path))
            if after_image is not None and was.same_as(after_image) and path not in changed:
                continue
            earlier_change = changed.get(path)
            states = earlier.setdefault(path, [(was, None)])
            author = _joined(states[-1][1], by)
            if (
                by is ChangedBy.YOU and after_image is not None
            ):  # what a person restored is still the work of whoever did it then
                author = next((before_by or by for state, before_by in states if state.same_as(after_image)), author)
            changed[path] = ChangedPath(earlier_change.base if earlier_change else was, after_image, author)
            if after_image is not None:
                states.append((after_image, None if after_image.same_as(states[0][0]) else author))
    return changed


def changed_folders(paths: Mapping[str, ChangedPath]) -> dict[str, ChangedBy]:
    """Returns every folder with a net change below it, and who made it."""
    folders: dict[str, ChangedBy] = {}
    for path, changed in paths.items():
        if not is_changed(changed):
            continue
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            folders[folder] = _joined(folders.get(folder), changed.changed_by)
    return folders


def is_changed(changed: ChangedPath) -> bool:
    """Whether the last recorded state differs from the first one."""
    return changed.left is None or not changed.left.same_as(changed.base)


def who_changed(
    changed: ChangedPath | None, *, size: int, modified: int, chat_began: int, ignored: bool
) -> ChangedBy | None:
    """Returns who changed a file that looks like this now. What no recorded change left like this, somebody changed outside: you.

    A commit of many paths records no times; then only the size tells.
    """
    if changed is None or changed.left is None:
        recorded = None if changed is None else changed.changed_by
        return recorded or (ChangedBy.YOU if modified > chat_began and not ignored else None)
    after_image = changed.left
    as_left = after_image.kind is PathKind.FILE and (
        not after_image.mtime or (after_image.mtime, after_image.size) == (modified, size)
    )
    if as_left:
        return changed.changed_by if is_changed(changed) else None
    return _joined(changed.changed_by, ChangedBy.YOU)


def _joined(first: ChangedBy | None, second: ChangedBy) -> ChangedBy:
    return second if first in (None, second) else ChangedBy.BOTH


_MOST_CHATS = 8


@value
class RecordedPaths:
    """`newest` is the position of the chat's newest snapshot when they were read."""

    newest: int
    paths: dict[str, ChangedPath]
    folders: dict[str, ChangedBy]


class RecordedPathsCache:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[str, RecordedPaths] = OrderedDict()

    async def of(self, chat: Chat) -> RecordedPaths:
        page, _ = await self._store.snapshots.page(chat.id, limit=1)
        newest = page[-1].position if page else 0
        recorded = self._known.get(chat.id)
        if recorded is None or recorded.newest != newest:
            changes = await self._store.snapshots.changes_in(chat.workspace) if newest else []
            paths = await asyncio.to_thread(changed_paths, changes, chat.id)
            recorded = self._known[chat.id] = RecordedPaths(newest, paths, changed_folders(paths))
            while len(self._known) > _MOST_CHATS:
                self._known.popitem(last=False)
        return recorded
