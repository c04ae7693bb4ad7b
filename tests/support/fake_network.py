"""A pretended internet for the proxy: names with the addresses that a test gives them, and what is dialled leads to services of its own."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PUBLIC = "93.184.215.14"  # a public address by its kind; nothing is ever sent there
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class FakeNetwork:
    """`names` says what each name stands for, asked once, asked twice …; `doors` where a dialled address and port really lead."""

    names: dict[str, list[list[str]]] = field(default_factory=dict)
    doors: dict[tuple[str, int], int] = field(default_factory=dict)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def put(self, name: str, port: int, service: "FakeService", *addresses: str) -> None:
        self.names[name] = [list(addresses or (PUBLIC,))]
        for address in self.names[name][0]:
            self.doors[address, port] = service.port

    async def addresses(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        answers = self.names.get(host)
        if not answers:
            raise OSError(-2, "Name or service not known")
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def connect(self, address: str, port: int) -> Streams:
        self.dialled.append((address, port))
        if (address, port) not in self.doors:
            raise ConnectionRefusedError(111, "Connection refused")
        return await asyncio.open_connection("127.0.0.1", self.doors[address, port])


@dataclass
class FakeService:
    """Answers every connection with `answer` and remembers what it was sent. `open_at_once` is the most there ever were together.

    One that `stays` never ends a connection by itself.
    """

    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
    stays: bool = False
    port: int = 0
    received: list[bytearray] = field(default_factory=list)
    open_now: int = 0
    open_at_once: int = 0
    called: asyncio.Event = field(default_factory=asyncio.Event)
    all_closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard = bytearray()
        self.received.append(heard)
        self.open_now += 1
        self.open_at_once = max(self.open_at_once, self.open_now)
        self.called.set()
        self.all_closed.clear()
        try:
            writer.write(self.answer)
            while piece := await reader.read(65_536):
                heard += piece
                if not self.stays and b"\r\n\r\n" in heard:
                    break
        except OSError:
            pass
        finally:
            writer.close()
            self.open_now -= 1
            if not self.open_now:
                self.all_closed.set()

    @property
    def text(self) -> str:
        return "".join(heard.decode("latin-1") for heard in self.received)


@asynccontextmanager
async def serving(service: FakeService) -> AsyncIterator[FakeService]:
    server = await asyncio.start_server(service.take, "127.0.0.1", 0)
    service.port = server.sockets[0].getsockname()[1]
    try:
        yield service
    finally:
        server.close()
