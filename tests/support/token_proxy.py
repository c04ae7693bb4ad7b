"""A proxy on this machine that adds a bearer token to every request: for programs that cannot send one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding"}


@asynccontextmanager
async def token_proxy(target: str, token: str) -> AsyncIterator[int]:
    """The port it listens on. Host and origin arrive as they were sent, so that the target checks them."""
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session:

        async def pass_on(request: web.Request) -> web.StreamResponse:
            headers = {name: text for name, text in request.headers.items() if name.lower() not in _HOP}
            headers["Authorization"] = f"Bearer {token}"
            sent = await request.read()
            async with session.request(request.method, target + request.path_qs, headers=headers, data=sent) as answer:
                kept = {name: text for name, text in answer.headers.items() if name.lower() not in _HOP}
                response = web.StreamResponse(status=answer.status, headers=kept)
                await response.prepare(request)
                async for piece in answer.content.iter_any():
                    await response.write(piece)
                await response.write_eof()
                return response

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", pass_on)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            yield int(runner.addresses[0][1])
        finally:
            await runner.cleanup()
