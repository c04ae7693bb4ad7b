"""The only way from a command to the network: CONNECT and plain HTTP, to the destinations allowed for this command.

It resolves names itself and connects to the checked address: a name whose address changes in between leads nowhere else.
"""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import assert_never

from anycowork.domain.network import Destination
from anycowork.domain.values import value
from anycowork.sandbox.addresses import embedded_addresses, why_not_public
from anycowork.sandbox.network import Network, is_own_address
from anycowork.sandbox.proxy_head import BadHead, ForwardRequest, TunnelRequest, read_head
from anycowork.sandbox.routes import why_nearby

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_PIECE = 65_536
_HEAD_ENDS = b"\r\n\r\n"
_MOST_REPORTED = 50
_BREATH = 0.1  # seconds


@value
class ProxyLimits:
    """For one command."""

    at_once: int = 64  # connections
    in_all: int = 10_000  # connections
    bytes: int = 4 << 30  # both ways together
    head_bytes: int = 32_768
    head_seconds: float = 10.0
    connect_seconds: float = 15.0
    quiet_seconds: float = 120.0  # without a byte either way


@value
class NetworkReach:
    """Where a command may go. `private` are destinations that a permanent rule names literally: their address need not be public."""

    allowed: tuple[Destination, ...]
    private: tuple[Destination, ...] = ()


@dataclass(slots=True)
class NetworkReport:
    """Where the command connected to, and which destinations were refused and why."""

    reached: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def got(self, to: Destination) -> None:
        if str(to) in self.reached or len(self.reached) < _MOST_REPORTED:
            self.reached[str(to)] = self.reached.get(str(to), 0) + 1

    def not_got(self, to: Destination, why: str) -> None:
        if len(self.refused) < _MOST_REPORTED:
            self.refused[str(to)] = why


class _NotReached(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Spent(Exception):
    """The command has used all its bytes."""


class SandboxProxy:
    def __init__(self, reach: NetworkReach, outside: Network, limits: ProxyLimits) -> None:
        self.report = NetworkReport()
        self._reach = reach
        self._outside = outside
        self._limits = limits
        self._open = 0
        self._bytes = 0

    async def serve(self, listening: socket.socket) -> None:
        """Accepts connections until it is cancelled or the limit is reached; every connection ends with it."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._limits.in_all):
                connection = await _accepted(loop, listening)
                if self._open >= self._limits.at_once:
                    connection.close()
                    continue
                self._open += 1
                tasks.create_task(self._one(connection))
            listening.close()

    async def _one(self, connection: socket.socket) -> None:
        try:
            async with _closing(
                await asyncio.open_connection(sock=connection, limit=self._limits.head_bytes)
            ) as client:
                await self._exchange(client)
        except (OSError, EOFError, TimeoutError, _Spent):
            pass  # one side closed, or the limit is reached: the other side is closed, too
        finally:
            self._open -= 1

    async def _exchange(self, client: Streams) -> None:
        try:
            request = await self._read_request(client[0])
            server = await self._reached(request.to)
        except (BadHead, _NotReached) as refusal:
            await _answer(client[1], refusal.status, str(refusal))
            return
        async with _closing(server):
            match request:
                case TunnelRequest():
                    client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    await self._join(client, server, body=None)
                case ForwardRequest(head=head, body=body):
                    server[1].write(head)
                    await self._join(client, server, body=body)
                case _:
                    assert_never(request)

    async def _read_request(self, reader: asyncio.StreamReader) -> TunnelRequest | ForwardRequest:
        try:
            async with asyncio.timeout(self._limits.head_seconds):
                return read_head(await reader.readuntil(_HEAD_ENDS))
        except asyncio.LimitOverrunError:
            raise BadHead("The head of the request is too long.", 431) from None

    # --- the destination

    async def _reached(self, to: Destination) -> Streams:
        """Connects to an allowed destination. Raises: _NotReached."""
        try:
            addresses = await self._addresses(to)
            async with asyncio.timeout(self._limits.connect_seconds):
                connected = await self._dialled(addresses, to)
        except _NotReached as refusal:
            self.report.not_got(to, str(refusal))
            raise
        except (OSError, TimeoutError, UnicodeError) as error:  # the last: a name that the resolver rejects
            message = f"{to} could not be reached ({getattr(error, 'strerror', None) or 'no answer in time'})."
            self.report.not_got(to, message)
            raise _NotReached(502, message) from None
        self.report.got(to)
        return connected

    async def _addresses(self, to: Destination) -> list[str]:
        """Returns the checked addresses. Raises: _NotReached, OSError, TimeoutError."""
        if not any(allowed.covers(to) for allowed in self._reach.allowed):
            named = ", ".join(map(str, self._reach.allowed))
            raise _NotReached(403, f"{to} is not among the destinations that this command was allowed ({named}).")
        async with asyncio.timeout(self._limits.connect_seconds):
            found = [to.host] if _is_address(to.host) else list(await self._outside.addresses(to.host))
        kinds = {address: _why_refused(address) for address in found}
        good = [address for address in found if kinds[address] is None or to in self._reach.private]
        if not good:
            what = next(iter(kinds.values()), None) or "no address at all"
            raise _NotReached(
                403,
                f"{to} stands for {what}, which commands do not reach unless a rule allows 'network' on exactly '{to}'.",
            )
        return good

    async def _dialled(self, addresses: list[str], to: Destination) -> Streams:
        assert to.port is not None  # every request names one
        failed: OSError | None = None
        for address in addresses:
            if await asyncio.to_thread(is_own_address, address, to.port):
                raise _NotReached(403, f"{to} is this server itself, which no command reaches.")
            try:
                return await self._outside.connect(address, to.port)
            except OSError as error:
                failed = error
        raise failed or OSError("there is no address to try")

    # --- the data

    async def _join(self, client: Streams, server: Streams, *, body: int | None) -> None:
        """Runs until the server ends, and in a tunnel (`body` None) the client, too. Raises: OSError, TimeoutError, _Spent."""
        try:
            async with asyncio.timeout(self._limits.quiet_seconds) as quiet, asyncio.TaskGroup() as tasks:
                asking = tasks.create_task(self._flow(client[0], server[1], quiet, most=body))
                await self._flow(server[0], client[1], quiet)
                if body is not None:
                    asking.cancel()
        except ExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _flow(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        quiet: asyncio.Timeout,
        most: int | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        left = most
        while piece := await source.read(_PIECE if left is None else min(_PIECE, left)):
            quiet.reschedule(loop.time() + self._limits.quiet_seconds)
            self._bytes += len(piece)
            if self._bytes > self._limits.bytes:
                raise _Spent
            left = None if left is None else left - len(piece)
            target.write(piece)
            await target.drain()
        if most is None and target.can_write_eof():
            target.write_eof()


@asynccontextmanager
async def _closing(streams: Streams) -> AsyncIterator[Streams]:
    """Sends pending data after a clean end, and drops it after any other: everything ends with the command."""
    transport = streams[1].transport
    try:
        yield streams
    except BaseException:
        transport.abort()
        raise
    transport.close()


async def _accepted(loop: asyncio.AbstractEventLoop, listening: socket.socket) -> socket.socket:
    while True:
        try:
            return (await loop.sock_accept(listening))[0]
        except OSError:
            await asyncio.sleep(_BREATH)  # the server is short of descriptors: the command waits instead of failing


async def _answer(writer: asyncio.StreamWriter, status: int, message: str) -> None:
    body = f"{message}\n".encode()
    lines = [
        f"HTTP/1.1 {status} Refused",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Connection: close",
        "",
        "",
    ]
    writer.write("\r\n".join(lines).encode() + body)
    await writer.drain()


def _why_refused(address: str) -> str | None:
    """Returns why commands may not reach this address. Checked for every connection: a machine's addresses change while it runs."""
    nearby = (why_nearby(inner) for inner in embedded_addresses(address))
    return why_not_public(address) or next((why for why in nearby if why), None)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
