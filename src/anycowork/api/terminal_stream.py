"""Streams the output of a person's terminal over plain ASGI, as bytes. A page that is gone leaves the terminal open for a while; a person
whose access ends takes it along."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork.api.asgi import name_route
from anycowork.api.errors import WrongMethod
from anycowork.api.middleware.auth import principal_in
from anycowork.api.visibility import hides_chat
from anycowork.domain import principals
from anycowork.domain.errors import NotFound
from anycowork.server.services import Services

_PATH = re.compile(r"/context/([^/]+)/terminals/([^/]+)/output")
REPLAY_HEADER = b"x-anycowork-replay"
"""How many bytes the page has seen before: a terminal answers questions in them a second time, which nobody wants to have typed."""


class TerminalStreams:
    """Handles the output of terminals; passes everything else to the app."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match = _PATH.fullmatch(scope["path"])
        if match is None:
            await self._app(scope, receive, send)
            return
        name_route(scope, "/context/{chat_id}/terminals/{terminal_id}/output")
        principal = principal_in(scope, principals.Scope.MANAGE)
        if scope["method"] != "GET":
            raise WrongMethod("Use GET to read a terminal.", allow="GET")
        if await hides_chat(self._services, principal, match.group(1)):
            raise NotFound("terminal", match.group(2))
        terminal = self._services.terminals.find(principal, match.group(1), match.group(2))
        try:
            await self._pass_on(terminal.follow(), receive, send)
        except asyncio.CancelledError:
            terminal.end()  # the person's access has ended, or the server stops
            raise

    async def _pass_on(self, pieces: AsyncGenerator[bytes, None], receive: Receive, send: Send) -> None:
        async with aclosing(pieces):
            replayed = await anext(pieces)
            headers = [
                (b"content-type", b"application/octet-stream"),
                (b"cache-control", b"no-store"),
                (b"x-accel-buffering", b"no"),
                (REPLAY_HEADER, replayed),
            ]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            async with asyncio.TaskGroup() as tasks:
                pump = tasks.create_task(_pump(pieces, send))
                watchers = [
                    tasks.create_task(_client_gone(receive)),
                    tasks.create_task(_set(self._services.server.stopping)),
                ]
                await asyncio.wait([pump, *watchers], return_when=asyncio.FIRST_COMPLETED)
                for task in (pump, *watchers):
                    task.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _pump(pieces: AsyncGenerator[bytes, None], send: Send) -> None:
    async for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _set(event: asyncio.Event) -> None:
    await event.wait()
