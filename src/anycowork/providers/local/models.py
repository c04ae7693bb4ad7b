"""Local models as people see and manage them: what is installed, what is downloading, and how to get or remove one."""

import asyncio
from dataclasses import dataclass

from anycowork.domain.errors import AnyCoworkError, Conflict, Invalid
from anycowork.domain.messages import Json
from anycowork.providers.local.catalogue import DEFAULT, LocalModel
from anycowork.providers.local.download import ModelDownload
from anycowork.providers.local.folder import ModelFolder
from anycowork.providers.local.provider import LocalProvider, local_config
from anycowork.providers.local.supervisor import Supervisor, engine_installed, install_command
from anycowork.providers.registry import LOCAL, ProviderRegistry

LOOK_SECONDS = 30.0


@dataclass(slots=True)
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
