"""Reads and validates the request body: limited in size, depth and time, and valid JSON if it claims to be."""

import asyncio

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anycowork.api.asgi import header
from anycowork.domain.errors import RequestFault, TooLarge
from anycowork.domain.json_depth import MAX_DEPTH, is_too_deep

READ_SECONDS = 30.0
LINGER_SECONDS = 5.0
_LARGE = 64 << 10  # bytes: reading more takes long enough to block the loop
_UNREAD = "body_unread"  # in the scope: more of a refused body is on its way
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})


class BadJson(RequestFault):
    code = "bad_json"


class TooDeep(RequestFault):
    code = "too_deep"


class TooSlow(RequestFault):
    code = "too_slow"
    status = 408


class ClientGone(RequestFault):
    """The client disconnected."""

    code = "client_gone"


class BodyLimit:
    """Reads the body, stores it in the scope (`body_of`), and passes it on to the app."""

    def __init__(self, app: ASGIApp, *, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in _BODILESS:
            await self._app(scope, receive, send)
            return
        body = await read_body(scope, receive, max_bytes=self._max_bytes)
        if "json" in (header(scope, b"content-type") or ""):
            await asyncio.to_thread(check_json, body) if len(body) > _LARGE else check_json(body)
        scope["body"] = body
        await self._app(scope, replay(body, receive), send)


async def read_body(scope: Scope, receive: Receive, *, max_bytes: int) -> bytes:
    """Read the raw body. Raises: TooLarge, TooSlow, ClientGone."""
    declared = header(scope, b"content-length") or "0"
    if not declared.isdecimal() or int(declared) > max_bytes:
        scope[_UNREAD] = header(scope, b"expect") is None  # who asks first has sent nothing yet
        raise _too_large(max_bytes)
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await _collect(scope, receive, max_bytes)
    except TimeoutError:
        raise TooSlow(f"The body did not arrive within {READ_SECONDS:.0f} seconds.") from None


async def _collect(scope: Scope, receive: Receive, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone("The client left before its body was complete.")
        part, more = message.get("body", b""), message.get("more_body", False)
        size += len(part)
        if size > max_bytes:
            scope[_UNREAD] = more
            raise _too_large(max_bytes)
        parts.append(part)
    return b"".join(parts)


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(
        f"The body is larger than {max_bytes} bytes. Send less, or put large content into a file of the workspace."
    )


def drain_rest(scope: Scope, receive: Receive, send: Send) -> Send:
    """Sends an answer at once, but ends it only when the rest of a refused body has come, or has taken too long.

    Most clients listen after they have sent everything. Closed before that, the connection is reset under them, and the answer is lost.
    """
    if not scope.get(_UNREAD, False):
        return send

    async def lingering(message: Message) -> None:
        if message["type"] != "http.response.body" or message.get("more_body", False):
            await send(message)
            return
        await send({**message, "more_body": True})
        await _forget_the_rest(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return lingering


async def _forget_the_rest(receive: Receive) -> None:
    try:
        async with asyncio.timeout(LINGER_SECONDS):
            while (await receive()).get("more_body", False):
                pass
    except TimeoutError:
        return  # the connection is closed now, even if the client is still sending


def body_of(scope: Scope) -> bytes:
    return bytes(scope.get("body", b""))


def check_json(body: bytes) -> None:
    """Raises: BadJson, TooDeep. Stricter than Python's own reader: no NaN, no lone surrogates that could not be stored."""
    if not body:
        return
    try:
        value = msgspec.json.decode(body)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise BadJson(f"The body is not valid JSON: {error}.") from None
    if is_too_deep(value, body):
        raise _too_deep()


def _too_deep() -> TooDeep:
    return TooDeep(f"The body is nested deeper than {MAX_DEPTH} levels. Flatten it.")


def replay(body: bytes, receive: Receive) -> Receive:
    """Gives the app a body that was read already."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return pending.pop() if pending else await receive()

    return replayed
