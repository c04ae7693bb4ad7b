"""The HTTP client of the command line. The same calls reach a running server and one started in-process."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self

import aiohttp
from pydantic import JsonValue, SecretStr

from anycowork.client.errors import ServerRefused as ServerRefused
from anycowork.client.errors import ServerUnreachable as ServerUnreachable
from anycowork.domain.bounded_json import STORED_DEPTH, read_json
from anycowork.domain.messages import Json, json_object
from anycowork.domain.principals import EDITOR_HEADER, MCP_HOST_HEADER, program_id

REQUEST_SECONDS = 30.0
SILENCE_SECONDS = 90.0  # several heartbeats: a stream that is silent for so long is dead
RECONNECTS = 3


class ServerClient:
    """Raises: ServerRefused, ServerUnreachable; from every call."""

    def __init__(
        self,
        url: str,
        token: SecretStr,
        *,
        request_seconds: float = REQUEST_SECONDS,
        editor: str | None = None,
        mcp_host: str | None = None,
    ) -> None:
        """`editor` or `mcp_host` is the name of the program that the requests come from; None for a person."""
        self.url = url.rstrip("/")
        self._request_seconds = request_seconds
        self._headers = {"Authorization": f"Bearer {token.get_secret_value()}"}
        if editor is not None:
            self._headers[EDITOR_HEADER] = program_id(editor, "editor")
        if mcp_host is not None:
            self._headers[MCP_HOST_HEADER] = program_id(mcp_host, "host")

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(headers=self._headers, trust_env=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def get(self, path: str) -> Json:
        return await self._ask("GET", path)

    async def download(self, path: str) -> AsyncIterator[bytes]:
        """Yields the body as it comes. Raises: ServerRefused; ServerUnreachable, also if the body ends half-way."""
        limits = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_SECONDS, sock_read=SILENCE_SECONDS)
        try:
            async with self._session.get(self.url + path, timeout=limits) as response:
                if response.status >= 400:
                    raise _answered(response.status, await response.read())
                async for piece in response.content.iter_any():
                    yield piece
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ServerUnreachable(_GONE.format(url=self.url)) from error

    async def post(self, path: str, body: Mapping[str, JsonValue] | None = None) -> Json:
        return await self._ask("POST", path, body or {})

    async def put(self, path: str, body: Mapping[str, JsonValue]) -> Json:
        return await self._ask("PUT", path, body)

    async def register(self, folder: Path) -> None:
        """Registers the folder, as naming one does. For who may not, it has to be registered: the next request says so if it is not."""
        try:
            await self.post("/workspaces", {"root": str(folder)})
        except ServerRefused as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise

    async def patch(self, path: str, body: Mapping[str, JsonValue]) -> Json:
        return await self._ask("PATCH", path, body)

    async def delete(self, path: str) -> None:
        await self._ask("DELETE", path)

    async def events(self, chat_id: str, *, after: int = 0) -> AsyncGenerator[bytes, None]:
        """Yields each event's envelope as it was sent, numbered above `after`; reconnects where a connection broke."""
        seen, broken = after, 0
        while True:
            try:
                async for data in self._stream(chat_id, seen):
                    seen, broken = _number_of(data, seen), 0
                    yield data
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                broken += 1
                if broken > RECONNECTS:
                    raise ServerUnreachable(_GONE.format(url=self.url)) from error
            else:  # ended in order: the server is shutting down
                broken += 1
                if broken > RECONNECTS:
                    raise ServerUnreachable(_GONE.format(url=self.url))

    async def _stream(self, chat_id: str, after: int) -> AsyncIterator[bytes]:
        # No limit on the whole: a turn takes its time. A limit on silence: the server sends heartbeats.
        limits = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_SECONDS, sock_read=SILENCE_SECONDS)
        address, numbered = f"{self.url}/context/{chat_id}/events", {"after": str(after)}
        async with self._session.get(address, params=numbered, timeout=limits) as response:
            if response.status != 200:
                raise _answered(response.status, await response.read())
            remainder = b""
            # Not aiohttp's lines: it limits their length, and an event may carry whole files.
            async for piece in response.content.iter_any():
                *events, remainder = (remainder + piece).replace(b"\r\n", b"\n").split(b"\n\n")
                for event in events:
                    if data := _data_of(event):
                        yield data

    async def _ask(self, method: str, path: str, body: Mapping[str, JsonValue] | None = None) -> Json:
        return _object(await self._send(method, path, body))

    async def _send(self, method: str, path: str, body: Mapping[str, JsonValue] | None = None) -> bytes:
        limit = aiohttp.ClientTimeout(total=self._request_seconds)
        try:
            async with self._session.request(method, self.url + path, json=body, timeout=limit) as response:
                content = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ServerUnreachable(_GONE.format(url=self.url)) from error
        if response.status >= 400:
            raise _answered(response.status, content)
        return content


_GONE = "The server at {url} does not answer any more. `anycowork doctor` says whether one runs; the chat is kept."


def _data_of(event: bytes) -> bytes:
    lines = (line.removeprefix(b"data:") for line in event.split(b"\n") if line.startswith(b"data:"))
    return b"\n".join(line.removeprefix(b" ") for line in lines)


def _number_of(data: bytes, before: int) -> int:
    number = _object(data).get("seq")
    return number if isinstance(number, int) else before


def _answered(status: int, content: bytes) -> ServerRefused:
    error = _object(content).get("error")
    if not isinstance(error, dict):
        return ServerRefused(status, "error", f"The server answered with status {status} and no reason.")
    return ServerRefused(status, str(error.get("code")), str(error.get("message")))


def _object(content: bytes) -> Json:
    try:
        value = read_json(content, max_depth=STORED_DEPTH, max_values=len(content))
    except ValueError:
        return {}
    return json_object(value)
