"""The OpenAI-compatible passthrough: a program's request goes to a provider byte for byte, and the answer comes back the same way.

Bare ASGI. No prompt is added, no body rewritten; the body is read only to see which model it names and how much it asks for.
The one exception are keys with a limit of tokens or dollars: what they send is bounded and counted, or refused.
"""

import asyncio
import re
import zlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork.api.asgi import header, name_route, send_json
from anycowork.api.errors import WrongMethod
from anycowork.api.gateway.metering import NOTHING, Meter, ReservedUse, expected_usage, read_metered_request
from anycowork.api.gateway.proxy_headers import (
    towards_client,
    towards_provider,
    towards_provider_limited,
    towards_provider_query,
)
from anycowork.api.middleware.access_end import run_until
from anycowork.api.middleware.auth import ONE_MODEL, principal_in
from anycowork.api.middleware.body import LARGE, LargeBodies, read_body
from anycowork.domain import principals
from anycowork.domain.errors import NotFound, RequestFault, TooLarge
from anycowork.domain.limited_requests import LimitedRequest, fewest_tokens, read_limited, with_bounds
from anycowork.domain.metering import Account, ExpectedUse, TokenUsage
from anycowork.domain.provider_errors import NoAnswerInTime, ProviderFault
from anycowork.domain.values import value
from anycowork.providers.openai.passthrough import LiveAnswer, Passthrough, ProviderLine

MAX_EVENT_BYTES = 1024 * 1024
_END = re.compile(rb"\r?\n\r?\n")


class _Chunk(msgspec.Struct):
    choices: list[msgspec.Raw] | None = None
    usage: dict[str, msgspec.Raw] | None = None


_CHUNK = msgspec.json.Decoder(_Chunk)


class UsageEventFilter:
    """Passes whole events on as they come. An event that grows too long is no usage event, and passes as it is."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, piece: bytes) -> bytes:
        """What may go on now."""
        buffer, passed, start = self._rest + piece, [], 0
        for end in _END.finditer(buffer, max(0, len(self._rest) - 3)):
            event, start = buffer[start : end.end()], end.end()
            if not _only_tells_usage(event):
                passed.append(event)
        self._rest = buffer[start:]
        if len(self._rest) > MAX_EVENT_BYTES:
            passed.append(self.end())
        return b"".join(passed)

    def end(self) -> bytes:
        """What is left when the stream is over."""
        buffer, self._rest = self._rest, b""
        return b"" if _only_tells_usage(buffer) else buffer


def _only_tells_usage(event: bytes) -> bool:
    if b'"usage"' not in event or not event.startswith(b"data:"):
        return False
    try:
        chunk = _CHUNK.decode(event[5:].strip())
    except (msgspec.DecodeError, RecursionError):
        return False
    return chunk.choices == [] and chunk.usage is not None


PREFIX = "/v1/"
MODELS = "/v1/models"
EVENTS = b"text/event-stream"
FORWARDED = frozenset({"/v1/chat/completions", "/v1/responses", "/v1/embeddings"})


class NoProvider(RequestFault):
    code = "no_provider"
    status = 503


class Gateway:
    """Handles the passthrough's paths; passes everything else to the app. `count` is called with the principal of each request."""

    def __init__(
        self,
        app: ASGIApp,
        upstreams: Passthrough,
        meter: Meter,
        *,
        max_bytes: int,
        large_bodies: LargeBodies,
        count: Callable[[str], None],
    ) -> None:
        self._app = app
        self._upstreams = upstreams
        self._meter = meter
        self._max_bytes = max_bytes
        self._large_bodies = large_bodies
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        asks_models = path == MODELS or path.startswith(ONE_MODEL)
        if not asks_models and path not in FORWARDED:
            await self._app(scope, receive, send)
            return
        name_route(scope, f"{ONE_MODEL}{{id}}" if path.startswith(ONE_MODEL) else path)
        principal = principal_in(scope, principals.Scope.PASSTHROUGH)
        method = "GET" if asks_models else "POST"
        if scope["method"] != method:
            raise WrongMethod(f"{path} is asked with {method}.", allow=method)
        self._count(principal.identity())
        account = await self._meter.account(principal)
        if asks_models:
            async with self._meter.reserved(account, NOTHING, None, name=principal.name):
                await _while_listened_to(receive, self._send_models(path.removeprefix(ONE_MODEL), send))
            return
        request = await self._read(scope, receive, account, name=principal.name)
        price = request.line.price(request.model)
        reserved = self._meter.reserved(account, request.expected, price, name=principal.name, model=request.model)
        async with reserved as metered:
            sent = _as_it_came(scope, request.body)
            if request.limited and metered:
                granted = metered.expected.completion
                sent = _bounded(scope, request.plain, request.limited, granted=granted, line=request.line)
            await _while_listened_to(receive, _forward(request.line, sent, send, metered))

    async def _read(self, scope: Scope, receive: Receive, account: Account | None, *, name: str) -> "_Read":
        """Reads no more of the body than the key's limits leave room for. Raises: KeyLimitReached, CannotBeLimited."""
        if account is not None and (size := _declared_bytes(scope)) > LARGE:
            self._meter.require_room(account, fewest_tokens(size), None, name=name)
        async with self._large_bodies.turn(scope):
            body = await read_body(scope, receive, max_bytes=self._max_bytes)
            plain = await self._read_plain(scope, body)
            metered_request = read_metered_request(plain)
            line = self._upstreams.find(metered_request.model) or _no_provider()
            limited = None
            if account is not None and account.bounds_use:
                if len(plain) > LARGE:
                    price = line.price(metered_request.model)
                    self._meter.require_room(account, fewest_tokens(len(plain)), price, name=name)
                limited = await _read_limited(scope["path"], plain)
        expected = limited.expected if limited else expected_usage(scope["path"], metered_request, len(plain))
        return _Read(body, plain, metered_request.model, line, limited, expected)

    async def _read_plain(self, scope: Scope, body: bytes) -> bytes:
        """Returns the decoded body for inspection; most bodies are not encoded. Raises: UnknownEncoding, TooLarge."""
        encodings = header(scope, b"content-encoding")
        return await asyncio.to_thread(decompressed, body, encodings, max_bytes=self._max_bytes) if encodings else body

    async def _send_models(self, name: str, send: Send) -> None:
        """The one of this name, or all of them if it is the list's own path: none where no provider is connected."""
        listed = await self._upstreams.models()
        if name == MODELS:
            await send_json(send, 200, {"object": "list", "data": listed})
            return
        model_entry = next((model for model in listed if model.get("id") == name), None)
        if model_entry is None:
            raise NotFound("model", name)
        await send_json(send, 200, model_entry)


@value
class _Read:
    """`plain` is the body as it was before it was packed; `limited` what a key with a limit of tokens or dollars asks for."""

    body: bytes
    plain: bytes
    model: str | None
    line: ProviderLine
    limited: LimitedRequest | None
    expected: ExpectedUse


def _declared_bytes(scope: Scope) -> int:
    """Returns the length that the head tells of a body that is not packed."""
    declared = header(scope, b"content-length") or ""
    return int(declared) if declared.isdecimal() and header(scope, b"content-encoding") is None else 0


@value
class _Sent:
    """What goes to the provider. `in_full`: an answer that does not tell its use is charged with all that was set aside."""

    path: str
    body: bytes
    headers: list[tuple[bytes, bytes]]
    in_full: bool = False
    hide_usage: bool = False


def _as_it_came(scope: Scope, body: bytes) -> _Sent:
    path = scope["path"].removeprefix(PREFIX)
    if query := scope["query_string"]:
        path = f"{path}?{towards_provider_query(query)}"
    return _Sent(path, body, towards_provider(scope["headers"]))


def _bounded(scope: Scope, plain: bytes, request: LimitedRequest, *, granted: int, line: ProviderLine) -> _Sent:
    """The bytes that were read and counted, unpacked, without what a query or a header could change about them."""
    path, unasked = scope["path"], request.streams and not request.wants_usage
    body = with_bounds(request, path, granted=granted, bound_field=line.bound_field)
    headers = towards_provider_limited(scope["headers"])
    return _Sent(path.removeprefix(PREFIX), body or plain, headers, in_full=True, hide_usage=unasked)


async def _read_limited(path: str, plain: bytes) -> LimitedRequest:
    """Raises: CannotBeLimited."""
    if len(plain) <= LARGE:
        return read_limited(path, plain)
    return await asyncio.to_thread(read_limited, path, plain)


async def _forward(line: ProviderLine, sent: _Sent, send: Send, metered: ReservedUse | None) -> None:
    try:
        answer = await line.post(sent.path, sent.body, sent.headers)
    except ProviderFault as fault:
        if metered and not isinstance(fault, NoAnswerInTime):  # it may have been at work all the while
            metered.settle(TokenUsage())
        raise
    async with aclosing(answer):
        try:
            await _pass_back(answer, send, UsageEventFilter() if sent.hide_usage else None)
        finally:
            if metered:
                metered.settle(answer.used(metered.expected, in_full=sent.in_full))


async def _pass_back(answer: LiveAnswer, send: Send, without: UsageEventFilter | None) -> None:
    """Forward each piece as it arrives. A broken response is left unfinished, so that the client notices it too."""
    headers = towards_client(answer.headers)
    if not dict(headers).get(b"content-type", b"").lower().startswith(EVENTS):
        without = None
    if without:
        headers = [pair for pair in headers if pair[0] != b"content-length"]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    remaining = _length_in(headers)
    async with aclosing(answer.pieces()) as pieces:
        async for piece in pieces:
            body = without.feed(piece) if without else piece
            if body:
                remaining -= len(body)
                await send({"type": "http.response.body", "body": body, "more_body": remaining != 0})
    if remaining:
        await send({"type": "http.response.body", "body": without.end() if without else b"", "more_body": False})


def _length_in(headers: list[tuple[bytes, bytes]]) -> int:
    """Returns the declared length of the answer, at which its last piece ends; below 0 if there is none."""
    declared = next((length for name, length in headers if name == b"content-length"), b"")
    return int(declared) if declared.isdigit() and int(declared) else -1


def _no_provider() -> ProviderLine:
    raise NoProvider(
        "No model is connected to this server, so there is nowhere to pass this on to. Set OPENAI_API_KEY (and OPENAI_BASE_URL "
        "for another server) and start again, add a provider in the settings, start Ollama, LM Studio or llama.cpp, or fetch the "
        "local model: anycowork model pull"
    )


# --- client disconnects


async def _while_listened_to(receive: Receive, work: Awaitable[None]) -> None:
    """Ends the work when the client is gone: nobody pays for an answer that no one reads. Raises what the work raises."""

    async def client_left() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    await run_until(client_left, work)


OPENED = ("gzip", "x-gzip", "deflate")
_GZIP_OR_ZLIB, _BARE = 47, -15


class UnknownEncoding(RequestFault):
    """Who should answer cannot be read, so it is not sent to anyone: it might be for another provider than the default one."""

    code = "unknown_encoding"
    status = 415


def decompressed(body: bytes, encodings: str, *, max_bytes: int) -> bytes:
    """As plain bytes, or none of them if it is damaged. Raises: UnknownEncoding, TooLarge if it is larger than any body may be."""
    encoding_names = [name for word in encodings.lower().split(",") if (name := word.strip()) not in ("", "identity")]
    for name in encoding_names:
        if name not in OPENED:
            raise UnknownEncoding(
                f"A body in the encoding '{name[:40]}' cannot be read here, so nobody knows which model it is for. "
                f"Send it plain, or as {OPENED[0]}.",
                param="content-encoding",
            )
    for _ in encoding_names:
        body = _opened(body, max_bytes)
    return body


def _opened(body: bytes, max_bytes: int) -> bytes:
    for form in (_GZIP_OR_ZLIB, _BARE):  # some call it deflate with its wrapping, some without
        try:
            return _inflated(body, form, max_bytes)
        except zlib.error:
            continue
    return b""


def _inflated(body: bytes, form: int, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    remaining = max_bytes
    while body:  # a gzip file may be several, one after the other
        opening = zlib.decompressobj(wbits=form)
        part = opening.decompress(body, remaining + 1)
        remaining -= len(part)
        if remaining < 0:
            raise TooLarge(f"The body is larger than {max_bytes} bytes once it is unpacked. Send less.")
        parts.append(part)
        body = opening.unused_data
        if not opening.eof:
            break
    return b"".join(parts)
