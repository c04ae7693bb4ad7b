"""One wish at a time per chat: whoever is let in reads the chat as it is, writes down what becomes true, and sets the turn going."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from anycowork.chats.lookup import require_chat
from anycowork.chats.record_factory import require_idle
from anycowork.chats.turn_scheduler import TurnScheduler
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat, ChatState, Turn, TurnState
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Change, SetChat, Write
from anycowork.domain.ports import Journal, Store
from anycowork.domain.principals import Principal


class ChatLock:
    """Shared by the desks through which a chat is changed. `write`, `begin`, `take_up` and `stop` are for whoever is `alone`."""

    def __init__(self, *, journal: Journal, store: Store, scheduler: TurnScheduler) -> None:
        self._journal = journal
        self._store = store
        self._scheduler = scheduler
        self._locks: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def exclusive(self, chat_id: str) -> AsyncIterator[Chat]:
        """Nothing in here waits for a model or a person. Raises: NotFound."""
        await require_chat(self._store, chat_id)
        async with self._locks.setdefault(chat_id, asyncio.Lock()):
            yield await require_chat(self._store, chat_id)

    def forget(self, chat_id: str) -> None:
        """The chat is gone."""
        self._locks.pop(chat_id, None)

    async def write(
        self, principal: Principal, chat_id: str, *writes: Write, events: tuple[NewEvent, ...] = ()
    ) -> None:
        await self._journal.write(Change(chat_id, writes, events, principal=principal.label()))

    async def begin(
        self, principal: Principal, chat: Chat, turn: Turn, *writes: Write, events: tuple[NewEvent, ...] = ()
    ) -> None:
        """A turn and what it begins with become durable together; then it starts. Raises: TurnAlreadyRunning unless the chat is idle."""
        started = replace(event_factory.turn_started(turn), cause=turn.message_id)
        await self.write(principal, chat.id, require_idle(chat), *writes, turn, events=(*events, started))
        self._scheduler.start(turn)

    async def resume(self, principal: Principal, turn: Turn, *writes: Write, events: tuple[NewEvent, ...]) -> None:
        """What a person said and that the turn's next segment is due become durable together; then it starts."""
        due = replace(turn, state=TurnState.DUE)
        await self.write(principal, turn.chat_id, *writes, due, SetChat(ChatState.RUNNING), events=events)
        self._scheduler.start(due)

    async def stop(self, principal: Principal, chat_id: str) -> bool:
        """False if there was nothing to stop."""
        turn = await self._store.current_turn(chat_id)
        if turn is None:
            return False
        await self._scheduler.stop(turn, principal=principal.label(), said="Stopped by the person.")
        return True
