"""Small ASGI helpers: read a header, send a complete response."""

from collections.abc import Iterable

import msgspec
from starlette.types import Scope, Send

JSON = b"application/json"
HeaderList = Iterable[tuple[bytes, bytes]]


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of this (lower-case) name; latin-1, as HTTP has it."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value).decode("latin-1")
    return None


async def send_json(send: Send, status: int, body: object, headers: HeaderList = ()) -> None:
    await send_bytes(send, status, msgspec.json.encode(body), content_type=JSON, headers=headers)


async def send_bytes(send: Send, status: int, body: bytes, *, content_type: bytes, headers: HeaderList = ()) -> None:
    length = str(len(body)).encode()
    head = [(b"content-type", content_type), (b"content-length", length), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
