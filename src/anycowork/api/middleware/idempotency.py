"""Implements `Idempotency-Key`: a repeated request is executed once and gets the same response. The key is durable before the
effect, the response after it."""

import asyncio
import hashlib
import logging
import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anycowork.api.asgi import JSON, header, send_bytes
from anycowork.api.middleware.auth import LET_IN_AGAIN
from anycowork.api.middleware.body import body_of
from anycowork.domain.errors import Conflict, Invalid, StorageFault
from anycowork.domain.principals import Principal
from anycowork.store.sql.idempotency import IdempotencyKeys, StoredAnswer

log = logging.getLogger("anycowork.api")

_KEY = re.compile(r"[!-~]{1,200}")
# None passes here: the passthrough answers in streams, and a sign-in, people, keys, workers and triggers with secrets that nothing
# stores a second time.
_NOT_KEPT = ("/v1/", "/session", "/people", "/keys", "/workers/", "/worker-runs/", "/triggers")
TWIN_SECONDS = 10.0
_REPEATED = (b"idempotent-replay", b"true")


class KeyInFlight(Conflict):
    code = "idempotency_in_flight"


class KeyUnknown(Conflict):
    code = "idempotency_unknown"


class KeyReused(Invalid):
    code = "idempotency_key_reused"


class IdempotencyMiddleware:
    """Only answers that did something (2xx) are kept: a 4xx changed nothing, so its key may be used again. After a 5xx nobody
    can be sure, and the key says so."""

    def __init__(self, app: ASGIApp, receipts: IdempotencyKeys) -> None:
        self._app = app
        self._receipts = receipts
        self._in_flight: dict[tuple[str, str], asyncio.Event] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal, key = scope.get("principal"), _key_of(scope)
        if key is None or not isinstance(principal, Principal):
            await self._app(scope, receive, send)
            return
        mark = (principal.label(), key)
        while mark in self._in_flight:
            await self._twin_answered(mark)
            if (let_in_again := scope.get(LET_IN_AGAIN)) is not None:
                await let_in_again()  # access may have ended while it waited
        finished = self._in_flight[mark] = asyncio.Event()
        try:
            await self._once(mark, scope, receive, send)
        finally:
            del self._in_flight[mark]
            finished.set()

    async def _twin_answered(self, mark: tuple[str, str]) -> None:
        """Waits until no request with this key is under way: what it was answered is then the answer here, too. Raises: KeyInFlight."""
        try:
            async with asyncio.timeout(TWIN_SECONDS):
                while twin := self._in_flight.get(mark):
                    await twin.wait()
        except TimeoutError:
            raise KeyInFlight(
                "A request with this Idempotency-Key is still running. Try again shortly.",
                param="Idempotency-Key",
            ) from None

    async def _once(self, mark: tuple[str, str], scope: Scope, receive: Receive, send: Send) -> None:
        path, body_hash = scope["path"], hashlib.sha256(body_of(scope)).hexdigest()
        earlier = await self._receipts.begin(*mark, path=path, body_hash=body_hash)
        if earlier is not None:
            status, body = _same_answer(earlier, path, body_hash)
            await send_bytes(send, status, body, content_type=JSON, headers=[_REPEATED])
            return
        held_response = _Kept()
        await self._app(scope, receive, held_response)
        await self._settle(mark, held_response)
        await held_response.release(send)

    async def _settle(self, mark: tuple[str, str], held_response: "_Kept") -> None:
        try:
            if 200 <= held_response.status < 300:
                await self._receipts.finish(*mark, status=held_response.status, response=held_response.body)
            elif held_response.status < 500:
                await self._receipts.abandon(*mark)
        except StorageFault:
            # The request took effect even if its response could not be stored: the caller gets it, and a repeat is told to check.
            log.warning("the answer to an Idempotency-Key could not be stored")


class _Kept:
    """Holds a response back until it is stored."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def status(self) -> int:
        return int(self._messages[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self._messages)

    async def release(self, send: Send) -> None:
        for message in self._messages:
            await send(message)


def _key_of(scope: Scope) -> str | None:
    """Raises: Invalid."""
    if scope["method"] != "POST" or scope["path"].startswith(_NOT_KEPT):
        return None
    key = header(scope, b"idempotency-key")
    if key is not None and not _KEY.fullmatch(key):
        raise Invalid(
            "An Idempotency-Key is 1 to 200 printable characters without spaces; a UUID is a good one.",
            param="Idempotency-Key",
        )
    return key


def _same_answer(earlier: StoredAnswer, path: str, body_hash: str) -> tuple[int, bytes]:
    """Raises: KeyReused, KeyUnknown."""
    if (earlier.path, earlier.body_hash) != (path, body_hash):
        raise KeyReused(
            "This Idempotency-Key was used for another request. Use a new key for a new request.",
            param="Idempotency-Key",
        )
    if earlier.status is None or earlier.response is None:
        raise KeyUnknown(
            "A request with this Idempotency-Key was started, but the server stopped or failed before it was answered. "
            "Check whether it took effect; if not, send it again with a new key.",
            param="Idempotency-Key",
        )
    return earlier.status, earlier.response
