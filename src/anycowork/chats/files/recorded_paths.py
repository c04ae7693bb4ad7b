"""Keeps which paths each chat has changed, so that a person who opens folder after folder does not cause the same reading again."""

import asyncio
from collections import OrderedDict

from anycowork.chats.files.chat_changes import ChangedPath, changed_folders, changed_paths
from anycowork.domain.chats import Chat
from anycowork.domain.files import ChangedBy
from anycowork.domain.values import value
from anycowork.store.sql.store import Store

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
        page, _ = await self._store.snapshots_page(chat.id, limit=1)
        newest = page[-1].position if page else 0
        recorded = self._known.get(chat.id)
        if recorded is None or recorded.newest != newest:
            changes = await self._store.changes_in(chat.workspace) if newest else []
            paths = await asyncio.to_thread(changed_paths, changes, chat.id)
            recorded = self._known[chat.id] = RecordedPaths(newest, paths, changed_folders(paths))
            while len(self._known) > _MOST_CHATS:
                self._known.popitem(last=False)
        return recorded
