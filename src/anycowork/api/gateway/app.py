"""The OpenAI-compatible passthrough: a program's request goes to a provider byte for byte, and the answer comes back the same way.

Bare ASGI. No prompt is added, no body rewritten; the body is read only to see which model it names and how much it asks for.
The one exception are keys with a limit of tokens or dollars: what they send is bounded and counted, or refused (docs/adr/0053).
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork.api.asgi import header, send_json
from anycowork.api.cut_off import run_until
from anycowork.api.errors import WrongMethod
from anycowork.api.gateway.content_encoding import decompressed
from anycowork.api.gateway.metering import NOTHING, Meter, ReservedUse, expected_usage, read_metered_request
from anycowork.api.gateway.proxy_headers import (
    towards_client,
    towards_provider,
    towards_provider_limited,
    towards_provider_query,
)
from anycowork.api.gateway.usage_events import UsageEventFilter
from anycowork.api.middleware.auth import ONE_MODEL, principal_in
from anycowork.api.middleware.body import read_body
from anycowork.api.route_template import name_route
from anycowork.chats.service_ports import LiveAnswerPort, UpstreamPort, UpstreamsPort
from anycowork.domain import principals
from anycowork.domain.errors import NotFound, RequestFault
from anycowork.domain.limited_requests import LimitedRequest, read_limited, with_bounds
from anycowork.domain.metering import TokenUsage
from anycowork.domain.provider_errors import NoAnswerInTime, ProviderFault
from anycowork.domain.values import value

PREFIX = "/v1/"
MODELS = "/v1/models"
EVENTS = b"text/event-stream"
READ_AT_ONCE = 64 * 1024  # a larger body is read beside the event loop
FORWARDED = frozenset({"/v1/chat/completions", "/v1/responses", "/v1/embeddings"})


class NoProvider(RequestFault):
    code = "no_provider"
    status = 503


class Gateway:
    """Handles the passthrough's paths; passes everything else to the app. `count` is called with the principal of each request."""

    def __init__(
        self, app: ASGIApp, upstreams: UpstreamsPort, meter: Meter, *, max_bytes: int, count: Callable[[str], None]
    ) -> None:
        self._app = app
        self._upstreams = upstreams
        self._meter = meter
        self._max_bytes = max_bytes
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        asks_models = path == MODELS or path.startswith(ONE_MODEL)
        if not asks_models and path not in FORWARDED:
            await self._app(scope, receive, send)
            return
        name_route(scope, f"{ONE_MODEL}{{id}}" if path.startswith(ONE_MODEL) else path)
        principal = principal_in(scope, principals.Scope.PASSTHROUGH)
        wanted = "GET" if asks_models else "POST"
        if scope["method"] != wanted:
            raise WrongMethod(f"{path} is asked with {wanted}.", allow=wanted)
        self._count(principal.identity())
        account = await self._meter.account(principal)
        if asks_models:
            with self._meter.reserved(account, NOTHING, None, name=principal.name):
                await _while_listened_to(receive, self._send_models(path.removeprefix(ONE_MODEL), send))
            return
        body = await read_body(scope, receive, max_bytes=self._max_bytes)
        plain = await self._read_plain(scope, body)
        metered_request = read_metered_request(plain)
        line = self._upstreams.find(metered_request.model) or _no_provider()
        limited = await _read_limited(path, plain) if account and account.limits.bound_use else None
        expected = limited.expected if limited else expected_usage(path, metered_request, len(plain))
        with self._meter.reserved(account, expected, line.price(metered_request.model), name=principal.name) as metered:
            sent = _as_it_came(scope, body)
            if limited and metered:
                sent = _bounded(scope, plain, limited, granted=metered.expected.completion, line=line)
            await _while_listened_to(receive, _forward(line, sent, send, metered))

    async def _read_plain(self, scope: Scope, body: bytes) -> bytes:
        """Return the decoded body for inspection; most bodies are not encoded. Raises: UnknownEncoding, TooLarge."""
        encodings = header(scope, b"content-encoding")
        return await asyncio.to_thread(decompressed, body, encodings, max_bytes=self._max_bytes) if encodings else body

    async def _send_models(self, name: str, send: Send) -> None:
        """The one of this name, or all of them if it is the list's own path: none where no provider is connected."""
        listed = await self._upstreams.models()
        if name == MODELS:
            await send_json(send, 200, {"object": "list", "data": listed})
            return
        found = next((model for model in listed if model.get("id") == name), None)
        if found is None:
            raise NotFound("model", name)
        await send_json(send, 200, found)


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


def _bounded(scope: Scope, plain: bytes, request: LimitedRequest, *, granted: int, line: UpstreamPort) -> _Sent:
    """The bytes that were read and counted, unpacked, without what a query or a header could change about them."""
    path, unasked = scope["path"], request.streams and not request.wants_usage
    body = with_bounds(request, path, granted=granted, bound_field=line.bound_field)
    headers = towards_provider_limited(scope["headers"])
    return _Sent(path.removeprefix(PREFIX), body or plain, headers, in_full=True, hide_usage=unasked)


async def _read_limited(path: str, plain: bytes) -> LimitedRequest:
    """Raises: CannotBeLimited."""
    if len(plain) <= READ_AT_ONCE:
        return read_limited(path, plain)
    return await asyncio.to_thread(read_limited, path, plain)


async def _forward(line: UpstreamPort, sent: _Sent, send: Send, metered: ReservedUse | None) -> None:
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


async def _pass_back(answer: LiveAnswerPort, send: Send, without: UsageEventFilter | None) -> None:
    """Forward each piece as it arrives. A broken response is left unfinished, so that the client notices it too."""
    headers = towards_client(answer.headers)
    if not dict(headers).get(b"content-type", b"").lower().startswith(EVENTS):
        without = None
    if without:
        headers = [pair for pair in headers if pair[0] != b"content-length"]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    async with aclosing(answer.pieces()) as pieces:
        async for piece in pieces:
            body = without.feed(piece) if without else piece
            if body:
                await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": without.end() if without else b"", "more_body": False})


def _no_provider() -> UpstreamPort:
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
