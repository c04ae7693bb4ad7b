"""Reads and validates the request body: limited in size, number of values, depth and time, and valid JSON if it claims to be.

What a route never needs is refused before it is read, and who has not signed in sends next to nothing.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anycowork.api.asgi import header
from anycowork.api.middleware.auth import LET_IN_AGAIN, WORKER, is_signed_request
from anycowork.domain.bounded_json import MAX_VALUES, UnboundedJson, has_more_values, read_json, widest_object
from anycowork.domain.errors import RequestFault, TooLarge
from anycowork.domain.principals import Principal

READ_SECONDS = 30.0
TRAVEL_SECONDS = 600.0  # for a body of a joined worker, as long as something of it comes
SLOW_SECONDS = (
    0.001  # a body that took longer is followed by a second look at who sent it: ending an access takes more than that
)
LINGER_SECONDS = 5.0
LARGE = 64 << 10  # bytes: reading more takes long enough to block the loop
SIGN_IN_BYTES = 1 << 10
SIGNED_BYTES = 256 << 10
FORM_BYTES = 1 << 20
MAX_FIELDS = 256  # of one object
MOST_LARGE = 4  # large bodies of one sender that are read at once
_SIGN_IN = "/session"
_WITH_FILES = (
    "/context",
    "/jobs",
    "/attachments",
    "/worker-runs",
)  # their bodies hold texts, files and images; those of other routes are forms
_UNREAD = "body_unread"  # in the scope: more of a refused body is on its way
_BODILESS = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})


class BadJson(RequestFault):
    code = "bad_json"


class TooDeep(RequestFault):
    code = "too_deep"


class TooManyValues(TooLarge):
    code = "too_many_values"


class TooSlow(RequestFault):
    code = "too_slow"
    status = 408


class ClientGone(RequestFault):
    """The client disconnected."""

    code = "client_gone"


class LargeBodies:
    """Lets each sender have few large bodies read at once. The others wait, unread."""

    def __init__(self) -> None:
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._senders: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, scope: Scope) -> AsyncIterator[None]:
        if _is_small(scope):
            yield
            return
        sender = _sender(scope)
        slots = self._slots.setdefault(sender, asyncio.Semaphore(MOST_LARGE))
        self._senders[sender] += 1
        try:
            async with slots:
                yield
        finally:
            self._senders[sender] -= 1
            if not self._senders[sender]:
                del self._senders[sender], self._slots[sender]


def _is_small(scope: Scope) -> bool:
    """Whether it tells a length, and a short one."""
    declared = header(scope, b"content-length") or ("0" if header(scope, b"transfer-encoding") is None else "")
    return declared.isdecimal() and int(declared) <= LARGE


def _sender(scope: Scope) -> str:
    if (worker := scope.get(WORKER)) is not None:
        return f"worker {worker.id}"
    principal, client = scope.get("principal"), scope.get("client")
    return principal.identity() if isinstance(principal, Principal) else f"at {client[0] if client else 'unknown'}"


class BodyLimit:
    """Reads the body, stores it in the scope (`body_of`), and passes it on to the app."""

    def __init__(self, app: ASGIApp, *, max_bytes: int, large_bodies: LargeBodies) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._large_bodies = large_bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in _BODILESS:
            await self._app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        async with self._large_bodies.turn(scope):
            body = await read_body(scope, receive, max_bytes=min(self._max_bytes, _most_bytes(scope)))
            if _is_json(scope) and not is_signed_request(scope):  # its signature is checked first
                await asyncio.to_thread(check_json, body) if len(body) > LARGE else check_json(body)
        if loop.time() - started_at > SLOW_SECONDS and (let_in_again := scope.get(LET_IN_AGAIN)) is not None:
            await let_in_again()  # access may have ended while the body was on its way
        scope["body"] = body
        await self._app(scope, replay(body, receive), send)


def _most_bytes(scope: Scope) -> int:
    """Returns what the longest body of this route needs. Whoever has not signed in can only sign in, or start a trigger."""
    path = scope["path"]
    if is_signed_request(scope):
        return SIGNED_BYTES
    if path.startswith(_SIGN_IN) or "principal" not in scope:
        return SIGN_IN_BYTES
    return sys.maxsize if path.startswith(_WITH_FILES) else FORM_BYTES


def _is_json(scope: Scope) -> bool:
    return "json" in (header(scope, b"content-type") or "").lower()


async def read_body(scope: Scope, receive: Receive, *, max_bytes: int) -> bytes:
    """Reads the raw body. Raises: TooLarge, TooSlow, ClientGone."""
    declared = header(scope, b"content-length") or "0"
    if not declared.isdecimal() or int(declared) > max_bytes:
        scope[_UNREAD] = header(scope, b"expect") is None  # who asks first has sent nothing yet
        raise _too_large(max_bytes)
    try:
        async with asyncio.timeout(READ_SECONDS) as deadline:
            return await _collect(scope, receive, max_bytes, deadline)
    except TimeoutError:
        raise TooSlow(f"The body did not arrive within {READ_SECONDS:.0f} seconds.") from None


async def _collect(scope: Scope, receive: Receive, max_bytes: int, deadline: asyncio.Timeout) -> bytes:
    loop, parts = asyncio.get_running_loop(), list[bytes]()
    last_deadline = loop.time() + TRAVEL_SECONDS
    size, more = 0, True
    while more:
        message = await receive()
        if WORKER in scope:  # its line may be slow, and it is known who sends
            deadline.reschedule(min(loop.time() + READ_SECONDS, last_deadline))
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
    """Raises: BadJson, TooDeep, TooManyValues. Stricter than Python's own reader: no NaN, no lone surrogates that could not be stored."""
    if not body:
        return
    if has_more_values(body, MAX_VALUES):
        raise TooManyValues(f"The body has more than {MAX_VALUES:,} values. Send them in several requests.")
    try:
        parsed = read_json(body, max_values=len(body))
    except UnboundedJson as error:
        raise TooDeep(f"The body cannot be read: {error}. Flatten it.") from None
    except ValueError as error:
        raise BadJson(f"The body is not valid JSON: {error}.") from None
    if widest_object(parsed, body, MAX_FIELDS) > MAX_FIELDS:  # each that is not known would be an error of its own
        raise TooManyValues(f"An object in the body has more than {MAX_FIELDS} fields. Leave out what is not needed.")


def replay(body: bytes, receive: Receive) -> Receive:
    """Gives the app a body that was read already."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return pending.pop() if pending else await receive()

    return replayed
