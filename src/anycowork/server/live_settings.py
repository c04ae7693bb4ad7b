"""The settings in force: read by services, changed by a person. `settings.py` defines them."""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import replace

from pydantic import JsonValue

from anycowork.config.known_models import cost_of, entry_of, price_of
from anycowork.config.loading import save_settings
from anycowork.config.sections import NotificationEntry, delegates_of
from anycowork.config.settings import BadSettings, ModelEntry, PriceEntry, ProviderEntry, SearchEngineEntry, Settings
from anycowork.domain.agents import AGENT_PROVIDER, AgentSpec, DelegateConfig
from anycowork.domain.approvals import AskWhen
from anycowork.domain.chats import Autonomy, Limits
from anycowork.domain.messages import Json
from anycowork.domain.metering import ModelUsage, Price
from anycowork.domain.model import SMALL_MODEL, ModelOptions, ToolCallStyle
from anycowork.providers.config import GUIDE, ModelSettings, Privacy, ProviderConfig, usual_context
from anycowork.providers.discovery import from_environment
from anycowork.providers.registry import LOCAL, ProviderRegistry, require_free_name
from anycowork.sandbox.toolchains import Toolchains
from anycowork.server.setup.sandbox_setup import SandboxSetup, visible_tools
from anycowork.telemetry.server_log import set_log_level
from anycowork.tools.plugins.manager import PluginManager
from anycowork.workspace.paths import shown

_ON_THIS_MACHINE = (LOCAL, GUIDE)


class LiveSettings:
    """The settings in force. A change is stored, and applies at once: to the next turn, command, request to a model or HTTP request."""

    def __init__(
        self, settings: Settings, providers: ProviderRegistry, contained: SandboxSetup, plugins: PluginManager
    ) -> None:
        self._settings = settings
        self._providers = providers
        self._contained = contained
        self._plugins = plugins
        self._passed_on: dict[str, list[Callable[[], None]]] = {}

    def pass_on(self, name: str, apply: Callable[[], None]) -> None:
        """Calls `apply` after each change of this setting: for what cannot read it each time that it is used."""
        self._passed_on.setdefault(name, []).append(apply)

    async def shown(self) -> Json:
        """Returns the settings, and what was detected: the sandbox of this machine, and the installed plugins."""
        plugin_reports: list[JsonValue] = [*await asyncio.to_thread(self._plugins.report)]
        return {**self._settings.public_dump(), "sandbox": self._contained.as_json(), "plugins_found": plugin_reports}

    def cost(self, used: ModelUsage) -> float | None:
        """Returns US dollars; None if the price is not known."""
        price = price_of(self._settings.providers, used.model) or self._listed_price(used.model)
        if price is None:
            return None
        return cost_of(price, prompt=used.prompt, completion=used.completion, cached=used.cached)

    def cost_of_day(self, used: ModelUsage) -> float | None:
        """As `cost`, for limits of people; what runs on this machine costs nothing."""
        return 0.0 if used.model.partition("/")[0] in _ON_THIS_MACHINE else self.cost(used)

    def _listed_price(self, model: str) -> PriceEntry | None:
        provider, _, name = model.partition("/")
        return entry_of(self._providers.facts(provider, name).price)

    def providers(self) -> tuple[ProviderEntry, ...]:
        """Returns the providers that a person configured."""
        return self._settings.providers

    def agents(self) -> tuple[AgentSpec, ...]:
        """Returns the agents that the settings name."""
        return tuple(
            AgentSpec(
                name,
                entry.role,
                f"{AGENT_PROVIDER}/{name}" if entry.command else entry.model,
                entry.prompt,
                entry.limits.steps,
                entry.limits.seconds,
                entry.limits.tokens,
                entry.limits.cost,
                entry.description,
            )
            for name, entry in self._settings.agents.items()
        )

    def delegates(self) -> tuple[DelegateConfig, ...]:
        """Returns the agents that are programs of other vendors."""
        return delegates_of(self._settings.agents)

    def search_engine(self) -> SearchEngineEntry | None:
        return self._settings.search_engine

    def notifications(self) -> NotificationEntry:
        return self._settings.notifications or NotificationEntry()

    def own_address(self) -> str:
        """Returns the address that the server listens at; empty if it takes any free port."""
        now = self._settings
        return f"http://{now.host}:{now.port}" if now.port else ""

    def command_timeout(self) -> float:
        return self._settings.command_timeout

    def diagnostics_seconds(self) -> float:
        return self._settings.diagnostics_seconds

    def provider_timeout(self) -> float:
        return self._settings.provider_timeout

    def allowed_hosts(self) -> tuple[str, ...]:
        return self._settings.allowed_hosts

    def new_visibility(self) -> str | None:
        """Returns who sees what people start; None if nobody said."""
        return self._settings.new_visibility

    def probe_local_servers(self) -> bool:
        return self._settings.probe_local_servers

    def parallel_tasks(self) -> int:
        return self._settings.parallel_tasks

    def limits(self, autonomy: Autonomy) -> Limits:
        """How far a turn goes before a person continues it. Where nobody has to be asked, it goes further."""
        now = self._settings
        if autonomy is Autonomy.ASK:
            return Limits(steps=now.max_steps, seconds=now.turn_seconds, faults=now.max_faults)
        return Limits(steps=now.autonomy_max_steps, seconds=now.autonomy_turn_seconds, faults=now.max_faults)

    def ask_when(self) -> AskWhen:
        return AskWhen(self._settings.ask)

    def permission_settings(self) -> Json:
        """Returns the settings that decide what agents may do, besides roles, agents and rules."""
        now = self._settings
        return {"ask": now.ask, "plugins": [*sorted(now.plugins)], "sandbox_paths": [*sorted(now.sandbox_paths)]}

    async def change(self, changes: Mapping[str, JsonValue]) -> Json:
        """Validates, stores and applies changes. Raises: BadSettings, Invalid, StorageFault."""
        changed = self._settings.changed(changes)
        tools = await asyncio.to_thread(self._tools_of, changed) if "sandbox_paths" in changes else None
        new_configs, old_configs = provider_configs(changed), provider_configs(self._settings)
        for config in new_configs:
            require_free_name(config.name)  # before it is stored: the next start would refuse it
        save_settings(changed.data_dir, changes)
        for removed in {config.name for config in old_configs} - {config.name for config in new_configs}:
            self._providers.drop(removed)
        for config in new_configs:
            if self._providers.get(config.name) != config:
                self._providers.put(config)
        self._providers.choose(changed.model)
        self._settings = changed
        if tools is not None and self._contained.sandbox is not None:
            self._contained.sandbox.toolchains = tools
        if "log_level" in changes:
            set_log_level(changed.log_format, changed.log_level)
        if "plugins" in changes:
            await self._plugins.enable(changed.plugins)
        for apply in [receiver for name in changes for receiver in self._passed_on.get(name, ())]:
            apply()
        return await self.shown()

    @staticmethod
    def _tools_of(settings: Settings) -> Toolchains:
        """Raises: BadSettings for a folder that commands may not see."""
        toolchains = visible_tools(settings.data_dir, settings.sandbox_paths, os.environ)
        for folder in toolchains.refused:
            if folder.named:
                raise BadSettings(
                    f"Commands may not see '{shown(folder.path)}': {folder.why}. Name a folder inside it, or another.",
                    param="sandbox_paths",
                )
        return toolchains


def provider_configs(settings: Settings) -> list[ProviderConfig]:
    """Returns the providers from the settings, and those from the environment."""
    configured = [provider_config(entry) for entry in settings.providers]
    names = {config.name for config in configured}
    return [*configured, *(detected for detected in from_environment(os.environ) if detected.name not in names)]


def provider_config(entry: ProviderEntry) -> ProviderConfig:
    return ProviderConfig(
        name=entry.name,
        kind=entry.kind,
        base_url=entry.base_url,
        api_key_env=entry.api_key_env,
        models=entry.models,
        context_tokens=entry.context_tokens or usual_context(entry.kind),
        context_assumed=entry.context_tokens is None,
        options=replace(SMALL_MODEL if entry.brief else ModelOptions(), calling=ToolCallStyle(entry.calling)),
        small_by_name=entry.brief is None,
        images=entry.images,
        ca_file=None if entry.ca_file is None else str(entry.ca_file.expanduser()),
        prices={model: _price(settings_entry) for model, settings_entry in entry.prices.items()},
        model_settings={
            model: _model_settings(settings_entry) for model, settings_entry in entry.model_settings.items()
        },
        privacy_set=Privacy(entry.privacy) if entry.privacy else None,
    )


def _model_settings(entry: ModelEntry) -> ModelSettings:
    return ModelSettings(
        images=entry.images,
        calling=ToolCallStyle(entry.calling) if entry.calling else None,
        context_tokens=entry.context_tokens,
        price=_price(entry.price) if entry.price else None,
        fallbacks=entry.fallbacks,
    )


def _price(entry: PriceEntry) -> Price:
    return Price(entry.input, entry.output, entry.cached)
