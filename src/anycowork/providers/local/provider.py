"""The provider `local`, used like any other server once its child process runs, and its models as people see and manage them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

from anycowork.domain.errors import AnyCoworkError, Conflict, Invalid
from anycowork.domain.messages import Json
from anycowork.domain.model import SMALL_MODEL, Chunk, ModelRequest
from anycowork.domain.provider_errors import NoSuchModel, Unreachable
from anycowork.domain.values import mutable_value
from anycowork.providers.config import ProviderConfig
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.http.retries import Backoff
from anycowork.providers.local.catalogue import DEFAULT, LocalModel
from anycowork.providers.local.download import ModelDownload
from anycowork.providers.local.folder import DownloadedModel, ModelFolder
from anycowork.providers.local.supervisor import ChildAddress, Supervisor, engine_installed, install_command
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.provider import OpenAIProvider
from anycowork.providers.openai.upstream import Upstream
from anycowork.providers.registry import LOCAL, ProviderRegistry

# On a busy machine a long prompt takes minutes before its first token.
TIMEOUTS = Timeouts(connect=10.0, first_byte=900.0, idle=300.0)
LOOK_SECONDS = 30.0


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


@mutable_value
class _Pull:
    task: asyncio.Task[None]
    fetched: int


class LocalModels:
    """`tasks` owns the downloads: they continue while nobody watches, and end with the server."""

    def __init__(
        self,
        folder: ModelFolder,
        pulling: ModelDownload,
        supervisor: Supervisor,
        registry: ProviderRegistry,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._folder = folder
        self._pulling = pulling
        self._supervisor = supervisor
        self._registry = registry
        self._tasks = tasks
        self._provider = LocalProvider(supervisor, folder.ready, registry.pool)
        self._pulls: dict[str, _Pull] = {}
        self._failures: dict[str, str] = {}

    def shown(self) -> Json:
        """Describes every installed or available model, and whether this machine can run one."""
        self.offer()
        ready = {installed.model.name for installed in self._folder.ready()}
        return {
            "engine": {
                "installed": engine_installed(),
                "hint": None if engine_installed() else f"Run: {install_command()}",
            },
            "models": [self._described(model, ready) for model in self._folder.all()],
        }

    def offer(self) -> None:
        """Keeps `local` in the registry while a usable model is installed."""
        ready = self._folder.ready() if engine_installed() else []
        if not ready:
            self._registry.drop(LOCAL)
        elif self._registry.get(LOCAL) != local_config(ready):
            self._registry.put_local(local_config(ready), self._provider)

    def pull(self, name: str) -> Json:
        """Starts or resumes a download. Raises: NotFound; Conflict if it is installed; Invalid if nobody publishes it."""
        model = self._folder.find(name)
        if any(installed.model.name == name for installed in self._folder.ready()):
            raise Conflict(f"{model.title} is installed already.")
        if model.url is None and model.mirror is None:
            raise Invalid(f"{model.title} is your own file: it cannot be downloaded.", param="name")
        if name not in self._pulls:
            self._failures.pop(name, None)
            self._pulls[name] = _Pull(self._tasks.create_task(self._pull(model)), self._folder.fetched_bytes(model))
        return self._described(model, set())

    async def cancel(self, name: str) -> Json:
        """Cancels a download and keeps the downloaded part. Raises: NotFound."""
        model = self._folder.find(name)
        if pull := self._pulls.pop(name, None):
            pull.task.cancel()
            await asyncio.wait([pull.task])
        return self._described(model, {installed.model.name for installed in self._folder.ready()})

    async def remove(self, name: str) -> None:
        """Raises: NotFound; Conflict while it is downloaded or used."""
        model = self._folder.find(name)
        if name in self._pulls:
            raise Conflict(f"{model.title} is being fetched. Cancel that first.")
        if self._supervisor.loaded == name:
            await self._supervisor.release()
        await asyncio.to_thread(self._folder.remove, name)
        self._failures.pop(name, None)
        self.offer()

    async def watch(self) -> None:
        """Never returns. Models may also be added and removed by the command line."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._supervisor.watch())
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                self.offer()

    async def aclose(self) -> None:
        for pull in [*self._pulls.values()]:
            pull.task.cancel()
        await self._supervisor.aclose()

    async def _pull(self, model: LocalModel) -> None:
        def progress(fetched: int) -> None:
            if pull := self._pulls.get(model.name):
                pull.fetched = fetched

        try:
            await self._pulling.pull(model, progress)
        except AnyCoworkError as fault:
            self._failures[model.name] = fault.message
        finally:
            self._pulls.pop(model.name, None)
        self.offer()

    def _described(self, model: LocalModel, ready: set[str]) -> Json:
        pull = self._pulls.get(model.name)
        fetched = pull.fetched if pull else self._folder.fetched_bytes(model)
        return {
            "name": model.name,
            "title": model.title,
            "state": self._state(model.name, ready),
            "recommended": model.name == DEFAULT,
            "size_bytes": model.size_bytes,
            "fetched_bytes": fetched,
            "progress": round(fetched / model.size_bytes, 4) if model.size_bytes else None,
            "memory_bytes": model.memory_bytes,
            "licence": model.licence,
            "limits": model.limits,
            "loaded": self._supervisor.loaded == model.name,
            "error": self._failures.get(model.name),
        }

    def _state(self, name: str, ready: set[str]) -> str:
        if name in self._pulls:
            return "pulling"
        if name in ready:
            return "ready"
        return "failed" if name in self._failures else "absent"
