"""What a server offers: its list of models, and which of them to talk to when no one has chosen. Pure."""

import json
from collections.abc import Sequence

from anycowork.domain.messages import Json

AUTO = "auto"  # a model's name that means: whichever `chat_model` picks
UNLISTED = "gpt-4o-mini"  # what a server without a list is asked for: the name that most of them know

# Asked for by no one, these must be cheap enough not to surprise; later entries are for accounts without the earlier ones.
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
    """The ids in an answer of `/models`, in its order; empty for anything else."""
    return [str(entry["id"]) for entry in read_entries(body)]


def read_entries(body: bytes) -> list[Json]:
    """The entries with an id in an answer of `/models`, all their fields kept; empty for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return []
    data = found.get("data") if isinstance(found, dict) else None
    entries = data if isinstance(data, list) else []
    return [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]]


def chat_model(models: Sequence[str]) -> str | None:
    """The one to use when none was named: a known small one, else the first that does not look like something else."""
    for preferred in _PREFERRED:
        if preferred in models:
            return preferred
    chatty = [model for model in models if not any(word in model.lower() for word in _NOT_FOR_CHAT)]
    return next(iter(chatty or models), None)
