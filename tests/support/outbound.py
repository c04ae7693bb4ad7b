"""Real servers between us and a provider: one that speaks TLS with a certificate of its own, and proxies that lead to it."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

CERTIFICATE = Path(__file__).parent / "tls" / "server.pem"  # for localhost, 127.0.0.1 and provider.example; until 2126
KEY = CERTIFICATE.with_suffix(".key")
TIMEOUT = 60.0


@dataclass
class Proxy:
    """Sends everything to one place, whichever was asked for. `heads` are the requests that it saw."""

    port: int = 0
    answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"
    heads: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://ann:p%40ss@127.0.0.1:{self.port}"

    def told_who_asks(self) -> bool:
        who = base64.b64encode(b"ann:p@ss")
        return all(b"\r\nProxy-Authorization: Basic " + who + b"\r\n" in head for head in self.heads)


@asynccontextmanager
async def tls_in_front_of(base_url: str) -> AsyncIterator[str]:
    """The same server, spoken to with TLS: its base URL."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE, KEY)
    place = urlsplit(base_url)

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _joined(reader, writer, place.port or 80, b"")

    async with await asyncio.start_server(meet, "127.0.0.1", 0, ssl=context) as listening:
        yield f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}{place.path}"


@asynccontextmanager
async def proxy_to(base_url: str, *, answer: bytes | None = None) -> AsyncIterator[Proxy]:
    place, proxy = urlsplit(base_url), Proxy()
    proxy.answer = answer or proxy.answer

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        proxy.heads.append(head)
        if not head.startswith(b"CONNECT "):
            method, target, rest = head.split(b" ", 2)
            own = urlsplit(target.decode())
            await _joined(reader, writer, place.port or 80, b"%b %b %b" % (method, own.path.encode(), rest))
            return
        writer.write(proxy.answer)
        if b" 200 " in proxy.answer:
            await _joined(reader, writer, place.port or 80, b"")
        writer.close()

    async with await asyncio.start_server(meet, "127.0.0.1", 0) as listening:
        proxy.port = listening.sockets[0].getsockname()[1]
        yield proxy


async def _joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, first: bytes) -> None:
    """Whatever comes from one side goes to the other, until either leaves."""
    inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
    inner_writer.write(first)
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_poured(reader, inner_writer))
            tasks.create_task(_poured(inner_reader, writer))
    finally:
        inner_writer.close()
        writer.close()


async def _poured(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    except (ConnectionError, ssl.SSLError):
        pass  # the other side left without a word
    writer.close()
