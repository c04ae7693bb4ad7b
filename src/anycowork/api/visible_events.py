"""Leaves out of an event stream what its reader may not see, as it is at the moment of each event."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from anycowork.domain.events import StreamItem, StreamSignal
from anycowork.domain.visibility import Viewer
from anycowork.store.sql.visibility import VisibilityTable

_MOST_CHATS = 10_000


class Sight:
    """Says which chats the reader of one stream may see. A chat is looked up once, and again when `state` has changed."""

    def __init__(self, table: VisibilityTable, viewer: Viewer, state: Callable[[], object]) -> None:
        self._table, self._viewer, self._state = table, viewer, state
        self._seen_state = state()
        self._chats: dict[str, bool] = {}

    async def sees(self, chat_id: str) -> bool:
        if (state := self._state()) != self._seen_state or len(self._chats) > _MOST_CHATS:
            self._chats.clear()
            self._seen_state = state
        visible = self._chats.get(chat_id)
        if visible is None:
            visible = self._chats[chat_id] = await self._table.sees_chat(self._viewer, chat_id)
        return visible


async def visible_events(
    events: AsyncGenerator[StreamItem, None], sight: Sight, *, of_one_chat: bool
) -> AsyncGenerator[StreamItem, None]:
    """Yields what the reader may see. The stream of one chat ends where that chat is hidden."""
    async with aclosing(events) as items:
        async for item in items:
            if isinstance(item, StreamSignal):
                yield item
                continue
            visible = [record for record in item if await sight.sees(record.chat_id)]
            if visible:
                yield visible
            if of_one_chat and len(visible) < len(item):
                return
