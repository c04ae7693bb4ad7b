"""Forwards a request about a chat that another process has: that one answers it, because what it is about is there."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anycowork.api.asgi import JSON, send_bytes
from anycowork.api.middleware.body import body_of, replay
from anycowork.domain.forwarded_requests import ForwardedAnswer, ForwardedRequest, ForwardRequest
from anycowork.domain.principals import Principal

HELD_CHAT = "held_chat"  # in the scope: the chat that another process has, when the request was refused because of that
TRIES = 3
# What is forwarded about a chat: its turns, and what people decide about them.
_FORWARDED = frozenset(
    {
        "messages",
        "queue",
        "stop",
        "continue",
        "dismiss",
        "compact",
        "mode",
        "role",
        "approvals",
        "questions",
        "plans",
        "jobs",
        "fork",
    }
)


class HeldChatMiddleware:
    """A request that was refused because of another process has done nothing yet, so it may be tried again here when that one has left the
    chat."""

    def __init__(self, app: ASGIApp, forward: ForwardRequest) -> None:
        self._app = app
        self._forward = forward

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = scope.get("principal")
        if not isinstance(principal, Principal):
            await self._app(scope, receive, send)
            return
        for _ in range(TRIES):
            tried, refused = dict(scope), list[Message]()

            async def watched(message: Message, tried: Scope = tried, refused: list[Message] = refused) -> None:
                if HELD_CHAT in tried:
                    refused.append(message)
                else:
                    await send(message)

            await self._app(tried, replay(body_of(scope), receive) if "body" in scope else receive, watched)
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
            if (answer := await self._forward(request)) is not None:
                await send_bytes(send, answer.status, answer.body, content_type=JSON)
                return
        for message in refused:
            await send(message)


async def answer_here(app: ASGIApp, request: ForwardedRequest) -> ForwardedAnswer:
    """Runs a forwarded request in the app of this process, in the name of who sent it. Only one about its chat, or a job."""
    if not _may_be_forwarded(request):
        return _REFUSED
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


def _may_be_forwarded(request: ForwardedRequest) -> bool:
    """Whoever can write to the database must not reach more here than what servers forward: no settings, keys or people, no files, no
    programs."""
    start, *parts = request.path.split("/")
    match parts:
        case ["jobs", _, *_] if start == "":
            return ".." not in parts
        case ["context", request.chat_id, *rest] if start == "":
            return not rest or rest[0] in _FORWARDED
    return False


_REFUSED = ForwardedAnswer(
    403,
    b'{"error": {"code": "not_allowed", "message": "This request cannot be forwarded: it is about no chat and no job.", "param": null,'
    b' "type": "permission_error"}}',
)


async def _never() -> Message:
    """The sender of a forwarded request does not leave."""
    await asyncio.Event().wait()
    raise AssertionError("never set")
