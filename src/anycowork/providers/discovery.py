"""Finds providers that nobody configured: from the environment at startup, and local servers while running."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import urlsplit

from anycowork.domain.provider_errors import ProviderFault
from anycowork.domain.values import value
from anycowork.providers.config import ANTHROPIC_URL, OPENAI_URL, ProviderConfig, usual_context
from anycowork.providers.model_list import chat_model
from anycowork.providers.openai.provider import OpenAIProvider
from anycowork.providers.openai.upstream import Upstream
from anycowork.providers.registry import ProviderRegistry

KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
ANTHROPIC_KEY = "ANTHROPIC_API_KEY"


@value
class LocalServer:
    name: str
    base_url: str


LOCAL_SERVERS = (
    LocalServer("ollama", "http://127.0.0.1:11434/v1"),
    LocalServer("lmstudio", "http://127.0.0.1:1234/v1"),
    LocalServer("llamacpp", "http://127.0.0.1:8080/v1"),
)


def from_environment(environment: Mapping[str, str]) -> list[ProviderConfig]:
    """Reads `OPENAI_API_KEY`, `OPENAI_BASE_URL` (alone: a server without a key) and `ANTHROPIC_API_KEY`. Raises: Invalid.

    Names no model: the server's list is fetched with the first message, and `chat_model` picks from it.
    """
    key, url = environment.get(KEY, "").strip(), environment.get(URL, "").strip()
    configs = []
    if key or url:
        address = url or OPENAI_URL
        configs.append(
            ProviderConfig("openai", base_url=address, api_key_env=KEY if key else None, context_assumed=True)
        )
    if environment.get(ANTHROPIC_KEY, "").strip():
        configs.append(
            ProviderConfig(
                name="anthropic",
                kind="anthropic",
                base_url=environment.get("ANTHROPIC_BASE_URL", "").strip() or ANTHROPIC_URL,
                api_key_env=ANTHROPIC_KEY,
                context_tokens=usual_context("anthropic"),
                context_assumed=True,
            )
        )
    return configs


class LocalServerWatcher:
    """Polls for local servers while they are wanted, and keeps the registry up to date. Leaves configured providers alone."""

    def __init__(
        self,
        registry: ProviderRegistry,
        *,
        servers: Sequence[LocalServer] | None = None,
        is_wanted: Callable[[], bool] = lambda: True,
        every: float = 30.0,
        within: float = 0.5,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._registry = registry
        self._servers = [server for server in servers or LOCAL_SERVERS if registry.get(server.name) is None]
        self._added: set[str] = set()
        self._is_wanted = is_wanted
        self.changed = asyncio.Event()
        """Set when whether they are wanted may have changed."""
        self.looked = asyncio.Event()
        """Set after the first look."""
        self._every, self._within, self._sleep = every, within, sleep

    async def watch(self) -> None:
        """Never returns: start it in the app's task group after startup, so that startup does not wait for it."""
        while True:
            self.changed.clear()
            if not self._is_wanted():
                for name in self._added:
                    self._registry.drop(name)
                self._added = set()
                self.looked.set()
                await self.changed.wait()
                continue
            await self.refresh()
            self.looked.set()
            await self._until_changed()

    async def _until_changed(self) -> None:
        """Waits for the next look, which comes at once after a change."""
        async with asyncio.TaskGroup() as tasks:
            waits = [tasks.create_task(self._sleep_once()), tasks.create_task(self.changed.wait())]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()

    async def _sleep_once(self) -> None:
        await self._sleep(self._every)

    async def refresh(self) -> None:
        """Asks all of them at once; adds those that answer and drops those that no longer do."""
        async with asyncio.TaskGroup() as tasks:
            answers = {server: tasks.create_task(self._models_of(server)) for server in self._servers}
        for server, answer in answers.items():
            detected = ProviderConfig(name=server.name, base_url=server.base_url, models=answer.result())
            registered = self._registry.get(server.name)
            if registered is not None and server.name not in self._added:
                continue  # a person configured one of that name meanwhile
            if not detected.models:
                self._registry.drop(server.name)
                self._added.discard(server.name)
            elif registered != detected:
                self._registry.put(detected)
                self._added.add(server.name)

    async def _models_of(self, server: LocalServer) -> tuple[str, ...]:
        """Returns its models, the default one first; empty if the server is not running."""
        if not await self._is_listening(server):
            return ()
        client = OpenAIProvider(Upstream(name=server.name, base_url=server.base_url), self._registry.pool)
        try:
            models = await client.models(within=self._within)
        except ProviderFault:
            return ()
        chosen = chat_model(models)
        return tuple(sorted(models, key=lambda model: model != chosen))

    async def _is_listening(self, server: LocalServer) -> bool:
        """Tries a bare connection first: if nobody listens, the HTTP client need not be loaded."""
        address = urlsplit(server.base_url)
        try:
            async with asyncio.timeout(self._within):
                _, writer = await asyncio.open_connection(address.hostname, address.port)
        except OSError:  # refused, or no answer in time
            return False
        writer.close()
        return True
