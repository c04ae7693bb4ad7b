"""Small ASGI helpers: read a header, send a complete response, watch one being sent, name the route that answered, answer HEAD like GET."""

from collections.abc import Iterable

import msgspec
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

JSON = b"application/json"
HeaderList = Iterable[tuple[bytes, bytes]]


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of this (lower-case) name; latin-1, as HTTP has it."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value).decode("latin-1")
    return None


class SendWatch:
    """Passes a response on and remembers its head. The layers of one request share one watch: every layer costs each streamed piece."""

    __slots__ = ("_send", "content_type", "status")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0  # until the head is sent
        self.content_type = b""

    @classmethod
    def of(cls, send: Send) -> "SendWatch":
        """Returns `send` itself if it is a watch already."""
        return send if isinstance(send, SendWatch) else cls(send)

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.watch_head(message)
        await self._send(message)

    def watch_head(self, message: Message) -> None:
        self.status = message["status"]
        self.content_type = next((text for name, text in message.get("headers", ()) if name == b"content-type"), b"")


async def send_json(send: Send, status: int, body: object, headers: HeaderList = ()) -> None:
    await send_bytes(send, status, msgspec.json.encode(body), content_type=JSON, headers=headers)


async def send_bytes(send: Send, status: int, body: bytes, *, content_type: bytes, headers: HeaderList = ()) -> None:
    length = str(len(body)).encode()
    head = [(b"content-type", content_type), (b"content-length", length), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


UNMATCHED = "unmatched"
_KEY = "anycowork.route"


def expect_route(scope: Scope) -> list[str]:
    """Returns a list that will hold the template. Middleware may copy the scope; the list stays the same."""
    templates: list[str] = []
    scope[_KEY] = templates
    return templates


def name_route(scope: Scope, template: str) -> None:
    templates = scope.get(_KEY)
    if templates is not None:
        templates[:] = [template]


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
