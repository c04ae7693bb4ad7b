"""Forwards a request about a chat that a worker has: the worker answers it, because the turns that it is about run there."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anycowork.api.asgi import JSON, send_bytes
from anycowork.api.middleware.body import body_of, replay
from anycowork.domain.forwarded_requests import ForwardedAnswer, ForwardedRequest, RequestForwarder
from anycowork.domain.principals import Principal

HELD_CHAT = "held_chat"  # in the scope: the chat that a worker has, when the request was refused because of that
TRIES = 3
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class HeldChatMiddleware:
    """A request that a worker's chat refused has done nothing yet, so it may be tried again here when the worker has left the chat."""

    def __init__(self, app: ASGIApp, forwarder: RequestForwarder) -> None:
        self._app = app
        self._forwarder = forwarder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = scope.get("principal")
        if scope["method"] in _READING or not isinstance(principal, Principal):
            await self._app(scope, receive, send)
            return
        for _ in range(TRIES):
            tried, refused = dict(scope), list[Message]()

            async def watched(message: Message, tried: Scope = tried, refused: list[Message] = refused) -> None:
                if HELD_CHAT in tried:
                    refused.append(message)
                else:
                    await send(message)

            await self._app(tried, replay(body_of(scope), receive), watched)
            if HELD_CHAT not in tried:
                return
            request = ForwardedRequest(
                chat_id=tried[HELD_CHAT],
                principal=principal,
                method=scope["method"],
                path=scope["path"],
                query=scope["query_string"].decode("latin-1"),
                body=body_of(scope),
            )
            if (answer := await self._forwarder.forward(request)) is not None:
                await send_bytes(send, answer.status, answer.body, content_type=JSON)
                return
        for message in refused:
            await send(message)


async def answer_here(app: ASGIApp, request: ForwardedRequest) -> ForwardedAnswer:
    """Runs a forwarded request in the app of this process, in the name of who sent it."""
    scope: Scope = {
        "type": "http",
        "http_version": "1.1",
        "method": request.method,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": request.query.encode("latin-1"),
        "headers": [(b"content-type", b"application/json")],
        "scheme": "http",
        "root_path": "",
        "principal": request.principal,
        "body": request.body,
    }
    status, parts = 500, list[bytes]()

    async def collect(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        else:
            parts.append(message.get("body", b""))

    await app(scope, replay(request.body, _never), collect)
    return ForwardedAnswer(status, b"".join(parts))


async def _never() -> Message:
    """The sender of a forwarded request does not leave."""
    await asyncio.Event().wait()
    raise AssertionError("never set")
