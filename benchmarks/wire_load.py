"""Load for HTTP servers that costs little itself: a fixed number of requests over kept connections, every answer looked at."""

import asyncio
import re
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

TIMEOUT = 300.0
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


@dataclass
class Loaded:
    """`wrong` answers are those that were not a 200 with the expected words in it."""

    answered: int = 0
    wrong: int = 0
    seconds: list[float] = field(default_factory=list)

    def p50_ms(self) -> float:
        return sorted(self.seconds)[len(self.seconds) // 2] * 1e3


def request_bytes(url: str, path: str, *, key: str, body: bytes | None = None) -> bytes:
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: {urlsplit(url).netloc}\r\nAuthorization: Bearer {key}\r\n"
    if body is None:
        return head.encode() + b"\r\n"
    return head.encode() + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


async def load(url: str, request: bytes, *, clients: int, requests: int, expect: bytes, pause: float = 0.0) -> Loaded:
    """So many requests in all, by so many clients, each asking again when it was answered (or `pause` seconds later)."""
    loaded, left = Loaded(), [requests]
    place = urlsplit(url)
    async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
        for _ in range(min(clients, requests)):
            tasks.create_task(_ask(place.hostname or "", place.port or 80, request, left, loaded, expect, pause))
    return loaded


async def _ask(
    host: str, port: int, request: bytes, left: list[int], loaded: Loaded, expect: bytes, pause: float
) -> None:
    loop = asyncio.get_running_loop()
    _, client = await loop.create_connection(_Client, host, port)
    while left[0] > 0:
        left[0] -= 1
        began = time.perf_counter()
        answer = await client.ask(request)
        loaded.seconds.append(time.perf_counter() - began)
        loaded.answered += 1
        loaded.wrong += not (answer.startswith(b"HTTP/1.1 200") and expect in answer)
        if pause:
            await asyncio.sleep(pause)
        if client.closed and left[0] > 0:
            _, client = await loop.create_connection(_Client, host, port)
    client.close()


class _Client(asyncio.Protocol):
    """One answer at a time: to its length, or to its last chunk."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # TCP only
        self._transport = transport
        self._buffer = bytearray()
        self._whole = 0
        self.closed = False
        self._waiting: asyncio.Future[bytes] | None = None

    def ask(self, request: bytes) -> "asyncio.Future[bytes]":
        self._buffer.clear()
        self._whole = 0
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiting

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._whole and (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._buffer, 0, end + 2)
            self._whole = end + 4 + int(length[1]) if length else -1
        if self._whole > 0 and len(self._buffer) >= self._whole:
            self._settle()
        if self._whole < 0 and self._buffer.endswith(b"0\r\n\r\n"):
            self._settle()

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        self._settle()

    def close(self) -> None:
        self._transport.close()

    def _settle(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(bytes(self._buffer))
