"""Reads a server's list of models, and picks one when nobody has chosen. Pure."""

from collections.abc import Sequence

from pydantic import JsonValue

from anycowork.domain.bounded_json import read_json
from anycowork.domain.messages import Json
from anycowork.domain.model import ModelFacts

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
    architecture, able = _mapping(entry.get("architecture")), entry.get("capabilities")
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
    answers = [_mapping(able).get(name) for name in names]
    return next((answer for answer in answers if isinstance(answer, bool)), None)


def _said(name: str, listed: list[JsonValue]) -> bool:
    return name in listed


def _mapping(value: JsonValue) -> Json:
    return value if isinstance(value, dict) else {}


def chat_model(models: Sequence[str]) -> str | None:
    """Picks the model to use when none was named: a known small one, else the first that looks like a chat model."""
    for preferred in _PREFERRED:
        if preferred in models:
            return preferred
    chatty = [model for model in models if not any(word in model.lower() for word in _NOT_FOR_CHAT)]
    return next(iter(chatty or models), None)
