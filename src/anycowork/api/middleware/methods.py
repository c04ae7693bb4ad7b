"""Handles HEAD like GET, and builds the `Allow` header of a path. Event streams are not included."""

from collections.abc import Iterable

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadAsGet:
    """HEAD is answered as GET would be, without the body: probes and link checkers ask so."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def bodiless(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        # A copy: outer middleware still sees HEAD, and the server sends no body for it.
        await self._app({**scope, "method": "GET"}, receive, bodiless)


def allowed_methods(routes: Iterable[BaseRoute], path: str) -> str:
    """All that this path takes, as an `Allow` header has it."""
    matching = (route for route in routes if isinstance(route, Route) and route.path_regex.match(path))
    methods = {method for route in matching for method in route.methods or ()}
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
