"""Locks of chats that several servers share: one server at a time works in a chat, from a request until its turns rest."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from anycowork.domain.errors import ChatHeld, HeldByWorker, StorageFault

WAIT_SECONDS = 3.0  # for a request that another server handles
RETRY_SECONDS = 0.05
log = logging.getLogger(__name__)


class ChatClaims(Protocol):
    """Decides whether this server may take a chat over whose server died."""

    def claiming(self, chat_id: str) -> AbstractAsyncContextManager[bool]:
        """Yield whether this server has the chat now: False while a living server works in it, this one too."""


class SingleServerClaims:
    """Claims every chat: no other server uses the store."""

    @asynccontextmanager
    async def claiming(self, chat_id: str) -> AsyncIterator[bool]:
        yield True


class ServerPeers(Protocol):
    """The part of the shared store that gives a chat to one server."""

    async def claim(self, chat_id: str) -> bool: ...
    async def release(self, chat_id: str) -> None: ...
    async def held_by_worker(self, chat_id: str) -> bool: ...
    def holds(self, chat_id: str) -> bool: ...


class DistributedChatLocks:
    """Implements `ChatLocks` and `ChatClaims`. `refresh` reads a chat again that this server takes; `flush` makes shown text durable
    before it gives one back; `is_busy` tells whether a turn of the chat runs here."""

    def __init__(
        self,
        peers: ServerPeers,
        *,
        refresh: Callable[[str], Awaitable[None]],
        flush: Callable[[], Awaitable[None]],
        is_busy: Callable[[str], bool],
        wait_seconds: float | None = None,
    ) -> None:
        self._peers = peers
        self._refresh = refresh
        self._flush = flush
        self._is_busy = is_busy
        self._wait_seconds = wait_seconds
        self.is_due: Callable[[str], bool] = lambda chat_id: False
        """Tells whether a job of the chat goes on at once: then the chat stays here."""
        self.on_given_back: Callable[[str], None] = lambda chat_id: None
        self._local: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def holding(self, chat_id: str) -> AsyncIterator[None]:
        """Raises: ChatHeld while another server is at work in the chat."""
        async with self._of(chat_id):
            await self._take(chat_id)
            try:
                yield
            finally:
                await self._give_back(chat_id)

    @asynccontextmanager
    async def claiming(self, chat_id: str) -> AsyncIterator[bool]:
        async with self._of(chat_id):
            if self._peers.holds(chat_id) or not await self._peers.claim(chat_id):
                yield False
                return
            try:
                await self._refresh(chat_id)
                yield True
            finally:
                await self._give_back(chat_id)

    async def rest(self, chat_id: str) -> None:
        """Gives the chat back when its turn rests. A request that holds it does so at its end."""
        if not self._of(chat_id).locked():
            async with self._of(chat_id):
                await self._give_back(chat_id)

    def forget(self, chat_id: str) -> None:
        """Nothing: the lock is given back at the end of the request that deleted the chat."""

    def _of(self, chat_id: str) -> asyncio.Lock:
        return self._local.setdefault(chat_id, asyncio.Lock())

    async def _take(self, chat_id: str) -> None:
        if self._peers.holds(chat_id):
            return
        until = asyncio.get_running_loop().time() + (WAIT_SECONDS if self._wait_seconds is None else self._wait_seconds)
        while not await self._peers.claim(chat_id):
            if await self._peers.held_by_worker(chat_id):
                raise HeldByWorker(
                    "A worker is at work in this chat, and does not answer. Wait until its job rests, or try again.",
                    chat_id=chat_id,
                )
            if asyncio.get_running_loop().time() >= until:
                raise ChatHeld(
                    "Another server is at work in this chat. Wait until it rests, or open the chat on that server to stop it."
                )
            await asyncio.sleep(RETRY_SECONDS)
        await self._refresh(chat_id)

    async def _give_back(self, chat_id: str) -> None:
        """Never raises: what the request did is durable, and a lock whose session is lost is free."""
        if self._is_busy(chat_id) or self.is_due(chat_id):
            return
        try:
            await self._flush()
        except StorageFault as error:
            log.warning("chat %s: shown text is not durable yet: %s", chat_id, error.message)
        try:
            await self._peers.release(chat_id)
        except StorageFault as error:
            log.warning("chat %s: the lock ended with its session: %s", chat_id, error.message)
        self.on_given_back(chat_id)
