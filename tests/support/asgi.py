"""An HTTP client without a network: it speaks ASGI to an app in this process, whole answers and streams alike. Every wait ends after 5 s."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import msgspec
from starlette.types import ASGIApp, Message, Scope

SECONDS = 60.0  # until something that should happen did not: says nothing of how fast it is


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def error(self) -> Any:
        return self.json()["error"]


@dataclass(slots=True)
class Client:
    """`token=None` asks without one. `peer` is the address the server sees."""

    app: ASGIApp
    token: str | None = None
    host: str = "127.0.0.1:8484"
    peer: str = "127.0.0.1"
    headers: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.ask("GET", path, **options)

    async def post(self, path: str, body: object = None, **options: Any) -> Answer:
        return await self.ask("POST", path, body, **options)

    async def put(self, path: str, body: object = None, **options: Any) -> Answer:
        return await self.ask("PUT", path, body, **options)

    async def patch(self, path: str, body: object = None, **options: Any) -> Answer:
        return await self.ask("PATCH", path, body, **options)

    async def delete(self, path: str, **options: Any) -> Answer:
        return await self.ask("DELETE", path, **options)

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | list[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """`raw` is sent as it is, a list in pieces and without a Content-Length."""
        pieces = _pieces(body, raw)
        scope = self._scope(method, path, pieces, has_json=body is not None, extra=headers or {})
        pending: list[Message] = [
            {"type": "http.request", "body": piece, "more_body": place < len(pieces)}
            for place, piece in enumerate(pieces, 1)
        ]
        sent: list[Message] = []

        async def receive() -> Message:
            if pending:
                return pending.pop(0)
            await asyncio.Event().wait()
            raise AssertionError("never set")

        async def send(message: Message) -> None:
            sent.append(message)

        async with asyncio.timeout(SECONDS):
            await self.app(scope, receive, send)
        return _answer(sent)

    @asynccontextmanager
    async def stream(self, path: str, headers: Mapping[str, str] | None = None) -> AsyncIterator["Stream"]:
        """The client leaves when the block ends, and the server must then let go."""
        scope = self._scope("GET", path, [b""], has_json=False, extra=headers or {})
        stream = Stream()
        async with asyncio.timeout(SECONDS * 3), asyncio.TaskGroup() as tasks:
            tasks.create_task(self.app(scope, stream.receive, stream.send))
            yield stream
            stream.leave()

    def _scope(self, method: str, path: str, pieces: list[bytes], *, has_json: bool, extra: Mapping[str, str]) -> Scope:
        bare, _, query = path.partition("?")
        headers = {"host": self.host, **self.headers}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        if has_json:
            headers["content-type"] = "application/json"
        if len(pieces) == 1 and pieces[0]:
            headers["content-length"] = str(len(pieces[0]))
        headers |= {name.lower(): value for name, value in extra.items()}
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(bare),
            "raw_path": bare.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
            "client": (self.peer, 50_000),
            "server": ("127.0.0.1", 8484),
            "state": {},
        }


class Stream:
    """What a server-sent stream brought so far, and the next of it."""

    def __init__(self) -> None:
        self._arrived: asyncio.Queue[Message] = asyncio.Queue()
        self._left = asyncio.Event()
        self._text = ""
        self.ended = False

    def leave(self) -> None:
        self._left.set()

    async def receive(self) -> Message:
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self._arrived.put(message)

    async def opened(self) -> Answer:
        async with asyncio.timeout(SECONDS):
            start = await self._arrived.get()
        return Answer(start["status"], _headers(start), b"")

    async def chunk(self) -> bytes:
        """The next bytes; empty when the stream has ended."""
        async with asyncio.timeout(SECONDS):
            message = await self._arrived.get()
        self.ended = self.ended or not message.get("more_body", False)
        return bytes(message.get("body", b""))

    async def event(self) -> dict[str, str]:
        """The next event's fields by name; comments are passed over."""
        while True:
            block, found, rest = self._text.partition("\n\n")
            if not found:
                if self.ended:
                    raise AssertionError("the stream ended")
                self._text += (await self.chunk()).decode()
                continue
            self._text = rest
            fields = dict(line.split(": ", 1) for line in block.splitlines() if line and not line.startswith(":"))
            if "data" in fields:
                return fields


def _pieces(body: object, raw: bytes | list[bytes] | None) -> list[bytes]:
    if isinstance(raw, list):
        return raw
    if raw is not None:
        return [raw]
    return [b"" if body is None else msgspec.json.encode(body)]


def _answer(sent: list[Message]) -> Answer:
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], _headers(sent[0]), body)


def _headers(start: Message) -> dict[str, str]:
    return {name.decode().lower(): value.decode() for name, value in start.get("headers", ())}
