"""Serialises requests per chat: lock, re-read, commit, start the turn."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Protocol

from anycowork.domain import event_factory
from anycowork.domain.chats import Chat, ChatState, Turn, TurnState
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Change, RequireRoom, SetChat, Write, required_access
from anycowork.domain.limits import RequestedUse, payer_of
from anycowork.domain.messages import Message
from anycowork.domain.principals import Principal
from anycowork.prompts.tokens import tokens
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat_row
from anycowork.turns.record_factory import require_idle


class ChatLocks(Protocol):
    """Gives one request at a time a chat. In one process a lock does; several servers need one in their shared store."""

    def holding(self, chat_id: str) -> AbstractAsyncContextManager[object]: ...
    def forget(self, chat_id: str) -> None:
        """Drops the lock of a deleted chat."""


class LocalChatLocks:
    """The locks of one process."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}

    def holding(self, chat_id: str) -> AbstractAsyncContextManager[object]:
        return self._locks.setdefault(chat_id, asyncio.Lock())

    def forget(self, chat_id: str) -> None:
        self._locks.pop(chat_id, None)


class TurnEngine(Protocol):
    """Runs turns that are durable. `TurnScheduler` runs them as tasks of this process."""

    def start(self, turn: Turn) -> None:
        """Runs the turn's next segment, after the previous segment has ended."""

    async def stop(self, turn: Turn, *, principal: str, note: str) -> None:
        """Ends the turn; the history is consistent when this returns."""


class ChatCoordinator:
    """Serialises the requests of the services that change chats. Call `write`, `begin`, `resume` and `stop` only inside `exclusive`."""

    def __init__(
        self, *, journal: Journal, store: Store, scheduler: TurnEngine, locks: ChatLocks | None = None
    ) -> None:
        self._journal = journal
        self._store = store
        self._scheduler = scheduler
        self._locks = locks or LocalChatLocks()

    @asynccontextmanager
    async def exclusive(self, chat_id: str) -> AsyncIterator[Chat]:
        """Holds the chat's lock and yields the current chat, without its `last_seq`. Never wait for a model or a person inside. Raises:
        NotFound."""
        await require_chat_row(self._store, chat_id)
        async with self._locks.holding(chat_id):
            yield await require_chat_row(self._store, chat_id)

    def forget(self, chat_id: str) -> None:
        """Drops the lock of a deleted chat."""
        self._locks.forget(chat_id)

    async def write(
        self, principal: Principal, chat_id: str, *writes: Write, events: tuple[NewEvent, ...] = ()
    ) -> None:
        """A request may have waited for the lock or for a hook: what its person may no longer do is refused in the same transaction."""
        required = required_access(principal)
        writes = writes if required is None else (required, *writes)
        await self._journal.write(Change(chat_id, writes, events, principal=principal.label()))

    async def begin(
        self, principal: Principal, chat: Chat, turn: Turn, *writes: Write, events: tuple[NewEvent, ...] = ()
    ) -> None:
        """Writes the turn and its first records in one transaction, then starts it. Raises: TurnAlreadyRunning unless the chat is idle;
        SpendingLimitReached."""
        started = replace(event_factory.turn_started(turn), cause=turn.message_id)
        # What the message alone needs is asked for now; each request asks for what it needs.
        room = RequireRoom(RequestedUse(payer_of(turn.principal), chat.config.model_id, _message_tokens(writes)))
        await self.write(principal, chat.id, require_idle(chat), room, *writes, turn, events=(*events, started))
        self._scheduler.start(turn)

    def start(self, turn: Turn) -> None:
        """Starts a turn that is durable already."""
        self._scheduler.start(turn)

    async def resume(
        self,
        principal: Principal,
        turn: Turn,
        *writes: Write,
        events: tuple[NewEvent, ...],
        others: Sequence[Turn] = (),
    ) -> None:
        """Writes the person's decision and the due turns in one transaction, then starts their next segments."""
        due_turns = [replace(resumed, state=TurnState.DUE) for resumed in (turn, *others)]
        await self.write(principal, turn.chat_id, *writes, *due_turns, SetChat(ChatState.RUNNING), events=events)
        for resumed in due_turns:
            self._scheduler.start(resumed)

    async def stop_turn(self, turn: Turn, *, principal: str, note: str) -> None:
        """Stops one turn of the chat."""
        await self._scheduler.stop(turn, principal=principal, note=note)

    async def stop(self, principal: Principal, chat_id: str) -> bool:
        """Stops the current turns; returns False if there was nothing to stop."""
        turns = await self._store.turns.all_current(chat_id)
        for turn in turns:
            await self._scheduler.stop(turn, principal=principal.label(), note="Stopped by the person.")
        return bool(turns)


def _message_tokens(writes: Sequence[Write]) -> int:
    return sum(tokens(write.content) for write in writes if isinstance(write, Message))
