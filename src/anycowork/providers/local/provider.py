"""The provider `local`: the built-in model, used like any other server once its child process runs."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

from anycowork.domain.model import SMALL_MODEL, Chunk, ModelRequest
from anycowork.domain.provider_errors import NoSuchModel, Unreachable
from anycowork.providers.config import ProviderConfig
from anycowork.providers.http.pool import HttpPool
from anycowork.providers.http.retries import Backoff
from anycowork.providers.local.folder import DownloadedModel
from anycowork.providers.local.supervisor import ChildAddress, Supervisor
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.provider import OpenAIProvider
from anycowork.providers.openai.upstream import Upstream
from anycowork.providers.registry import LOCAL

# On a busy machine a long prompt takes minutes before its first token.
TIMEOUTS = Timeouts(connect=10.0, first_byte=900.0, idle=300.0)


def local_config(ready: Sequence[DownloadedModel]) -> ProviderConfig:
    """Lists the largest first: it is the default."""
    ordered = sorted(ready, key=lambda downloaded: -downloaded.model.size_bytes)
    return ProviderConfig(
        name=LOCAL,
        kind="local",
        models=tuple(downloaded.model.name for downloaded in ordered),
        context_tokens=min(downloaded.model.context_tokens for downloaded in ordered),
        options=SMALL_MODEL,
    )


class LocalProvider:
    """Implements the `Provider` port. Restarts a child that died once, if no output was sent yet."""

    name = LOCAL
    timeouts = TIMEOUTS

    def __init__(self, supervisor: Supervisor, ready: Callable[[], Sequence[DownloadedModel]], pool: HttpPool) -> None:
        self._supervisor = supervisor
        self._ready = ready
        self._pool = pool

    async def answer(self, request: ModelRequest) -> AsyncGenerator[Chunk, None]:
        """Raises: ProviderFault."""
        weights = self._weights(request.model)
        begun = False
        for last_try in (False, True):
            try:
                async with (
                    self._supervisor.running(weights) as address,
                    aclosing(self._client(address).answer(request)) as chunks,
                ):
                    async for chunk in chunks:
                        begun = True
                        yield chunk
                return
            except Unreachable:
                if begun or last_try:
                    raise

    @asynccontextmanager
    async def acquire(self, model: str) -> AsyncIterator[Upstream]:
        async with self._supervisor.running(self._weights(model)) as address:
            yield _upstream(address)

    def _weights(self, model: str) -> DownloadedModel:
        ready = self._ready()
        weights = next((downloaded for downloaded in ready if downloaded.model.name == model), None)
        if weights is None:
            names = ", ".join(f"{LOCAL}/{downloaded.model.name}" for downloaded in ready) or "none yet"
            raise NoSuchModel(
                f"There is no local model '{model}' here. Fetched: {names}. Get one: anycowork model pull"
            )
        return weights

    def _client(self, address: ChildAddress) -> OpenAIProvider:
        return OpenAIProvider(_upstream(address), self._pool, timeouts=TIMEOUTS, backoff=Backoff(tries=1))


def _upstream(address: ChildAddress) -> Upstream:
    return Upstream(name=LOCAL, base_url=f"{address.url}/v1", key=lambda: address.secret)
