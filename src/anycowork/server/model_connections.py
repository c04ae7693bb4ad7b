"""Connects model servers and the search engine while the server runs: stores address and key, tests them with a real request, removes them."""

import asyncio
import os
from collections.abc import Mapping, Sequence

from pydantic import JsonValue, SecretStr, ValidationError

from anycowork.config.settings import ModelEntry, ProviderEntry
from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.messages import Json
from anycowork.domain.model import (
    CallChunk,
    ModelRequest,
    PromptMessage,
    Provider,
    ToolDefinition,
)
from anycowork.domain.provider_errors import NoSuchModel, Overloaded, ProviderFault, RejectedRequest
from anycowork.providers.config import is_small, why_no_fallback
from anycowork.providers.model_list import AUTO, chat_model
from anycowork.providers.presets import PRESETS, calls_natively
from anycowork.providers.registry import ProviderRegistry
from anycowork.sandbox.network.egress import Egress
from anycowork.server.live_settings import LiveSettings, provider_config
from anycowork.server.secrets.provider_keys import ProviderKeys, origin_of
from anycowork.tools.toolbox import ToolRegistry
from anycowork.tools.web.search_web import EngineKind, SearchEngine, SearchWeb, engine_address

TEST_SECONDS = 60.0
_TEST = (PromptMessage("user", "Reply with the word OK."),)
_TOOL_TEST = (PromptMessage("user", "Call the tool confirm_ready with ready set to true. Say nothing else."),)
_OF_TOOLS = ("tool", "function")  # in what a server says that takes none
_TOOL = ToolDefinition(
    "confirm_ready",
    "Confirms that you are ready.",
    {"type": "object", "properties": {"ready": {"type": "boolean"}}, "required": ["ready"]},
)
_KEY_NAME = "search:"  # no model server's name holds a colon


class ModelConnections:
    """What a person can do with model servers. Entries are in config.toml, pasted keys in a separate file."""

    def __init__(self, live_settings: LiveSettings, registry: ProviderRegistry, keys: ProviderKeys) -> None:
        self._live_settings, self._registry, self._keys = live_settings, registry, keys
        self._alone = asyncio.Lock()

    def presets(self) -> Sequence[Json]:
        return [preset.to_json() for preset in PRESETS]

    async def connect(self, entry: Mapping[str, JsonValue], key: SecretStr | None) -> Json:
        """Adds a server. Raises: Conflict if the name is taken; Invalid, StorageFault."""
        name = str(entry["name"])
        async with self._alone:
            if self._own(name) is not None:
                raise Conflict(
                    f"There is a model server called '{name}'. Change that one, or choose another name.", param="name"
                )
            address = entry.get("base_url")
            native = calls_natively(str(entry.get("kind", "openai")), address if isinstance(address, str) else None)
            calling: Json = {"calling": "native"} if native else {}
            self._require_fallbacks({**entry})
            await self._store([*self._entries(), {**calling, **entry}], name, key)
        return self._described(name)

    async def change(self, name: str, changes: Mapping[str, JsonValue], key: SecretStr | None) -> Json:
        """Changes the named fields only. A new host gets no key that was meant for the old one. Raises: NotFound, Conflict, Invalid,
        StorageFault."""
        async with self._alone:
            self._require_own(name)
            entries = [_changed(entry, changes) if entry["name"] == name else entry for entry in self._entries()]
            self._require_fallbacks(next(entry for entry in entries if entry["name"] == name))
            await self._store(entries, name, key)
        return self._described(name)

    async def remove(self, name: str) -> None:
        """Removes a server and its key. Raises: NotFound, Conflict, StorageFault."""
        async with self._alone:
            self._require_own(name)
            await self._live_settings.change(
                {"providers": [entry for entry in self._entries() if entry["name"] != name]}
            )
            await asyncio.to_thread(self._keys.remove, name)

    async def models(self, name: str) -> list[str]:
        """Returns what the server lists now. Raises: NotFound, ProviderFault."""
        config = self._registry.get(name)
        if config is None:
            raise NotFound("provider", name)
        return await self._registry.list_models(name)

    async def test(self, name: str) -> Json:
        """Asks a model of this server for an answer, and reports the outcome in plain words. Where nothing is known of how it calls tools it
        is offered one, and if it calls it, its tools are called natively from then on. Raises: NotFound."""
        models: list[str] = []
        try:
            async with asyncio.timeout(TEST_SECONDS):
                models = await self._listed(name)
                message = await self._ask(name, models)
        except ProviderFault as fault:
            return {"ok": False, "message": fault.message, "models": [*models]}
        except TimeoutError:
            return {"ok": False, "message": f"{name} did not answer within {TEST_SECONDS:g} s.", "models": [*models]}
        return {"ok": True, "message": message, "models": [*models]}

    async def _listed(self, name: str) -> list[str]:
        """A server need not have a list. Raises: NotFound; ProviderFault if further requests are useless."""
        try:
            return await self.models(name)
        except (RejectedRequest, NoSuchModel):
            return []

    async def _ask(self, name: str, models: Sequence[str]) -> str:
        """Returns which model answered, and how. Raises: ProviderFault."""
        config = self._registry.get(name)
        model_name = config.models[0] if config and config.models else chat_model(models) or AUTO
        provider, model = self._registry.find(f"{name}/{model_name}")
        if not self._tries_native_calls(name, model):
            await _answer(provider, model)
        elif await _calls_offered_tool(provider, model):
            await self._set_native_calls(name, model)
            return f"{model} answered, and called the tool that it was offered: its tools are called natively."
        return f"{model} answered."

    def _tries_native_calls(self, name: str, model: str) -> bool:
        """Whether the model calls in its text only because nobody said otherwise, and what it shows can be stored."""
        entry = self._own(name)
        if entry is None or entry.brief or "calling" in entry.model_fields_set or is_small(model):
            return False
        settings = entry.model_settings.get(model)
        return settings is None or settings.calling is None

    async def _set_native_calls(self, name: str, model: str) -> None:
        """Stores what the model showed, unless its server was removed or changed meanwhile."""
        async with self._alone:
            entry = self._own(name)
            if entry is None or not self._tries_native_calls(name, model):
                return
            settings = entry.model_settings.get(model, ModelEntry()).model_copy(update={"calling": "native"})
            changed = entry.model_copy(update={"model_settings": {**entry.model_settings, model: settings}})
            entries = [_dumped(changed) if entry["name"] == name else entry for entry in self._entries()]
            await self._store(entries, name, None)

    async def _store(self, entries: list[Json], name: str, key: SecretStr | None) -> None:
        """Stores the entry first: a key without an entry is never used, an entry without its key reports that."""
        await self._live_settings.change({"providers": [*entries]})
        if key is not None:
            address = self._described(name)["base_url"]
            await asyncio.to_thread(self._keys.put, name, key, address if isinstance(address, str) else None)
            self._registry.renew(name)

    def _require_fallbacks(self, entry: Json) -> None:
        """Raises: Invalid for a fallback that would never be asked."""
        try:
            config = provider_config(ProviderEntry.model_validate(entry))
        except ValidationError:
            return  # what is wrong with it is said where it is stored
        for model, settings in config.model_settings.items():
            for fallback in settings.fallbacks:
                other = fallback.partition("/")[0]
                reason = why_no_fallback(config, config if other == config.name else self._registry.get(other))
                if fallback == f"{config.name}/{model}":
                    reason = "it is the same model"
                if reason is not None:
                    raise Invalid(
                        f"{fallback} cannot go on for {config.name}/{model}: {reason}.", param="model_settings"
                    )

    def _entries(self) -> list[Json]:
        return [_dumped(entry) for entry in self._live_settings.providers()]

    def _own(self, name: str) -> ProviderEntry | None:
        return next((entry for entry in self._live_settings.providers() if entry.name == name), None)

    def _require_own(self, name: str) -> None:
        if self._own(name) is not None:
            return
        if self._registry.get(name) is None:
            raise NotFound("provider", name)
        raise Conflict(
            f"'{name}' was found automatically: through an environment variable, or because it runs on this machine. Connect it under "
            "another name to change it here."
        )

    def describe(self) -> list[Json]:
        """Returns every provider; those that a person connected can be changed and removed."""
        own_names = {entry.name for entry in self._live_settings.providers()}
        return [
            {**description, "changeable": description["name"] in own_names} for description in self._registry.describe()
        ]

    def _described(self, name: str) -> Json:
        return next(description for description in self.describe() if description["name"] == name)


def _dumped(entry: ProviderEntry) -> Json:
    """Returns what a person set, also where it is the default."""
    return entry.model_dump(mode="json", exclude_unset=True, exclude_none=True)


def _changed(entry: Json, changes: Mapping[str, JsonValue]) -> Json:
    """Returns the entry with the changes; without its environment variable if they lead to another host."""
    before, after = entry.get("base_url"), changes.get("base_url")
    moved = isinstance(after, str) and origin_of(after) != origin_of(before if isinstance(before, str) else None)
    unchanged = {name: value for name, value in entry.items() if name != "api_key_env" or not moved}
    return {**unchanged, **changes}


async def _answer(provider: Provider, model: str) -> None:
    """Raises: ProviderFault."""
    async for _ in provider.answer(ModelRequest(model=model, messages=_TEST, purpose="test")):
        pass  # read to the end: only then it counts as answered


async def _calls_offered_tool(provider: Provider, model: str) -> bool:
    """Offers a tool of no effect. A server that refuses tools is asked for an answer without them. Raises: ProviderFault."""
    request = ModelRequest(model=model, messages=_TOOL_TEST, purpose="test", offers=(_TOOL,))
    try:
        return any([isinstance(chunk, CallChunk) async for chunk in provider.answer(request)])
    except (RejectedRequest, Overloaded) as fault:
        if not any(word in fault.message.lower() for word in _OF_TOOLS):
            raise
        await _answer(provider, model)
        return False


class SearchConnection:
    """Offers `search_web` to models while an engine is configured. A source of tools."""

    source_name = "web search"

    def __init__(self, live_settings: LiveSettings, keys: ProviderKeys, toolbox: ToolRegistry, egress: Egress) -> None:
        self._live_settings = live_settings
        self._keys = keys
        self._toolbox = toolbox
        self._tool = SearchWeb(self.engine, egress)
        self._alone = asyncio.Lock()
        toolbox.refresh(self)
        live_settings.pass_on("search_engine", lambda: toolbox.refresh(self))

    def tools(self) -> Sequence[SearchWeb]:
        return [] if self._live_settings.search_engine() is None else [self._tool]

    def engine(self) -> SearchEngine | None:
        entry = self._live_settings.search_engine()
        if entry is None:
            return None
        kind = EngineKind(entry.kind)
        address = engine_address(kind, entry.base_url)
        stored_key = self._keys.find(f"{_KEY_NAME}{kind.value}", str(address))
        return SearchEngine(kind, address, stored_key or os.environ.get(entry.api_key_env or "") or None)

    def shown(self) -> Json:
        """Returns the engine without its key."""
        engine = self.engine()
        if engine is None:
            return {"kind": None, "base_url": None, "key_set": False}
        return {"kind": engine.kind.value, "base_url": str(engine.address), "key_set": engine.key is not None}

    async def connect(self, kind: EngineKind, base_url: str | None, key: SecretStr | None) -> Json:
        """Names the engine; a key that was pasted for another host is not sent to this one. Raises: Invalid, StorageFault."""
        try:
            address = engine_address(kind, base_url)
        except ValueError as error:
            raise Invalid(f"The search engine cannot be used: {error}.", param="base_url") from None
        async with self._alone:
            if key is not None:
                await asyncio.to_thread(self._keys.put, f"{_KEY_NAME}{kind.value}", key, str(address))
            address_entry: Json = {} if base_url is None else {"base_url": base_url}
            await self._live_settings.change({"search_engine": {"kind": kind.value, **address_entry}})
        return self.shown()

    async def remove(self) -> None:
        """Forgets the engine and every key that was pasted for one. Raises: StorageFault."""
        async with self._alone:
            await self._live_settings.change({"search_engine": None})
            for kind in EngineKind:
                await asyncio.to_thread(self._keys.remove, f"{_KEY_NAME}{kind.value}")
