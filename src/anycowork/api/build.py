"""Puts the entrance, the checks and the routes together. The outermost stands last."""

import asyncio
from collections import Counter

import msgspec
from fastapi import FastAPI, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork import __version__
from anycowork.api import (
    approvals,
    audit,
    chats,
    health,
    keys,
    local_models,
    messages,
    page,
    plans,
    providers,
    questions,
    roles,
    rules,
    session,
    settings,
    snapshots,
    storage,
    system_prompts,
    usage,
    workflows,
    workspaces,
)
from anycowork.api.auth import Credentials, Entrance, Reader
from anycowork.api.body import BodyLimit
from anycowork.api.errors import ErrorShield, catch_errors
from anycowork.api.gateway import Gateway
from anycowork.api.headers import SecureHeaders
from anycowork.api.hosts import Neighbourhood
from anycowork.api.idempotency import Idempotency
from anycowork.api.metering import Meter
from anycowork.api.methods import HeadAsGet
from anycowork.api.openapi import describe
from anycowork.api.rooms import Rooms
from anycowork.api.routes import Routes
from anycowork.api.slowdown import Slowdown
from anycowork.api.sse import EventStreams

NOUNS = (
    chats,
    messages,
    roles,
    approvals,
    rules,
    questions,
    plans,
    snapshots,
    system_prompts,
    audit,
    usage,
    providers,
    local_models,
    settings,
    keys,
    session,
    workflows,
    workspaces,
    storage,
    health,
    page,
)


def create_api(rooms: Rooms) -> ASGIApp:
    """The server's ASGI app. A request passes, from outside in: headers, errors, entrance, gateway, body, idempotency, streams, routes."""
    answers: Counter[int] = Counter()
    passed_on: Counter[str] = Counter()
    app: ASGIApp = EventStreams(HeadAsGet(_routes(rooms, answers, passed_on)), rooms)
    app = Idempotency(app, rooms.receipts)
    app = BodyLimit(app, max_bytes=rooms.request_limit_bytes)
    meter = Meter(rooms.ledger, rooms.clock)
    app = Gateway(app, rooms.upstreams, meter, max_bytes=rooms.request_limit_bytes, requests=passed_on)
    app = Entrance(
        app,
        credentials=Credentials(rooms.token, rooms.keys),
        sessions=rooms.sessions,
        neighbourhood=Neighbourhood.of(rooms.host, rooms.allowed_hosts),
        slowdown=Slowdown(rooms.clock, rooms.sleep),
    )
    app = SecureHeaders(ErrorShield(app), answers)
    return _HttpOnly(app)


class _HttpOnly:
    """Nothing is started or ended with the app, and no websocket is spoken here."""

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
    for moment in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{moment}.complete"})


def _routes(rooms: Rooms, answers: Counter[int], passed_on: Counter[str]) -> FastAPI:
    app = FastAPI(
        title="AnyCowork",
        version=__version__,
        summary="People and agents work on real files together.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.rooms = rooms
    app.state.answers = answers
    app.state.passed_on = passed_on
    catch_errors(app)
    for routes in (*(noun.routes for noun in NOUNS), _description(app, rooms)):
        # Not by `include_router`: at the first request that makes each route anew, with the app's defaults, of which these need none.
        app.router.routes.extend(routes.routes)
    return app


def _description(app: FastAPI, rooms: Rooms) -> Routes:
    routes = Routes(include_in_schema=False)
    document: list[bytes] = []

    def written() -> bytes:
        return msgspec.json.encode(describe(app, [role.name for role in rooms.roles.all()]))

    @routes.get("/openapi.json")
    async def openapi(principal: Reader) -> Response:
        if not document:  # made in a thread: it takes most of a second, and everybody else would wait for it
            document.append(await asyncio.to_thread(written))
        return Response(document[0], media_type="application/json")

    return routes
