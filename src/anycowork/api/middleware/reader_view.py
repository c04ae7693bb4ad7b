"""Passes every answer and event of a reader who decides nothing through that reader's view: no route can forget it."""

import asyncio
import re
from collections.abc import Callable

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anycowork.chats.reader_view import ReaderView, ReaderViews
from anycowork.domain.principals import Principal

_EVENTS, _JSON = b"text/event-stream", b"application/json"
_LARGE = 65_536  # bytes
_DATA = b"data: "
# Is made of what the view has let through, and too long to be held back.
_EXPORT = re.compile(r"/context/[^/]+/export")


class ReaderViewMiddleware:
    """Stands behind the authentication. People who may decide are served without a detour."""

    def __init__(self, app: ASGIApp, views: ReaderViews) -> None:
        self._app = app
        self._views = views

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = scope.get("principal")
        view = await self._views.of(principal) if isinstance(principal, Principal) else None
        if view is None or not isinstance(principal, Principal) or _EXPORT.fullmatch(scope["path"]):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _ViewedAnswer(send, view, self._views, principal))


class _ViewedAnswer:
    """Holds a JSON answer back until it is whole; changes events one by one, by the rules of that moment."""

    def __init__(self, send: Send, view: ReaderView, views: ReaderViews, principal: Principal) -> None:
        self._send, self._view, self._views, self._principal = send, view, views, principal
        self._start: Message | None = None
        self._kind = b""
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = {name.lower(): value for name, value in message.get("headers", ())}
            self._kind = headers.get(b"content-type", b"").split(b";")[0]
            self._start = message
            if self._kind != _JSON:
                await self._send(message)
            return
        if self._kind == _JSON:
            await self._hold(message)
        elif self._kind == _EVENTS and message.get("body"):
            self._view = await self._views.of(self._principal) or self._view
            await self._send({**message, "body": await _shown(self._events, message["body"])})
        else:
            await self._send(message)

    async def _hold(self, message: Message) -> None:
        self._body += message.get("body", b"")
        if message.get("more_body", False) or self._start is None:
            return
        body = await _shown(self._json, self._body) if self._body else b""
        headers = [pair for pair in self._start.get("headers", ()) if pair[0].lower() != b"content-length"]
        length = [(b"content-length", str(len(body)).encode())] if body else []
        await self._send({**self._start, "headers": [*headers, *length]})
        await self._send({"type": "http.response.body", "body": body})

    def _events(self, frames: bytes) -> bytes:
        return b"".join(map(self._event, frames.split(b"\n\n")))

    def _event(self, frame: bytes) -> bytes:
        """Returns the frame as this reader may see it. What a call prints while it runs comes with its result."""
        if not frame:
            return b""
        head, data, body = frame.partition(_DATA)
        if not data:
            return frame + b"\n\n"
        event = msgspec.json.decode(body)
        if event.get("type") == "text-delta" and event.get("call_id") is not None:
            return b""
        return head + data + msgspec.json.encode(self._view.shown(event)) + b"\n\n"

    def _json(self, body: bytes) -> bytes:
        try:
            answer = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return body
        return msgspec.json.encode(self._view.shown(answer))


async def _shown(show: Callable[[bytes], bytes], body: bytes) -> bytes:
    """Returns what its reader may see of a body; a large one is looked through off the loop."""
    return show(body) if len(body) <= _LARGE else await asyncio.to_thread(show, body)
