"""Reads a server's list of models, and picks one when nobody has chosen. Pure."""

import json
from collections.abc import Sequence

from anycowork.domain.messages import Json

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


def read_models(body: bytes) -> list[str]:
    """Returns the ids in a response of `/models`, in its order; empty for anything else."""
    return [str(entry["id"]) for entry in read_entries(body)]


def read_entries(body: bytes) -> list[Json]:
    """Returns the entries with an id in a response of `/models`, with all their fields; empty for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return []
    data = found.get("data") if isinstance(found, dict) else None
    entries = data if isinstance(data, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]]


def chat_model(models: Sequence[str]) -> str | None:
    """Picks the model to use when none was named: a known small one, else the first that looks like a chat model."""
    for preferred in _PREFERRED:
        if preferred in models:
            return preferred
    chatty = [model for model in models if not any(word in model.lower() for word in _NOT_FOR_CHAT)]
    return next(iter(chatty or models), None)
