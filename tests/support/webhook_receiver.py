"""A receiver of webhooks and pushes: a real HTTP server that keeps what it was sent and answers as the test says."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any  # a body is any JSON

from aiohttp import web

Json = dict[str, Any]


@dataclass
class ReceivedRequest:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        parsed: Json = json.loads(self.body)
        return parsed

    def is_signed_with(self, secret: str) -> bool:
        """As a receiver checks it, by standardwebhooks.com, written without the code under test."""
        key = base64.b64decode(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else secret.encode()
        signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + self.body
        expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return f"v1,{expected}" in self.headers["webhook-signature"].split(" ")


@dataclass
class Receiver:
    """`status` is what it answers with; it holds each answer back until `hold` is set."""

    url: str = ""
    port: int = 0
    status: int = 204
    location: str | None = None
    endless: bool = False
    hold: asyncio.Event | None = None
    received: list[ReceivedRequest] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): text for name, text in request.headers.items()}
        received = ReceivedRequest(request.path_qs, headers, await request.read())
        async with self.changed:
            self.received.append(received)
            self.changed.notify_all()
        if self.hold is not None:
            await self.hold.wait()
        if self.endless:
            return await self._flood(request)
        return web.Response(status=self.status, headers={"location": self.location} if self.location else {})

    async def until(self, count: int) -> list[ReceivedRequest]:
        async with asyncio.timeout(60), self.changed:
            await self.changed.wait_for(lambda: len(self.received) >= count)
        return self.received

    async def _flood(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-length": str(1 << 30)})
        await response.prepare(request)
        for _ in range(1 << 10):
            await response.write(bytes(1 << 20))
        return response


@asynccontextmanager
async def receiving(receiver: Receiver | None = None) -> AsyncIterator[Receiver]:
    receiver = receiver or Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.take)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.port = runner.addresses[0][1]
    receiver.url = f"http://127.0.0.1:{receiver.port}/hook"
    try:
        yield receiver
    finally:
        if receiver.hold is not None:
            receiver.hold.set()
        await runner.cleanup()
