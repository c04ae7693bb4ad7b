"""Forwards a client's request to a provider: bytes out, bytes back, without parsing or retrying.

The providers' model lists decide who is asked; the API that sends a request decides what it may contain.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from anycowork.domain.messages import Json
from anycowork.domain.metering import Price, TokenUsage, price_of
from anycowork.domain.provider_errors import BrokenStream, NoAnswerInTime, ProviderFault, RejectedRequest
from anycowork.providers.http.http1 import ConnectionBroken, HeaderPair, Http1Connection, Http1Pool
from anycowork.providers.model_list import read_entries
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.upstream import Upstream
from anycowork.providers.openai.usage_watch import UsageWatch
from anycowork.providers.registry import LOCAL, ProviderRegistry

if TYPE_CHECKING:
    from anycowork.providers.local.provider import LocalProvider

MAX_LIST_BYTES = 4 * 1024 * 1024
LIST_SECONDS = 10.0


class Passthrough:
    """Finds the provider for a model by the upstream's ids: the configured ones, and those of its latest list."""

    def __init__(self, registry: ProviderRegistry, timeouts: Timeouts) -> None:
        self._registry = registry
        self.timeouts = timeouts
        self._listed: dict[Upstream, frozenset[str]] = {}

    def find(self, model: str | None) -> "ProviderLine | None":
        """Returns the line to the provider that lists this id, else to the default one; None if there is only the guide.

        Raises: NoSuchModel if the default one is gone.
        """
        upstreams = self._registry.upstreams()
        for upstream, models in upstreams:
            if model in models or model in self._listed.get(upstream, ()):
                return self._line(upstream)
        if lent := self._registry.lent(model):
            return OnDemandLine(*lent, self._registry.pool.connections)
        if not upstreams:
            return None
        self._registry.find(None)
        return self._line(upstreams[0][0])

    def any_prices(self) -> bool:
        """Whether the price of any model is known."""
        return any(upstream.prices for upstream, _ in self._registry.upstreams())

    async def models(self) -> list[Json]:
        """Returns every provider's entries unchanged, each id once, the default provider first. For one that cannot be asked, its
        configured models are listed. Raises: ProviderFault if nothing at all is known."""
        upstreams = self._registry.upstreams()
        async with asyncio.TaskGroup() as tasks:
            requests = [tasks.create_task(self._entries(upstream, models)) for upstream, models in upstreams]
        answers = [task.result() for task in requests]
        union: dict[str, Json] = {}
        for entries in answers:
            for entry in entries if not isinstance(entries, ProviderFault) else ():
                union.setdefault(str(entry["id"]), entry)
        local = self._registry.get(LOCAL)
        for model in local.models if local else ():
            union.setdefault(model, _entry(LOCAL, model))
        faults = [answer for answer in answers if isinstance(answer, ProviderFault)]
        if faults and not union:
            raise faults[0]
        return list(union.values())

    async def _entries(self, upstream: Upstream, models: Sequence[str]) -> list[Json] | ProviderFault:
        configured = [_entry(upstream.name, model) for model in models]
        try:
            async with asyncio.timeout(LIST_SECONDS):
                entries = await self._line(upstream).entries()
        except TimeoutError:
            fault: ProviderFault = NoAnswerInTime(f"{upstream.name} did not list its models in {LIST_SECONDS:g} s.")
        except ProviderFault as error:
            fault = error
        else:
            self._listed[upstream] = frozenset(str(entry["id"]) for entry in entries)
            return entries or configured
        return configured or fault

    def _line(self, upstream: Upstream) -> "UpstreamLine":
        return UpstreamLine(upstream, self._registry.pool.connections, self.timeouts)


class UpstreamLine:
    """The line to one provider."""

    def __init__(self, upstream: Upstream, connections: Http1Pool, timeouts: Timeouts) -> None:
        self._upstream, self._connections, self._timeouts = upstream, connections, timeouts

    async def post(self, path: str, body: bytes, headers: Sequence[HeaderPair]) -> "LiveAnswer":
        """Sends the request and returns the answer once its head has arrived; the caller closes it. Adds the provider's key.

        Raises: ProviderFault.
        """
        return await self._ask("POST", path, body, headers)

    def price(self, model: str | None) -> Price | None:
        """Returns the model's price; None if this provider's prices are not known."""
        return price_of(model, self._upstream.prices)

    @property
    def bound_field(self) -> str:
        """The provider's field for the maximum length of a chat completion."""
        return self._upstream.bound_field

    async def entries(self) -> list[Json]:
        """Returns the provider's own list of models. Raises: ProviderFault."""
        answer = await self._ask("GET", "models", b"", [(b"Accept-Encoding", b"identity")])
        try:
            body = b""
            async for piece in answer.pieces():
                body += piece
                if len(body) > MAX_LIST_BYTES:
                    raise RejectedRequest(f"{self._upstream.name} lists too many models to read.")
        finally:
            await answer.aclose()
        if answer.status != 200:
            raise self._upstream.fault(answer.status, body, model="")
        return read_entries(body)

    async def _ask(self, method: str, path: str, body: bytes, headers: Sequence[HeaderPair]) -> "LiveAnswer":
        name, limits = self._upstream.name, self._timeouts
        target = self._upstream.target()
        upstream_headers = [(key.encode(), value.encode()) for key, value in self._upstream.headers().items()]
        try:
            connection = await self._connections.acquire(target, seconds=limits.connect)
        except TimeoutError:
            raise NoAnswerInTime(f"{name} could not be connected to within {limits.connect:g} s.") from None
        except OSError as error:
            raise self._upstream.unreachable(error) from None
        answer = LiveAnswer(connection, partial(self._connections.release, target, connection), name, limits.idle)
        try:
            await connection.ask(target, method, path, [*headers, *upstream_headers], body, seconds=limits.first_byte)
        except TimeoutError:
            raise NoAnswerInTime(f"{name} hung: no answer began within {limits.first_byte:g} s.") from None
        except (ConnectionBroken, OSError) as error:
            raise self._upstream.unreachable(error) from None
        except asyncio.CancelledError:
            connection.abort()  # nobody waits for the answer any more, and the provider should know
            raise
        answer.begin()
        return answer


class OnDemandLine:
    """The line to the built-in model, whose server is started on demand and kept while it answers."""

    def __init__(self, provider: "LocalProvider", model: str, connections: Http1Pool) -> None:
        self._provider, self._model, self._connections = provider, model, connections

    async def post(self, path: str, body: bytes, headers: Sequence[HeaderPair]) -> "LiveAnswer":
        """As `Line.post`."""
        async with AsyncExitStack() as stack:
            upstream = await stack.enter_async_context(self._provider.acquire(self._model))
            answer = await UpstreamLine(upstream, self._connections, self._provider.timeouts).post(path, body, headers)
            answer.afterwards(stack.pop_all())
        return answer

    bound_field = "max_tokens"

    def price(self, model: str | None) -> Price | None:
        return None


ProviderLine = UpstreamLine | OnDemandLine


class LiveAnswer:
    """An answer in transit. If it is closed early, the provider sees the closed connection."""

    def __init__(self, connection: Http1Connection, release: Callable[[], None], name: str, idle: float) -> None:
        self.status = 0
        self.headers: Sequence[HeaderPair] = ()
        self._connection, self._give_back, self._name, self._idle = connection, release, name, idle
        self._complete = False
        self._on_close = AsyncExitStack()

    def begin(self) -> None:
        """Called when the head has arrived."""
        self.status, self.headers = self._connection.status, self._connection.headers
        by_name = {name.lower(): value for name, value in self.headers}
        self._watch = UsageWatch(
            self.status, content_type=by_name.get(b"content-type", b""), encoding=by_name.get(b"content-encoding", b"")
        )

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yields the body's bytes as they arrive. Raises: BrokenStream, NoAnswerInTime."""
        read, idle, see = self._connection.read, self._idle, self._watch.see
        try:
            while piece := await read(seconds=idle):
                see(piece)
                yield piece
        except ConnectionBroken:
            raise BrokenStream(f"{self._name} closed the connection in the middle of its answer.") from None
        except TimeoutError:
            raise NoAnswerInTime(f"{self._name} hung: nothing came for {self._idle:g} s.") from None
        except OSError:
            raise BrokenStream(f"The connection to {self._name} was lost in the middle of its answer.") from None
        self._complete = True

    def used(self, expected: TokenUsage, *, in_full: bool = False) -> TokenUsage:
        """Returns the use so far, as reported or estimated; with `in_full`, an unreported use counts as all that was expected."""
        return self._watch.used(expected, complete=self._complete, in_full=in_full)

    async def aclose(self) -> None:
        """Closes the response; before its end, this also stops the provider's work."""
        self._give_back()
        await self._on_close.aclose()

    def afterwards(self, stack: AsyncExitStack) -> None:
        """Closes this stack together with the answer."""
        self._on_close = stack


def _entry(owner: str, model: str) -> Json:
    return {"id": model, "object": "model", "created": 0, "owned_by": owner}
