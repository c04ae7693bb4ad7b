"""HTTP as bytes: a provider that answers with the very bytes it is given, and a client that shows the very bytes it got."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

TIMEOUT = 60.0
Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class Exchange:
    """One message as it came: its first line, its headers with lower-case names, its body without chunk marks.

    Not `complete`: the other side closed before the end that it had announced.
    """

    first_line: str
    headers: Headers
    body: bytes
    complete: bool

    @classmethod
    def read(cls, raw: bytes) -> "Exchange":
        head, _, rest = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        said = dict(headers)
        if "chunked" in said.get("transfer-encoding", ""):
            body, complete = _joined(rest)
        else:
            body, complete = rest, len(rest) == int(said.get("content-length", len(rest)))
        return cls(first, headers, body, complete)

    @property
    def status(self) -> int:
        return int(self.first_line.split()[1])

    def without(self, names: set[str]) -> Headers:
        return sorted((name, value) for name, value in self.headers if name not in names)


def _joined(rest: bytes) -> tuple[bytes, bool]:
    body = b""
    while match := re.match(rb"([0-9a-fA-F]+)[^\r\n]*\r\n", rest):
        size = int(match[1], 16)
        piece = rest[match.end() : match.end() + size]
        body += piece
        if size == 0:
            return body, True
        if len(piece) < size:
            return body, False
        rest = rest[match.end() + size + 2 :]
    return body, False


@dataclass
class RawProvider:
    """Whatever is asked is answered with `answer`, and then the connection is closed. `asked` are the requests as they came."""

    answer: bytes = b""
    url: str = ""
    asked: list[bytes] = field(default_factory=list)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["RawProvider"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        async with server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(TIMEOUT):
                self.asked.append(await read_request(reader))
                writer.write(self.answer)
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass  # asked nothing
        finally:
            writer.close()


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    size = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return head + (await reader.readexactly(int(size[1])) if size else b"")


async def exchanged(url: str, request: bytes) -> bytes:
    """Sends these bytes to the server of this URL, and returns all that came until it closed."""
    host, _, port = url.split("/")[2].partition(":")
    async with asyncio.timeout(TIMEOUT):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request)
        await writer.drain()
        raw = await reader.read()
        writer.close()
        return raw
