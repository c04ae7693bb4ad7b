"""Finds the provider that a model's id names. Pure.

An id names its provider in front, as in `acme/small`. What was meant for one provider never goes to another one: not even if that one is
gone, and another lists a model of the same name.
"""

from collections.abc import Mapping

from anycowork.domain.provider_errors import NoSuchModel
from anycowork.providers.config import ProviderConfig
from anycowork.providers.model_list import AUTO

LOCAL_NAMES = {"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "llama.cpp"}

Configs = Mapping[str, ProviderConfig]


def resolve(configs: Configs, model_id: str, *, default: str | None) -> tuple[ProviderConfig, str]:
    """Returns the provider in front of the id, and its own name for the model. A name without a provider, as settings and older chats have
    it, is that of who lists it, or of the default. Raises: NoSuchModel."""
    name, slash, model = model_id.partition("/")
    config = configs.get(name)
    if config is not None and not model:
        return with_its_own_default(config)
    if config is None and not slash and name not in LOCAL_NAMES and (full_id := _of_anyone(configs, name, default)):
        return resolve(configs, full_id, default=default)
    if config is None or (config.kind in ("guide", "agent") and model not in config.models):
        raise NoSuchModel(_no_such(configs, model_id))
    return config, model


def resolve_default(configs: Configs, default: str | None) -> tuple[ProviderConfig, str]:
    """Returns who answers where no model is named: the default, without one the first provider. Raises: NoSuchModel."""
    first = next(config for config in configs.values() if config.kind != "agent")
    if default is None:
        return with_its_own_default(first)
    if not _names_provider(default) and default not in configs:
        default = _of_listing(configs, default) or _of_server(first, default) or default
    return resolve(configs, default, default=first.name)


def id_of(configs: Configs, name: str, *, default: str | None) -> str:
    """Returns the id of the model that a person names now: they may leave out its provider, if one lists it or is the default, or the model,
    for the provider's own default. Raises: NoSuchModel."""
    model_id = name if name.partition("/")[0] in configs else _of_listing(configs, name) or name
    if not _names_provider(model_id) and model_id not in configs:
        model_id = _of_server(resolve_default(configs, default)[0], model_id) or model_id
    config, model = resolve(configs, model_id, default=default)
    return f"{config.name}/{model}"


def with_its_own_default(config: ProviderConfig) -> tuple[ProviderConfig, str]:
    return config, config.models[0] if config.models else AUTO


def _names_provider(name: str) -> bool:
    """Whether what stands in front can be a provider; that of `Qwen/Qwen3-8B` cannot, and is part of the model's name."""
    provider, slash, _ = name.partition("/")
    return bool(slash) and provider == provider.lower()


def _of_anyone(configs: Configs, name: str, default: str | None) -> str | None:
    return _of_listing(configs, name) or _of_server(resolve_default(configs, default)[0], name)


def _of_listing(configs: Configs, name: str) -> str | None:
    return next((f"{config.name}/{name}" for config in configs.values() if name in config.models), None)


def _of_server(config: ProviderConfig, name: str) -> str | None:
    return None if config.kind in ("guide", "agent") else f"{config.name}/{name}"


def _no_such(configs: Configs, model_id: str) -> str:
    name = model_id.partition("/")[0]
    choices = ", ".join(
        f"{config.name}/{model}" for config in configs.values() for model in config.models or ("<model>",)
    )
    if name in configs:
        return f"There is no model '{model_id}'. Choose one of: {choices}."
    if name in LOCAL_NAMES:
        return (
            f"There is no model '{model_id}': {LOCAL_NAMES[name]} is not running here. Start it, or choose: {choices}."
        )
    return (
        f"There is no model '{model_id}': no model server '{name}' is connected, and no other one was asked. "
        f"Choose one of: {choices}."
    )
