"""Ends what a person or a client key still receives when their access ends: every stream, download and passthrough answer, in one place.

What a request changes is not cut off half-way: only reads and the passthrough end here.
"""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anycowork.api.cut_off import run_until
from anycowork.api.middleware.auth import PASSTHROUGH_PATHS, PERSON
from anycowork.domain.errors import AnyCoworkError, Unauthenticated
from anycowork.domain.people import Person
from anycowork.domain.principals import Principal, PrincipalKind, ends_access
from anycowork.domain.store_ports import ClientKeysPort, PeoplePort

RETRY_SECONDS = 1.0
_READS = frozenset({"GET", "HEAD"})
_EVENTS = b"text/event-stream"


class AccessEnded(Unauthenticated):
    """The person was removed, has a new token or may do less; or the client key was revoked."""


class AccessEndMiddleware:
    """Stands behind the authentication. An answer that has begun is left unfinished, so that the client notices; our own event
    streams end properly, because nothing of them is missing."""

    def __init__(self, app: ASGIApp, people: PeoplePort, keys: ClientKeysPort) -> None:
        self._app = app
        self._people, self._keys = people, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = _WatchedSend(send, events=scope["method"] == "GET")
        ended = self._end_of_access(scope, sending)
        if ended is None or (scope["method"] not in _READS and scope["path"] not in PASSTHROUGH_PATHS):
            await self._app(scope, receive, send)
            return
        if not await run_until(lambda: _for_certain(ended), self._app(scope, receive, sending)):
            return
        if not sending.finishes:
            raise AccessEnded("Your access has ended or was changed while this was under way. Sign in again.")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _end_of_access(self, scope: Scope, sending: "_WatchedSend") -> Callable[[], Awaitable[None]] | None:
        """None for the owner, whose access does not end, and for requests that need none."""
        person, principal = scope.get(PERSON), scope.get("principal")
        if isinstance(person, Person):
            return lambda: self._person_lost_access(person, sending)
        if isinstance(principal, Principal) and principal.kind is PrincipalKind.CLIENT_KEY:
            return lambda: self._keys.revoked(principal.id)
        return None

    async def _person_lost_access(self, person: Person, sending: "_WatchedSend") -> None:
        """Return when the person may not read the answer on. An event stream of ours also ends when they may do more: it is opened
        again without a loss, and the page learns by it what it can offer now."""
        known = person
        while True:
            now = await self._people.changed(known)
            if now is None or ends_access(person, now) or (sending.finishes and now.access is not known.access):
                return
            known = now


class _WatchedSend:
    """Passes messages on, and notes whether an event stream of ours has begun."""

    def __init__(self, send: Send, *, events: bool) -> None:
        self._send, self._events = send, events
        self.finishes = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and self._events:
            self.finishes = dict(message["headers"]).get(b"content-type", b"").startswith(_EVENTS)
        await self._send(message)


async def _for_certain(ended: Callable[[], Awaitable[None]]) -> None:
    """Return when the access has ended. A database that does not answer ends nobody's access: it is asked again."""
    while True:
        try:
            await ended()
            return
        except AnyCoworkError:
            await asyncio.sleep(RETRY_SECONDS)
