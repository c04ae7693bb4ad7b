"""Chooses the provider for a model id, and describes each provider. Changes while running, as local servers are found."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from anycowork.domain.agents import AGENT_PROVIDER
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.model import (
    LEAST_NATIVE_CONTEXT,
    SMALL_MODEL,
    UNKNOWN_MODEL,
    ContextSize,
    FindModelFacts,
    ModelFacts,
    ModelOptions,
    Provider,
    ToolCallStyle,
)
from anycowork.domain.provider_errors import BadKey, NoSuchModel, ProviderFault, Unreachable, Untrusted
from anycowork.providers.anthropic.provider import AnthropicProvider
from anycowork.providers.config import GUIDE, OPENAI_URL, ModelSettings, ProviderConfig, allowed_fallbacks, is_small
from anycowork.providers.delegate import DelegateProvider
from anycowork.providers.guide import guide_provider
from anycowork.providers.http.http1 import HttpPool
from anycowork.providers.http.proxy_env import proxy_for
from anycowork.providers.model_list import AUTO, id_of, resolve, resolve_default
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.provider import OpenAIProvider
from anycowork.providers.openai.upstream import Upstream
from anycowork.providers.readiness import Readiness, address_of, detail_of, hint_for

if TYPE_CHECKING:
    from anycowork.providers.local.provider import LocalProvider

GUIDE_CONFIG = ProviderConfig(name=GUIDE, kind="guide", models=(GUIDE,))
LOCAL = "local"
_LAST = {LOCAL: 1, AGENT_PROVIDER: 2, GUIDE: 3}  # configured providers come before built-in ones


class ProviderRegistry:
    """Knows the providers of models. The guide is always there; it is the default only while nothing else is.

    Keys are looked up for each request: in `stored_key` (pasted keys, by provider and address) first, then in `environment`. Raises:
    Invalid for two providers of one name.
    """

    def __init__(
        self,
        configs: Sequence[ProviderConfig] = (),
        *,
        default: str | None = None,
        environment: Mapping[str, str],
        stored_key: Callable[[str, str | None], str | None] = lambda provider, address: None,
        timeouts: Timeouts | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        find_facts: FindModelFacts | None = None,
        is_worker: bool = False,
    ) -> None:
        """`is_worker`: chats come from servers, whose names for models a worker need not have; its own default answers for those."""
        self._is_worker = is_worker
        self._find_facts = find_facts
        self.pool = HttpPool()
        self._default = default
        self._environment = environment
        self._stored_key = stored_key
        self._timeouts, self._sleep = timeouts, sleep
        self._configs: dict[str, ProviderConfig] = {}
        self._upstreams: list[tuple[Upstream, tuple[str, ...]]] | None = None  # until something changes
        self._delegates = DelegateProvider()
        self._clients: dict[str, OpenAIProvider] = {}
        self._anthropic: dict[str, AnthropicProvider] = {}
        self._local: LocalProvider | None = None
        self._retired: list[AnthropicProvider] = []
        self._configs[GUIDE] = GUIDE_CONFIG
        for config in configs:
            if config.name in self._configs:
                raise Invalid(f"There are two providers called '{config.name}'. Rename one.", param="providers")
            self.put(config)

    def find(self, model_id: str | None) -> tuple[Provider, str]:
        """Returns the provider and its own name for the model; None means the default. Raises: NoSuchModel, also if it is gone."""
        config, model = self._resolve(model_id)
        if config.kind == LOCAL and self._local is not None:
            return self._local, model
        if config.kind == "agent":
            return self._delegates, model
        return self._answering(config) or guide_provider(), model

    def id_of(self, name: str) -> str:
        """Returns the id of the model that a person names now, with its provider in front. Raises: NoSuchModel."""
        return id_of(self._configs, name, default=self._default)

    def context_tokens(self, model_id: str | None) -> int:
        """Returns the model's context size in tokens, known or assumed. Raises: NoSuchModel."""
        return self.context_size(model_id).tokens

    def context_size(self, model_id: str | None) -> ContextSize:
        """Returns the configured size, else what is known of the model, else an assumption. Raises: NoSuchModel."""
        config, model = self._resolve(model_id)
        settings = config.model_settings.get(model)
        if settings is not None and settings.context_tokens:
            return ContextSize(settings.context_tokens)
        if not config.context_assumed:
            return ContextSize(config.context_tokens)
        listed = self.facts(config.name, model).context_tokens
        return ContextSize(listed) if listed else ContextSize(config.context_tokens, known=False)

    def facts(self, provider: str, model: str) -> ModelFacts:
        """Returns what is known of a model of this provider. What the settings say comes first."""
        config = self._configs.get(provider)
        if config is None or config.kind not in ("openai", "anthropic"):
            return UNKNOWN_MODEL
        catalogued = self._find_facts(address_of(config), model) if self._find_facts else UNKNOWN_MODEL
        listed, settings = self._said_by_server(config, model), config.model_settings.get(model) or ModelSettings()
        size = listed.context_tokens or catalogued.context_tokens if config.context_assumed else config.context_tokens
        calling = settings.calling or (None if config.options.calling is ToolCallStyle.TEXT else config.options.calling)
        return ModelFacts(
            settings.context_tokens or size,
            settings.price or config.prices.get(model) or catalogued.price,
            images=self._sees(config, model),
            native_calls=listed.native_calls if calling is None else calling is ToolCallStyle.NATIVE,
        )

    def _sees(self, config: ProviderConfig, model: str) -> bool | None:
        """Returns what the settings, the server's list, the model's name or an earlier attempt say; None if nothing does."""
        configured = config.sees(model)
        if configured is not None:
            return configured
        client = self._clients.get(config.name)
        if client is not None and client.refuses_images(model):
            return False
        return self._said_by_server(config, model).images

    def _said_by_server(self, config: ProviderConfig, model: str) -> ModelFacts:
        client = self._clients.get(config.name)
        return client.listed.get(model, UNKNOWN_MODEL) if client else UNKNOWN_MODEL

    def options(self, model_id: str | None) -> ModelOptions:
        """Returns the model's request options as configured, limited by its context. Raises: NoSuchModel."""
        config, model = self._resolve(model_id)
        settings = config.model_settings.get(model) or ModelSettings()
        options = config.options
        if config.small_by_name and options.calling is ToolCallStyle.TEXT and is_small(model):
            options = SMALL_MODEL
        if settings.calling:
            options = replace(options, calling=settings.calling)
        size = settings.context_tokens or config.context_tokens
        if options.calling is ToolCallStyle.NATIVE and size < LEAST_NATIVE_CONTEXT:
            options = replace(options, calling=ToolCallStyle.TEXT)
        sees = self._sees(config, model)
        return options if sees is False else replace(options, images=True, tries_images=sees is None)

    def fallbacks(self, model_id: str | None) -> tuple[str, ...]:
        """Returns the models that may go on, in order, where this one cannot answer."""
        try:
            return allowed_fallbacks(*self._resolve(model_id), self._configs)
        except NoSuchModel:
            return ()

    def upstreams(self) -> list[tuple[Upstream, tuple[str, ...]]]:
        """Returns the targets of passthrough requests that speak OpenAI's API, the default first, each with its known ids."""
        if self._upstreams is None:
            chosen, _ = self._chosen()
            names = sorted(self._clients, key=lambda name: name != chosen)
            self._upstreams = [(self._upstream(self._configs[name]), self._configs[name].models) for name in names]
        return self._upstreams

    def lent(self, model: str | None) -> "tuple[LocalProvider, str] | None":
        """Returns the built-in model of this name and its provider; its first model if nobody else could answer, or if it is the default."""
        if self._local is None or LOCAL not in self._configs:
            return None
        models = self._configs[LOCAL].models
        if model in models:
            return self._local, str(model)
        return None if self._clients and self._chosen()[0] != LOCAL else (self._local, models[0])

    def client(self, name: str) -> OpenAIProvider | None:
        """Returns the client of this provider; None for the guide and for unknown names."""
        return self._clients.get(name)

    def describe(self) -> list[Json]:
        """Describes every provider for people, without secrets; `default` marks the one that answers when none is named,
        `default_model` is the model that it then asks.
        """
        chosen, model = self._chosen()
        return [self._described(config, model if config.name == chosen else None) for config in self._configs.values()]

    def put(self, config: ProviderConfig) -> None:
        """Adds a provider, or replaces the one of that name. Raises: Invalid for the name of a built-in one."""
        require_free_name(config.name)
        self._place(config)
        self._retire(config.name)
        if config.kind == "anthropic":
            self._anthropic[config.name] = AnthropicProvider(self._upstream(config), timeouts=self._timeouts)
        elif config.kind == "openai":
            self._clients[config.name] = OpenAIProvider(
                self._upstream(config), self.pool, timeouts=self._timeouts, sleep=self._sleep
            )

    def change_timeouts(self, timeouts: Timeouts) -> None:
        """Applies to every request that begins after this."""
        self._timeouts = timeouts
        for name in (*self._clients, *self._anthropic):
            self.put(self._configs[name])

    def renew(self, name: str) -> None:
        """Forgets the results of the old key, because it was replaced."""
        self.put(self._configs[name])

    async def list_models(self, name: str) -> list[str]:
        """Returns the server's current list, or the known models if it cannot be asked. Raises: ProviderFault."""
        config = self._configs[name]
        client = self._answering(config)
        if client is None:
            return list(config.models)
        try:
            return await client.models()
        except (BadKey, Unreachable, Untrusted) as fault:
            client.last_fault = fault  # the next request would end the same way
            raise

    def lasting_id(self) -> str | None:
        """Returns the default model with its provider in front; None while only the guide answers, or the default is missing."""
        try:
            config, model = self._resolve(None)
        except NoSuchModel:
            return None
        return None if config.kind == "guide" else f"{config.name}/{model}"

    def put_local(self, config: ProviderConfig, provider: "LocalProvider") -> None:
        """Adds the built-in model provider; `config` lists its models. `drop` removes it."""
        self._local = provider
        self._place(config)

    def put_delegates(self, names: Sequence[str]) -> None:
        """Lets chats be answered by these agents of other vendors, as `agent/NAME`, and by no others. They are never the default."""
        if not names:
            self.drop(AGENT_PROVIDER)
        else:
            self._place(ProviderConfig(name=AGENT_PROVIDER, kind="agent", models=tuple(names)))

    def choose(self, default: str | None) -> None:
        """Sets the provider for requests without a model; None = the first one found."""
        self._default = default
        self._upstreams = None

    def drop(self, name: str) -> None:
        """Removes a provider that is gone."""
        if name != GUIDE:
            self._upstreams = None
            self._configs.pop(name, None)
            self._retire(name)

    def get(self, name: str) -> ProviderConfig | None:
        return self._configs.get(name)

    async def aclose(self) -> None:
        await self.pool.aclose()
        for client in (*self._anthropic.values(), *self._retired):
            await client.aclose()

    def _place(self, config: ProviderConfig) -> None:
        self._upstreams = None
        everyone = {**self._configs, config.name: config}
        self._configs = dict(sorted(everyone.items(), key=lambda item: _LAST.get(item[0], 0)))

    def _retire(self, name: str) -> None:
        """Its client may be in the middle of an answer, so it is closed at the end."""
        self._clients.pop(name, None)
        if name in self._anthropic:
            self._retired.append(self._anthropic.pop(name))

    # --- choosing a provider

    def _chosen(self) -> tuple[str | None, str | None]:
        """Returns the names of the default provider and its model; both None if the default names a model that nobody has."""
        try:
            config, model = self._resolve(None)
        except NoSuchModel:
            return None, None
        return config.name, model

    def _resolve(self, model_id: str | None) -> tuple[ProviderConfig, str]:
        if model_id and not (self._is_worker and model_id.partition("/")[0] not in self._configs):
            return resolve(self._configs, model_id, default=self._default)
        return resolve_default(self._configs, self._default)

    def _answering(self, config: ProviderConfig) -> OpenAIProvider | AnthropicProvider | None:
        return self._clients.get(config.name) or self._anthropic.get(config.name)

    # --- describing a provider

    def _upstream(self, config: ProviderConfig) -> Upstream:
        variable, base_url = config.api_key_env, address_of(config) or OPENAI_URL
        return Upstream(
            name=config.name,
            base_url=base_url,
            key_env=variable,
            prices=config.prices,
            key=lambda: self._key(config),
            proxy=proxy_for(base_url, self._environment),
            ca_file=config.ca_file,
        )

    def _key(self, config: ProviderConfig) -> str | None:
        variable = config.api_key_env
        return self._stored_key(config.name, address_of(config)) or (
            self._environment.get(variable) if variable else None
        )

    def keys(self) -> list[str]:
        """Returns the keys in use, so that the log can leave them out."""
        return [key for config in list(self._configs.values()) if (key := self._key(config))]

    def _described(self, config: ProviderConfig, default_model: str | None) -> Json:
        status = self._readiness(config)
        return {
            "name": config.name,
            "kind": config.kind,
            "base_url": address_of(config),
            "models": list(config.models),
            "privacy": config.privacy.value,
            **self._described_models(config),
            "default": default_model is not None,
            "default_model": default_model,
            "status": status.value,
            "has_key": self._key(config) is not None,
            "hint": hint_for(config, status, self._last_fault(config)),
            "detail": detail_of(config, status, self._last_fault(config)),
        }

    def _described_models(self, config: ProviderConfig) -> Json:
        client = self._clients.get(config.name)
        models = dict.fromkeys(
            (*(config.models or (AUTO,)), *config.model_settings, *(client.listed if client else ()))
        )
        seeing = {model: self._sees(config, model) for model in models}
        return {
            "images": [model for model in config.models or (AUTO,) if seeing[model] is not False],
            "no_images": [model for model, sees in seeing.items() if sees is False],
            "tries_images": config.kind in ("openai", "anthropic") and config.images is None,
            "calling": config.options.calling.value,
            "model_settings": {model: settings.to_json() for model, settings in config.model_settings.items()},
        }

    def _readiness(self, config: ProviderConfig) -> Readiness:
        if config.api_key_env and not (self._key(config) or "").strip():
            return Readiness.NO_KEY
        match self._last_fault(config):
            case BadKey():
                return Readiness.KEY_REFUSED
            case Unreachable() | Untrusted():
                return Readiness.UNREACHABLE
            case _:
                client = self._answering(config)
                return Readiness.NOT_TESTED if client and not client.has_answered else Readiness.READY

    def _last_fault(self, config: ProviderConfig) -> ProviderFault | None:
        client = self._answering(config)
        return client.last_fault if client else None


def require_free_name(name: str) -> None:
    """Raises: Invalid for the name of a built-in provider."""
    if name in _LAST:
        raise Invalid(f"'{name}' is the name of a built-in provider. Choose another.", param="name")
