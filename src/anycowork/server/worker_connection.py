"""The line of a joined worker to its server: requests that outlive a broken connection, and pieces as large as it carries in a few seconds."""

import asyncio
from typing import Any  # what came over the network

import aiohttp
import msgspec

from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import AnyCoworkError, ToolFault
from anycowork.sandbox.remote.remote_runs import SILENT_SECONDS

REQUEST_SECONDS = 120.0
RETRY_SECONDS = 2.0
PIECE_SECONDS = 4.0
FIRST_PIECE, SMALLEST_PIECE, LARGEST_PIECE = 256 << 10, 32 << 10, 4 << 20


class PieceSize:
    """How many bytes of contents travel in one request: what a line carries in a few seconds, so that one that breaks loses little."""

    def __init__(self) -> None:
        self.bytes = FIRST_PIECE

    def took(self, size: int, seconds: float) -> None:
        """Learns from a transfer. One that was short and quick says nothing about longer ones."""
        if size * 2 >= self.bytes or seconds > PIECE_SECONDS:
            carried = round(size * PIECE_SECONDS / max(seconds, 0.001))
            self.bytes = max(SMALLEST_PIECE, min(carried, 4 * self.bytes, LARGEST_PIECE))

    def broke(self) -> None:
        self.bytes = max(SMALLEST_PIECE, self.bytes // 2)


class NotJoined(AnyCoworkError):
    """The server does not take this worker."""

    code = "not_joined"


class RunGone(Exception):
    """The server no longer waits for the command."""


class ServerAway(aiohttp.ClientError):
    """Somebody answered for the server: a proxy while it restarts, or the server while its database is away."""


class WorkerConnection:
    """Requests of this worker to its server. Raises: NotJoined, aiohttp.ClientError, TimeoutError; RunGone for a run that is over."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url = url.rstrip("/")
        self._session = session
        self.secret = ""
        self.pieces = PieceSize()

    async def ask(self, method: str, path: str, body: object = None, *, data: bytes | None = None) -> bytes:
        """A request about a run is made again if its connection breaks, for as long as the server waits for a worker that is silent."""
        loop, ends = asyncio.get_running_loop(), None
        while True:
            try:
                return await self._ask_once(method, path, body, data)
            except (aiohttp.ClientError, TimeoutError):
                ends = ends or loop.time() + SILENT_SECONDS
                if not _is_about_a_run(path) or loop.time() > ends:
                    raise
                self.pieces.broke()
                await asyncio.sleep(RETRY_SECONDS)

    async def _ask_once(self, method: str, path: str, body: object, data: bytes | None) -> bytes:
        headers = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        # What comes may be a file of 64 MB on a slow line: as long as something comes, it is waited for.
        timeout = aiohttp.ClientTimeout(
            total=None if data is None else REQUEST_SECONDS, sock_connect=REQUEST_SECONDS, sock_read=REQUEST_SECONDS
        )
        if data is None and body is not None:
            data, headers["Content-Type"] = msgspec.json.encode(body), "application/json"
        async with self._session.request(
            method, self._url + path, data=data, headers=headers, timeout=timeout, allow_redirects=False
        ) as response:
            answer = await response.read()
            if response.status < 300:
                return answer
            if response.status == 404 and _is_about_a_run(path):
                raise RunGone
            reason = _message_of(answer)
            if response.status >= 500 or response.status in (408, 429):
                raise ServerAway(f"{response.status}: {reason}")
            if (response.status in (401, 403, 404, 409, 422) and path == "/workers/join") or response.status == 401:
                raise NotJoined(reason)
            raise ToolFault(f"The server answered {response.status}: {reason}")


def _is_about_a_run(path: str) -> bool:
    return path.startswith("/worker-runs/") and not path.endswith("/next")


def _message_of(answer: bytes) -> str:
    try:
        error: Any = read_json(answer)
        return str(error["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return "no reason was given"
