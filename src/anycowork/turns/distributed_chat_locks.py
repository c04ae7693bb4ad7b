"""Locks of chats that several servers share: one server at a time works in a chat, from a request until its turns rest."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from anycowork.domain.errors import ChatHeld, HeldElsewhere, StorageFault

if TYPE_CHECKING:
    from anycowork.store.postgres.peers import PostgresPeers

WAIT_SECONDS = 3.0  # for a chat that no server is known to work in
SHORT_WAIT_SECONDS = 0.3  # for a request that another server handles
RETRY_SECONDS = 0.05
WORKER = "worker"
log = logging.getLogger(__name__)


class ChatClaims(Protocol):
    """Decides whether this server may take a chat over whose server died."""

    def claiming(self, chat_id: str) -> AbstractAsyncContextManager[bool]:
        """Yields whether this server has the chat now: False while a living server works in it, this one too."""


class SingleServerClaims:
    """Claims every chat: no other server uses the store."""

    @asynccontextmanager
    async def claiming(self, chat_id: str) -> AsyncIterator[bool]:
        yield True


class DistributedChatLocks:
    """Implements `ChatLocks` and `ChatClaims`. `refresh` reads a chat again that this server takes; `flush` makes shown text durable
    before it gives one back; `is_busy` tells whether a turn of the chat runs here."""

    def __init__(
        self,
        peers: "PostgresPeers",
        *,
        refresh: Callable[[str], Awaitable[None]],
        flush: Callable[[], Awaitable[None]],
        is_busy: Callable[[str], bool],
        wait_seconds: float,
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
        """Raises: ChatHeld while another process is at work in the chat, or has what it needs to go on."""
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
        """Does nothing: the request that deletes a chat gives the lock back at its end."""

    def _of(self, chat_id: str) -> asyncio.Lock:
        return self._local.setdefault(chat_id, asyncio.Lock())

    async def _take(self, chat_id: str) -> None:
        """Raises: HeldElsewhere if another process answers for the chat; ChatHeld if nobody does, and it is not free."""
        if self._peers.holds(chat_id):
            return
        started = asyncio.get_running_loop().time()
        while not await self._peers.claim(chat_id):
            waited = asyncio.get_running_loop().time() - started
            if await self._is_elsewhere(chat_id, waited):
                raise HeldElsewhere(
                    "Another server or worker works in this chat, or has what it needs to go on, and does not answer. Wait until it rests,"
                    " or try again.",
                    chat_id=chat_id,
                )
            if waited >= WAIT_SECONDS:
                raise ChatHeld("Another server is at work in this chat. Wait until it rests, or try again.")
            await asyncio.sleep(RETRY_SECONDS)
        await self._refresh(chat_id)

    async def _is_elsewhere(self, chat_id: str, waited: float) -> bool:
        """Tells whether another process answers for the chat. A server often has it for one request only, so that is waited for."""
        at_work = await self._peers.at_work_in(chat_id)
        if at_work is None:
            return await self._peers.find_holder(chat_id) is not None
        return at_work[1] == WORKER or waited >= self._wait_seconds

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
