"""Reads a server's list of models, picks one when nobody has chosen, and finds the provider that a model's id names. Pure."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from anycowork.domain.bounded_json import read_json
from anycowork.domain.messages import Json, json_object
from anycowork.domain.model import ModelFacts
from anycowork.domain.provider_errors import NoSuchModel
from anycowork.providers.config import ProviderConfig

AUTO = "auto"  # a model name that means: the one that `chat_model` picks
UNLISTED = "gpt-4o-mini"  # the model name for a server without a list: the name that most of them know
# Nobody chose these, so they must be cheap enough not to surprise; later entries are for accounts without the earlier ones.
_PREFERRED = ("gpt-5-mini", "gpt-5", "gpt-4.1-mini", "gpt-4.1", "gpt-4o-mini", "gpt-4o")
_NOT_FOR_CHAT = (
    "embed",
    "whisper",
    "tts",
    "dall-e",
    "moderation",
    "audio",
    "realtime",
    "image",
    "transcribe",
    "davinci",
    "babbage",
    "sora",
    "rerank",
)
LOCAL_NAMES = {"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "llama.cpp"}
Configs = Mapping[str, ProviderConfig]


def read_entries(body: bytes) -> list[Json]:
    """Returns the entries with an id in a response of `/models`, with all their fields; empty for anything else."""
    try:
        document = read_json(body, strict=False)
    except ValueError:
        return []
    data = document.get("data") if isinstance(document, dict) else None
    entries = data if isinstance(data, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]]


def listed_facts(entry: Json) -> ModelFacts:
    """Returns what a server says of a model in its list: several servers have fields of their own for it."""
    architecture, able = json_object(entry.get("architecture")), entry.get("capabilities")
    inputs = architecture.get("input_modalities") or entry.get("input_modalities")
    sizes = (entry.get(name) for name in ("context_length", "max_model_len", "context_window", "max_context_length"))
    size = next((candidate for candidate in sizes if isinstance(candidate, int) and candidate > 0), None)
    parameters = entry.get("supported_parameters")
    return ModelFacts(
        context_tokens=size,
        images=_said("image", inputs) if isinstance(inputs, list) else _said_able(("vision", "multimodal"), able),
        native_calls=_said("tools", parameters)
        if isinstance(parameters, list)
        else _said_able(("function_calling", "tools", "tool_use"), able),
    )


def _said_able(names: Sequence[str], able: JsonValue) -> bool | None:
    """`able` is a list of words or a table of yes and no. A list that lacks the word may be older than it."""
    if isinstance(able, list):
        return True if any(name in able for name in names) else None
    answers = [json_object(able).get(name) for name in names]
    return next((answer for answer in answers if isinstance(answer, bool)), None)


def _said(name: str, listed: list[JsonValue]) -> bool:
    return name in listed


def chat_model(models: Sequence[str]) -> str | None:
    """Picks the model to use when none was named: a known small one, else the first that looks like a chat model."""
    for preferred in _PREFERRED:
        if preferred in models:
            return preferred
    chatty = [model for model in models if not any(word in model.lower() for word in _NOT_FOR_CHAT)]
    return next(iter(chatty or models), None)


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
