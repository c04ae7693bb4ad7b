"""Counts and times HTTP requests by the template of their route and the status of their answer."""

import logging
import time
from uuid import uuid4

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anycowork.api.route_template import UNMATCHED, expect_route
from anycowork.chats.service_ports import MetricsPort
from anycowork.domain.log_context import with_log_fields

log = logging.getLogger(__name__)
_STREAMS = "/events"  # how the templates of event streams end: they last for hours


class RequestMetrics:
    """A request counts when its answer is complete; a stream when it begins, and without its time."""

    def __init__(self, app: ASGIApp, metrics: MetricsPort) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with with_log_fields(request_id=uuid4().hex):
            await self._observed(scope, receive, send)

    async def _observed(self, scope: Scope, receive: Receive, send: Send) -> None:
        route, begun, status = expect_route(scope), time.monotonic(), 0

        def is_stream() -> bool:
            return bool(route) and route[0].endswith(_STREAMS)

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if is_stream():
                    self._metrics.http_request(scope["method"], route[0], status, None)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if status and not is_stream():
                template = route[0] if route else UNMATCHED
                log.info("%s %s %d", scope["method"], template, status)  # never the path: a token may stand in it
                self._metrics.http_request(scope["method"], template, status, time.monotonic() - begun)
