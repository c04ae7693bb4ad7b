"""Ends what a person or a client key still receives when their access ends: every stream, download and passthrough answer, in one place.

What a request changes is not cut off half-way: only reads and the passthrough end here.
"""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork.api.asgi import SendWatch
from anycowork.api.middleware.auth import PASSTHROUGH_PATHS, PERSON, session_in
from anycowork.domain.errors import AnyCoworkError, Unauthenticated
from anycowork.domain.people import Person
from anycowork.domain.principals import Principal, PrincipalKind, ends_access
from anycowork.server.browser_sessions import BrowserSessions
from anycowork.store.sql.people import People
from anycowork.store.sql.principals import ClientKeys

RETRY_SECONDS = 1.0
_READS = frozenset({"GET", "HEAD"})
_EVENTS = b"text/event-stream"


class AccessEnded(Unauthenticated):
    """The person was removed, has a new token or may do less; or the client key was revoked."""


class AccessEndMiddleware:
    """Stands behind the authentication. An answer that has begun is left unfinished, so that the client notices; our own event
    streams end properly, because nothing of them is missing."""

    def __init__(self, app: ASGIApp, people: People, keys: ClientKeys, sessions: BrowserSessions) -> None:
        self._app = app
        self._people, self._keys, self._sessions = people, keys, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        watch = SendWatch.of(send)
        ends = self._ends_of_access(scope, watch)
        if not ends or (scope["method"] not in _READS and scope["path"] not in PASSTHROUGH_PATHS):
            await self._app(scope, receive, send)
            return
        if not await run_until(lambda: _first_of(ends), self._app(scope, receive, watch)):
            return
        if not _is_event_stream(scope, watch):
            raise AccessEnded("Your access has ended or was changed while this was under way. Sign in again.")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _ends_of_access(self, scope: Scope, watch: SendWatch) -> list[Callable[[], Awaitable[None]]]:
        """Returns what to wait for: nothing for the owner's token, which does not end, and for requests that need no access."""
        person, principal, session = scope.get(PERSON), scope.get("principal"), session_in(scope)
        ends: list[Callable[[], Awaitable[None]]] = []
        if session is not None:
            ends.append(lambda: self._sessions.ended(session.node))
        if isinstance(person, Person):
            ends.append(lambda: self._person_lost_access(person, lambda: _is_event_stream(scope, watch)))
        elif isinstance(principal, Principal) and principal.kind is PrincipalKind.CLIENT_KEY:
            ends.append(lambda: self._keys.revoked(principal.id))
        return ends

    async def _person_lost_access(self, person: Person, is_event_stream: Callable[[], bool]) -> None:
        """Returns when the person may not read the answer on, also because they left a group.

        An event stream of ours also ends when they may do more: it is opened again without a loss, and the page learns by it what it can
        offer now.
        """
        last_seen = person
        while True:
            now = await self._people.changed(last_seen)
            if now is None or ends_access(person, now) or not {*last_seen.groups} <= {*now.groups}:
                return
            if is_event_stream() and (now.access is not last_seen.access or now.groups != last_seen.groups):
                return
            last_seen = now


def _is_event_stream(scope: Scope, watch: SendWatch) -> bool:
    """Whether an event stream of ours has begun."""
    return scope["method"] == "GET" and watch.content_type.startswith(_EVENTS)


async def _first_of(ends: list[Callable[[], Awaitable[None]]]) -> None:
    """Returns when one of these has happened."""
    async with asyncio.TaskGroup() as tasks:
        waits = [tasks.create_task(_for_certain(wait_for_end)) for wait_for_end in ends]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()


async def _for_certain(wait_for_end: Callable[[], Awaitable[None]]) -> None:
    """Returns when the access has ended. A database that does not answer ends nobody's access: it is asked again."""
    while True:
        try:
            await wait_for_end()
            return
        except AnyCoworkError:
            await asyncio.sleep(RETRY_SECONDS)


UNWATCHED = 0.05  # seconds; most answers are complete before a watch would be worth its cost


async def run_until(happened: Callable[[], Awaitable[None]], work: Awaitable[None]) -> bool:
    """Runs the work until it is done, or until `happened` returns. Returns whether it was cut off. Raises what either raises."""
    watch = _Watch(happened)
    later = watch.loop.call_later(UNWATCHED, watch.start)
    try:
        await work
    except asyncio.CancelledError:
        if not watch.took_the_cancellation():
            raise
        watch.raise_fault()
        return True
    finally:
        later.cancel()
        await watch.stop()
    return False


class _Watch:
    """Waits beside the task that made it, and cancels that task when what it waits for happened. The work is done without a task of its
    own: most of it ends before the watch starts, and a group of tasks would cost each request as much as its authentication."""

    __slots__ = ("_cancellations", "_fault", "_happened", "_has_cancelled", "_task", "_work", "loop")

    def __init__(self, happened: Callable[[], Awaitable[None]]) -> None:
        self.loop = asyncio.get_running_loop()
        work = asyncio.current_task(self.loop)
        assert work is not None
        self._work, self._cancellations = work, work.cancelling()
        self._happened = happened
        self._has_cancelled = False
        self._fault: Exception | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = self.loop.create_task(self._wait())

    async def _wait(self) -> None:
        try:
            await self._happened()
        except Exception as error:  # noqa: BLE001  # it ends the work, and is raised there
            self._fault = error
        self._has_cancelled = True
        self._work.cancel()

    def took_the_cancellation(self) -> bool:
        """Whether the work was cancelled by this watch and by nobody else."""
        return self._has_cancelled and self._work.uncancel() <= self._cancellations

    def raise_fault(self) -> None:
        if self._fault is not None:
            raise self._fault

    async def stop(self) -> None:
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
