"""Connects to allowed destinations alone: resolves each name itself, checks every address, and dials the address that it checked.

A name whose address changes in between leads nowhere else. Commands' proxies and the tools that read the web connect through it.
"""

import asyncio
import ipaddress
from dataclasses import dataclass, field

from anycowork.domain.network import Destination
from anycowork.domain.values import value
from anycowork.sandbox.network.addresses import embedded_addresses, why_not_public
from anycowork.sandbox.network.connections import Network, is_own_address
from anycowork.sandbox.network.routes import why_nearby

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_MOST_REPORTED = 50


@value
class NetworkReach:
    """Where a call may go. `private` are destinations that a permanent rule names literally: their address need not be public."""

    allowed: tuple[Destination, ...]
    private: tuple[Destination, ...] = ()


@dataclass(slots=True)
class NetworkReport:
    """Where the call connected to, and which destinations were refused and why."""

    reached: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def got(self, to: Destination) -> None:
        if str(to) in self.reached or len(self.reached) < _MOST_REPORTED:
            self.reached[str(to)] = self.reached.get(str(to), 0) + 1

    def not_got(self, to: Destination, reason: str) -> None:
        if len(self.refused) < _MOST_REPORTED:
            self.refused[str(to)] = reason


class NotReached(Exception):
    """`status` is that of an HTTP response that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class CheckedDialer:
    """Dials for one call, and writes into `report` what it reached and refused. `seconds` bound the lookup and the connection."""

    def __init__(self, reach: NetworkReach, outside: Network, report: NetworkReport, *, seconds: float) -> None:
        self._reach = reach
        self._outside = outside
        self._report = report
        self._seconds = seconds

    async def connect(self, to: Destination) -> Streams:
        """Connects to an allowed destination. Raises: NotReached."""
        try:
            addresses = await self._addresses(to)
            async with asyncio.timeout(self._seconds):
                connected = await self._dialled(addresses, to)
        except NotReached as refusal:
            self._report.not_got(to, str(refusal))
            raise
        except (OSError, TimeoutError, UnicodeError) as error:  # the last: a name that the resolver rejects
            message = f"{to} could not be reached ({getattr(error, 'strerror', None) or 'no answer in time'})."
            self._report.not_got(to, message)
            raise NotReached(502, message) from None
        self._report.got(to)
        return connected

    async def _addresses(self, to: Destination) -> list[str]:
        """Returns the checked addresses. Raises: NotReached, OSError, TimeoutError."""
        if not any(allowed.covers(to) for allowed in self._reach.allowed):
            allowed_list = ", ".join(map(str, self._reach.allowed))
            raise NotReached(403, f"{to} is not among the destinations that this command was allowed ({allowed_list}).")
        async with asyncio.timeout(self._seconds):
            resolved = [to.host] if _is_address(to.host) else list(await self._outside.addresses(to.host))
        kinds = {address: _why_refused(address) for address in resolved}
        good = [address for address in resolved if kinds[address] is None or to in self._reach.private]
        if not good:
            kind = next(iter(kinds.values()), None) or "no address at all"
            raise NotReached(
                403,
                f"{to} stands for {kind}, which commands do not reach unless a rule allows 'network' on exactly '{to}'.",
            )
        return good

    async def _dialled(self, addresses: list[str], to: Destination) -> Streams:
        assert to.port is not None  # every request names one
        failed: OSError | None = None
        for address in addresses:
            if await asyncio.to_thread(is_own_address, address, to.port):
                raise NotReached(403, f"{to} is this server itself, which no command reaches.")
            try:
                return await self._outside.connect(address, to.port)
            except OSError as error:
                failed = error
        raise failed or OSError("there is no address to try")


def _why_refused(address: str) -> str | None:
    """Returns why nothing here may reach this address. Checked for every connection: a machine's addresses change while it runs."""
    nearby = (why_nearby(inner) for inner in embedded_addresses(address))
    return why_not_public(address) or next((reason for reason in nearby if reason), None)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
