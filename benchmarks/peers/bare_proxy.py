"""The least that a passthrough in Python can be: one ASGI function on uvicorn that sends the body on and streams the answer back.

No keys, no limits, no records. Takes the provider's address, prints its port. Run as a program of its own, so that its CPU is nobody else's.
"""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import uvicorn

Message = dict[str, Any]


class Proxy:
    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._session: aiohttp.ClientSession | None = None

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        if scope["type"] != "http":
            return
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        async with self._session.post(self._provider + scope["path"], data=body) as answer:
            headers = [(b"content-type", answer.headers["Content-Type"].encode())]
            if "Content-Length" in answer.headers:
                headers.append((b"content-length", answer.headers["Content-Length"].encode()))
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            async for piece in answer.content.iter_any():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print("port", listener.getsockname()[1], flush=True)
    config = uvicorn.Config(Proxy(sys.argv[1]), log_level="error", lifespan="off", loop="uvloop", http="httptools")
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
