"""Refuses requests at once while the database does not answer: what runs waits for it and goes on, and people are told so."""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork.domain.errors import DatabaseAway

_WITHOUT_DATABASE = frozenset({"/", "/healthz"})
_BELOW = ("/assets/", "/v1/")  # the page's own files, and the passthrough, which counts in memory


class DatabaseAwayMiddleware:
    """`away` is set while the database does not answer."""

    def __init__(self, app: ASGIApp, away: asyncio.Event) -> None:
        self._app = app
        self._away = away

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if self._away.is_set() and path not in _WITHOUT_DATABASE and not path.startswith(_BELOW):
            raise DatabaseAway(
                "The database does not answer, so the server waits for it. Nothing that was confirmed is lost; what runs goes on by itself"
                " when the database is back. Try again in a few seconds."
            )
        await self._app(scope, receive, send)
