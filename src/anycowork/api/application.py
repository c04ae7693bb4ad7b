"""Assembles the ASGI app: middleware, gateway, streams and routes. The outermost layer is added last."""

import asyncio
from collections.abc import Callable
from functools import lru_cache, partial

import msgspec
from fastapi import FastAPI, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork import __version__
from anycowork.api.asgi import HeadAsGet
from anycowork.api.errors import ErrorMiddleware, catch_errors
from anycowork.api.gateway.app import Gateway
from anycowork.api.gateway.metering import Meter
from anycowork.api.middleware.access_end import AccessEndMiddleware
from anycowork.api.middleware.allowed_hosts import AllowedHosts
from anycowork.api.middleware.auth import AuthMiddleware, AuthThrottle, Credentials, Reader
from anycowork.api.middleware.body import BodyLimit, LargeBodies
from anycowork.api.middleware.held_chats import HeldChatMiddleware
from anycowork.api.middleware.idempotency import IdempotencyMiddleware
from anycowork.api.middleware.reader_view import ReaderViewMiddleware
from anycowork.api.middleware.request_metrics import RequestMetrics
from anycowork.api.openapi import describe
from anycowork.api.router import Router
from anycowork.api.routes import (
    approvals,
    audit,
    call_display,
    chats,
    evidence,
    files,
    git,
    git_history,
    health,
    hooks,
    job_changes,
    jobs,
    keys,
    limits,
    local_models,
    mcp_servers,
    messages,
    notifications,
    openid,
    page,
    people,
    person_commands,
    plans,
    providers,
    questions,
    roles,
    rules,
    schedules,
    session,
    settings,
    skills,
    snapshots,
    system_prompts,
    triggers,
    usage,
    workers,
    workflows,
    workspaces,
)
from anycowork.api.sse import EventStreams
from anycowork.api.terminal_stream import TerminalStreams
from anycowork.domain.errors import DatabaseAway
from anycowork.server.services import AccessServices, Services

NOUNS = (
    chats,
    evidence,
    messages,
    files,
    git,
    git_history,
    person_commands,
    roles,
    approvals,
    rules,
    questions,
    plans,
    job_changes,
    jobs,
    snapshots,
    system_prompts,
    call_display,
    audit,
    usage,
    providers,
    local_models,
    mcp_servers,
    settings,
    keys,
    people,
    limits,
    session,
    openid,
    workflows,
    schedules,
    triggers,
    notifications,
    skills,
    hooks,
    workspaces,
    workers,
    health,
    page,
)


def create_api(services: Services, routes: FastAPI | None = None) -> ASGIApp:
    """The server's ASGI app. A request passes, from outside in: metrics, headers, errors, database, authentication, end of access,
    gateway, reader's view, body, idempotency, streams, routes."""
    metrics = services.server.metrics
    app: ASGIApp = TerminalStreams(EventStreams(HeadAsGet(routes or build_routes(services)), services), services)
    if services.server.forward is not None:
        app = HeldChatMiddleware(app, services.server.forward)
    app = IdempotencyMiddleware(app, services.access.receipts)
    large_bodies = LargeBodies()
    app = BodyLimit(app, max_bytes=services.access.request_limit_bytes, large_bodies=large_bodies)
    app = ReaderViewMiddleware(app, services.reader_views)
    meter = Meter(services.access.ledger, services.access.limits, services.clock)
    app = Gateway(
        app,
        services.models.upstreams,
        meter,
        max_bytes=services.access.request_limit_bytes,
        large_bodies=large_bodies,
        count=metrics.gateway_request,
    )
    app = AccessEndMiddleware(app, services.access.people, services.access.keys, services.access.sessions)
    app = AuthMiddleware(
        app,
        credentials=Credentials(services.access.token, services.access.keys, services.access.people),
        sessions=services.access.sessions,
        allowed_hosts=_allowed_hosts(services.access),
        slowdown=AuthThrottle(services.clock, services.access.sleep),
        worker_of=services.server.joined_workers.authenticated,
    )
    app = DatabaseAwayMiddleware(app, services.server.database_away)
    return _HttpOnly(RequestMetrics(ErrorMiddleware(app), metrics))


def _allowed_hosts(access: AccessServices) -> Callable[[], AllowedHosts]:
    """Returns a function for the hosts that are allowed now: a person may change them."""
    hosts_from = lru_cache(maxsize=1)(partial(AllowedHosts.of, access.host))
    return lambda: hosts_from(access.allowed_hosts())


def create_forwarded_api(routes: FastAPI) -> ASGIApp:
    """The routes alone, for requests that a server has authenticated and forwarded."""
    return ErrorMiddleware(routes)


class _HttpOnly:
    """Acknowledge the lifespan events; nothing is started or stopped with the app, and websockets are not supported."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._app(scope, receive, send)
            case "lifespan":
                await _acknowledge_lifespan(receive, send)
            case _:
                await send({"type": "websocket.close", "code": 1000})


async def _acknowledge_lifespan(receive: Receive, send: Send) -> None:
    for phase in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{phase}.complete"})


def build_routes(services: Services) -> FastAPI:
    app = FastAPI(
        title="AnyCowork",
        version=__version__,
        summary="People and agents work on real files together.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.services = services
    catch_errors(app)
    for routes in (*(noun.routes for noun in NOUNS), _description(app, services)):
        # Not `include_router`: it would copy each route at the first request, with app defaults that are not needed here.
        app.router.routes.extend(routes.routes)
    return app


_DESCRIPTIONS: dict[tuple[str, ...], bytes] = {}
"""By the roles that the description names: a person may add one. All servers of this process have the same routes."""


def _description(app: FastAPI, services: Services) -> Router:
    routes = Router(include_in_schema=False)

    @routes.get("/openapi.json")
    async def openapi(principal: Reader) -> Response:
        names = tuple(role.name for role in services.roles.all())
        if names not in _DESCRIPTIONS:  # built in a thread: it takes most of a second and would block other requests
            description = await asyncio.to_thread(lambda: msgspec.json.encode(describe(app, names)))
            _DESCRIPTIONS.clear()
            _DESCRIPTIONS[names] = description
        return Response(_DESCRIPTIONS[names], media_type="application/json")

    return routes


_WITHOUT_DATABASE = frozenset({"/", "/healthz"})
_BELOW = ("/assets/", "/v1/")  # the page's own files, and the passthrough, which counts in memory


class DatabaseAwayMiddleware:
    """`away` is set while the database does not answer."""

    def __init__(self, app: ASGIApp, away: asyncio.Event) -> None:
        self._app = app
        self._away = away

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if self._away.is_set() and path not in _WITHOUT_DATABASE and not path.startswith(_BELOW):
            raise DatabaseAway(
                "The database does not answer, so the server waits for it. Nothing that was confirmed is lost; what runs goes on by itself"
                " when the database is back. Try again in a few seconds."
            )
        await self._app(scope, receive, send)
