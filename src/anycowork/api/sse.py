"""Serves records as server-sent events over plain ASGI. A stream ends when its client disconnects, the server stops or the
database goes away, and blocks none of them. `AccessEndMiddleware` ends it when its reader loses access."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from operator import attrgetter
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork.api.asgi import header, name_route
from anycowork.api.errors import WrongMethod
from anycowork.api.middleware.auth import principal_in
from anycowork.api.visibility import hides_chat
from anycowork.domain import principals
from anycowork.domain.errors import Invalid, NotFound
from anycowork.domain.events import Record, StreamItem, StreamSignal
from anycowork.domain.visibility import Viewer, viewer_of
from anycowork.server.services import Services
from anycowork.store.sql.visibility import VisibilityTable
from anycowork.turns.lookup import require_chat

_ALL = "/events"
_MOST_CHATS = 10_000  # whose visibility one stream remembers
_ONE = re.compile(r"/context/([^/]+)/events")
_HEAD = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStreams:
    """Handles the two event paths; passes everything else to the app."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        single_chat = _ONE.fullmatch(scope["path"])
        if single_chat is None and scope["path"] != _ALL:
            await self._app(scope, receive, send)
            return
        name_route(scope, _ALL if single_chat is None else "/context/{chat_id}/events")
        if scope["method"] != "GET":
            raise WrongMethod("Use GET to read event streams.", allow="GET")
        principal, after = principal_in(scope, principals.Scope.READ), _after(scope)
        if single_chat is None:
            events, event_id = self._services.streams.follow_all(after=after), POSITION
        else:
            if await hides_chat(self._services, principal, single_chat.group(1)):
                raise NotFound("chat", single_chat.group(1))
            chat = await require_chat(self._services.store, single_chat.group(1))
            events, event_id = self._services.streams.follow(chat.id, after=after or 0), SEQ
        if (viewer := viewer_of(principal)) is not None:
            sight = Sight(self._services.store.visibility, viewer, self._services.streams.list_state)
            events = visible_events(events, sight, of_one_chat=single_chat is not None)
        await self._pass_on(events, event_id, receive, send)

    async def _pass_on(
        self,
        events: AsyncGenerator[StreamItem, None],
        event_id: "EventId",
        receive: Receive,
        send: Send,
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEAD})
        async with asyncio.TaskGroup() as tasks:
            pump = tasks.create_task(_pump(events, event_id, send))
            watchers = [
                tasks.create_task(_client_gone(receive)),
                tasks.create_task(_set(self._services.server.stopping)),
                tasks.create_task(_set(self._services.server.database_away)),
            ]
            await asyncio.wait([pump, *watchers], return_when=asyncio.FIRST_COMPLETED)
            for task in (pump, *watchers):
                task.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _pump(events: AsyncGenerator[StreamItem, None], event_id: "EventId", send: Send) -> None:
    async with aclosing(events) as items:
        async for item in items:
            await send({"type": "http.response.body", "body": encode_sse(item, event_id), "more_body": True})


EventId = Callable[[Record], int]
"""Returns the number that a client sends back as Last-Event-ID."""

SEQ: EventId = attrgetter("seq")
POSITION: EventId = attrgetter("position")


def encode_sse(item: StreamItem, event_id: EventId) -> bytes:
    """Encodes what a stream delivered. A signal becomes a comment, which clients that do not know it ignore and which has no event id."""
    if isinstance(item, StreamSignal):
        return b": %s\n\n" % item.value.encode()
    return b"".join(
        b"id: %d\nevent: %s\ndata: %s\n\n" % (event_id(record), record.type.value.encode(), record.body)
        for record in item
    )


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _set(event: asyncio.Event) -> None:
    await event.wait()


def _after(scope: Scope) -> int | None:
    """The number of the last event seen. A reconnecting browser sends the header: it knows better than the address. Raises: Invalid."""
    seen = header(scope, b"last-event-id")
    if seen:
        return _number(seen, "Last-Event-ID")
    values = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get("after")
    return _number(values[-1], "after") if values else None


def _number(word: str, param: str) -> int:
    word = word.strip(" \t")
    if not word.isascii() or not word.isdecimal() or len(word) > 18:
        raise Invalid(
            f"'{param}' must be the number of an event (its 'id' line), or be left out to start with the first.",
            param=param,
        )
    return int(word)


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
