"""Counts and times HTTP requests by the template of their route and the status of their answer, and adds the security headers."""

import itertools
import logging
import secrets
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anycowork.api.asgi import UNMATCHED, SendWatch, expect_route
from anycowork.server.setup.metrics_setup import ScrapedMetrics
from anycowork.telemetry.server_log import with_log_fields

log = logging.getLogger(__name__)
_STREAMS = "/events"  # how the templates of event streams end: they last for hours


class RequestMetrics:
    """A request counts when its answer is complete; a stream when it begins, and without its time."""

    def __init__(self, app: ASGIApp, metrics: ScrapedMetrics) -> None:
        self._app = app
        self._metrics = metrics
        self._process_id = secrets.token_hex(
            8
        )  # random once: to ask the system for each request would cost more than the rest
        self._request_numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        watch = _ObservedSend(send, scope, expect_route(scope), self._metrics)
        begun = time.monotonic()
        with with_log_fields(request_id=f"{self._process_id}{next(self._request_numbers):012x}"):
            try:
                await self._app(scope, receive, watch)
            finally:
                if watch.status and not watch.is_stream():
                    template = watch.route[0] if watch.route else UNMATCHED
                    log.info(
                        "%s %s %d", scope["method"], template, watch.status
                    )  # never the path: a token may stand in it
                    self._metrics.http_request(scope["method"], template, watch.status, time.monotonic() - begun)


class _ObservedSend(SendWatch):
    __slots__ = ("_metrics", "_scope", "route")

    def __init__(self, send: Send, scope: Scope, route: list[str], metrics: ScrapedMetrics) -> None:
        super().__init__(send)
        self._scope, self._metrics = scope, metrics
        self.route = route

    def is_stream(self) -> bool:
        return bool(self.route) and self.route[0].endswith(_STREAMS)

    def watch_head(self, message: Message) -> None:
        super().watch_head(message)
        if self.is_stream():
            self._metrics.http_request(self._scope["method"], self.route[0], self.status, None)
        add_security_headers(message)


_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    (b"cache-control", b"no-store"),
)


def add_security_headers(head: Message) -> None:
    """Adds the headers to the head of a response. One that brings its own content policy or caching (the page, an asset) keeps it."""
    headers = head.get("headers", ())
    names = {name.lower() for name, _ in headers}
    head["headers"] = [*headers, *(pair for pair in _ALWAYS if pair[0] not in names)]
