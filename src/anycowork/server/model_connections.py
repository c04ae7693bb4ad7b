"""Connects model servers while the server runs: stores address and key, tests them with a real request, changes and removes them."""

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import JsonValue, SecretStr, ValidationError

from anycowork.config.settings import ProviderEntry
from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.messages import Json
from anycowork.domain.model import ModelRequest, PromptMessage
from anycowork.domain.provider_errors import NoSuchModel, ProviderFault, RejectedRequest
from anycowork.providers.config import why_no_fallback
from anycowork.providers.model_list import AUTO, chat_model
from anycowork.providers.presets import PRESETS, calls_natively
from anycowork.providers.registry import ProviderRegistry
from anycowork.server.live_settings import LiveSettings, provider_config
from anycowork.server.secrets.provider_keys import ProviderKeys, origin_of

TEST_SECONDS = 60.0
_TEST = (PromptMessage("user", "Reply with the word OK."),)


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
        """Asks a model of this server for one word, and reports the outcome in plain words. Raises: NotFound."""
        models: list[str] = []
        try:
            async with asyncio.timeout(TEST_SECONDS):
                models = await self._listed(name)
                answered = await self._ask(name, models)
        except ProviderFault as fault:
            return {"ok": False, "message": fault.message, "models": [*models]}
        except TimeoutError:
            return {"ok": False, "message": f"{name} did not answer within {TEST_SECONDS:g} s.", "models": [*models]}
        return {"ok": True, "message": f"{answered} answered.", "models": [*models]}

    async def _listed(self, name: str) -> list[str]:
        """A server need not have a list. Raises: NotFound; ProviderFault if further requests are useless."""
        try:
            return await self.models(name)
        except (RejectedRequest, NoSuchModel):
            return []

    async def _ask(self, name: str, models: Sequence[str]) -> str:
        """Returns the model that answered. Raises: ProviderFault."""
        config = self._registry.get(name)
        model_name = config.models[0] if config and config.models else chat_model(models) or AUTO
        provider, model = self._registry.find(f"{name}/{model_name}")
        async for _ in provider.answer(ModelRequest(model=model, messages=_TEST, purpose="test")):
            pass  # read to the end: only then it counts as answered
        return model

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
            own = provider_config(ProviderEntry.model_validate(entry))
        except ValidationError:
            return  # what is wrong with it is said where it is stored
        for model, settings in own.model_settings.items():
            for fallback in settings.fallbacks:
                other = fallback.partition("/")[0]
                why = why_no_fallback(own, own if other == own.name else self._registry.get(other))
                if fallback == f"{own.name}/{model}":
                    why = "it is the same model"
                if why is not None:
                    raise Invalid(f"{fallback} cannot go on for {own.name}/{model}: {why}.", param="model_settings")

    def _entries(self) -> list[Json]:
        return [entry.model_dump(mode="json", exclude_defaults=True) for entry in self._live_settings.providers()]

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


def _changed(entry: Json, changes: Mapping[str, JsonValue]) -> Json:
    """Returns the entry with the changes; without its environment variable if they lead to another host."""
    before, after = entry.get("base_url"), changes.get("base_url")
    moved = isinstance(after, str) and origin_of(after) != origin_of(before if isinstance(before, str) else None)
    unchanged = {name: value for name, value in entry.items() if name != "api_key_env" or not moved}
    return {**unchanged, **changes}
