"""Queues what people write while the agent works, and sends it when the agent has finished."""

import asyncio
import logging
from dataclasses import replace

from anycowork.chats.chat_service import ChatService, SentMessage
from anycowork.domain import event_factory
from anycowork.domain.chats import ChatState, EndReason
from anycowork.domain.errors import AnyCoworkError, Conflict, Invalid, NotFound
from anycowork.domain.evidence import begins_with_name
from anycowork.domain.hooks import DeniedByHook
from anycowork.domain.journal import RemoveQueued
from anycowork.domain.messages import QueuedMessage
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.store.sql.people import People
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.lookup import require_chat

log = logging.getLogger(__name__)

MOST_QUEUED = 100
_FINISHED = frozenset({EndReason.ANSWERED, EndReason.TERMINATED})


class QueueService:
    """Messages are sent one per turn, oldest first, when the agent has finished. After a stop, a failure or a limit they wait: the next
    turn that finishes, or a person, sends them. One that begins with `/name` never steers: a workflow or a skill needs a turn of its own."""

    def __init__(
        self,
        *,
        chat_coordinator: ChatCoordinator,
        chats: ChatService,
        store: Store,
        people: People,
        clock: Clock,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._chat_coordinator = chat_coordinator
        self._chats = chats
        self._store = store
        self._people = people
        self._clock = clock
        self._tasks = tasks
        self._closed = False

    async def add(
        self, principal: Principal, chat_id: str, content: str, *, steer: bool
    ) -> QueuedMessage | SentMessage:
        """Queue the message; if the chat is idle and nothing waits, send it at once. Raises: Invalid, Conflict, NotFound."""
        principal.require(Scope.SEND)
        self._require_text(content)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            waiting = await self._store.queue.of_chat(chat_id)
            if chat.state is not ChatState.IDLE:
                if len(waiting) >= MOST_QUEUED:
                    raise Conflict(f"{MOST_QUEUED} messages wait already. Remove some, or wait until they are sent.")
                new_id, now = self._clock.new_id(), self._clock.now()
                steer = steer and not begins_with_name(content)
                queued = QueuedMessage(new_id, chat_id, content, principal.label(), steer, now)
                await self._put(principal, queued)
                return queued
        return await self._chats.send(principal, chat_id, content)

    async def waiting(self, chat_id: str) -> list[QueuedMessage]:
        """Raises: NotFound if there is no such chat."""
        await require_chat(self._store, chat_id)
        return await self._store.queue.of_chat(chat_id)

    async def change(
        self, principal: Principal, chat_id: str, queued_id: str, *, content: str | None, now: bool
    ) -> QueuedMessage | SentMessage:
        """Changes the text. With `now` it steers the running turn; if the chat is idle, it is sent. It is then of who changed it.

        Raises: NotFound, Invalid.
        """
        principal.require(Scope.SEND)
        if content is not None:
            self._require_text(content)
        async with self._chat_coordinator.exclusive(chat_id) as chat:
            queued_message = await self._require(chat_id, queued_id)
            author = (
                principal.label() if now or content not in (None, queued_message.content) else queued_message.principal
            )
            content = content or queued_message.content
            steer = (queued_message.steer or now) and not begins_with_name(content)
            queued = replace(queued_message, content=content, steer=steer, principal=author)
            await self._put(principal, queued)
        if not now or chat.state is not ChatState.IDLE:
            return queued
        return await self._chats.send(principal, chat_id, queued.content, queued=queued)

    async def remove(self, principal: Principal, chat_id: str, queued_id: str) -> None:
        """Raises: NotFound, also if it was sent already."""
        principal.require(Scope.SEND)
        async with self._chat_coordinator.exclusive(chat_id):
            queued = await self._require(chat_id, queued_id)
            removed = event_factory.queue_updated(queued, "removed")
            await self._chat_coordinator.write(principal, chat_id, RemoveQueued(queued_id), events=(removed,))

    # --- sending

    def close(self) -> None:
        """The server ends: nothing is sent any more."""
        self._closed = True

    async def resume_all(self) -> None:
        """At the server's start: send what the last server did not."""
        for chat_id in await self._store.queue.chats():
            self.wake(chat_id)

    def wake(self, chat_id: str) -> None:
        """A turn of the chat is over: send the next message, in the background."""
        if not self._closed:
            self._tasks.create_task(self._send_next(chat_id))

    async def _send_next(self, chat_id: str) -> None:
        try:
            waiting = await self._store.queue.of_chat(chat_id)
            newest = await self._store.turns.newest(chat_id) if waiting else None
            if self._closed or newest is None or newest.reason not in _FINISHED or newest.job_id is not None:
                return
            author = await self._people.acting(waiting[0].principal)
            await self._chats.require_visible(author, chat_id)
            await self._chats.send(author, chat_id, waiting[0].content, queued=waiting[0])
        except NotFound:
            return  # the chat or the message was removed in the meantime
        except DeniedByHook:
            self.wake(chat_id)  # the chat tells of it; the next message may be sent
        except AnyCoworkError as error:  # it stays in the queue, where a person sees it
            log.warning("chat %s: a queued message was not sent: %s", chat_id, error.message)

    # --- the parts

    async def _put(self, principal: Principal, queued: QueuedMessage) -> None:
        queue = event_factory.queue_updated(queued, "queued")
        await self._chat_coordinator.write(principal, queued.chat_id, queued, events=(queue,))

    async def _require(self, chat_id: str, queued_id: str) -> QueuedMessage:
        waiting = await self._store.queue.of_chat(chat_id)
        message = next((queued for queued in waiting if queued.id == queued_id), None)
        if message is None:
            raise NotFound("queued message", queued_id)
        return message

    @staticmethod
    def _require_text(content: str) -> None:
        if not content.strip():
            raise Invalid("The message is empty; write what you want done.", param="content")
