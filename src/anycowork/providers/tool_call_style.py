"""How a model calls tools where nobody said so: what is known of its server, else what one short request shows."""

import asyncio
from contextlib import aclosing

from anycowork.domain.errors import RunawayReply
from anycowork.domain.model import (
    UNKNOWN_MODEL,
    CallChunk,
    ModelRequest,
    PromptMessage,
    ReplyFinished,
    RetryChunk,
    TextChunk,
    ToolCallStyle,
    ToolDefinition,
)
from anycowork.domain.provider_errors import ProviderFault, RejectedRequest
from anycowork.providers.config import ProviderConfig, is_small
from anycowork.providers.openai.provider import OpenAIProvider
from anycowork.providers.presets import calls_natively

TRIAL_SECONDS = 60.0
TRIAL_TOOL = ToolDefinition(
    "confirm_ready",
    "Confirms that you are ready.",
    {"type": "object", "properties": {"ready": {"type": "boolean"}}, "required": ["ready"]},
)
_TRIAL = (PromptMessage("user", "Call the tool confirm_ready with ready set to true. Say nothing else."),)
_LONGEST_REFUSAL = 2_000  # characters of text after which no call is expected any more
_REFUSING_STATUS = (500, 501)  # llama.cpp refuses tools with 500


def server_calling(config: ProviderConfig) -> ToolCallStyle | None:
    """Returns how the models of this provider call tools; None if nobody set it and its server is not known."""
    if config.calling is not None:
        return config.calling
    if config.kind not in ("openai", "anthropic") or config.options.brief:
        return config.options.calling
    native = config.kind == "anthropic" or calls_natively(config.kind, config.base_url)
    return ToolCallStyle.NATIVE if native else None


def model_calling(config: ProviderConfig, model: str, client: OpenAIProvider | None) -> ToolCallStyle | None:
    """Returns how this model calls tools; None if that is to be tried. What a person set comes before what its server showed and said."""
    settings = config.model_settings.get(model)
    if settings is not None and settings.calling is not None:
        return settings.calling
    if config.calling is None and is_small_by_name(config, model):
        return ToolCallStyle.SCHEMA
    calling = server_calling(config)
    if calling is not None or client is None:
        return calling
    native = client.native_calls.get(model, client.listed.get(model, UNKNOWN_MODEL).native_calls)
    if native is None:
        return None
    return ToolCallStyle.NATIVE if native else ToolCallStyle.TEXT


def is_small_by_name(config: ProviderConfig, model: str) -> bool:
    """Tells whether the model gets the options of a small one because of its name."""
    return config.small_by_name and config.calling in (None, ToolCallStyle.TEXT) and is_small(model)


async def try_native_calls(client: OpenAIProvider, config: ProviderConfig, model: str) -> None:
    """Tries it once, unless it is known; the client remembers what came of it."""
    async with client.trial:
        if model_calling(config, model, client) is None and (native := await _calls_tools(client, model)) is not None:
            client.native_calls[model] = native


async def _calls_tools(client: OpenAIProvider, model: str) -> bool | None:
    """Asks the model to call a tool of no effect. Returns whether it did; None if its server could not answer now."""
    request = ModelRequest(model=model, messages=_TRIAL, purpose="trial", offers=(TRIAL_TOOL,))
    try:
        async with asyncio.timeout(TRIAL_SECONDS), aclosing(client.answer(request)) as chunks:
            length = 0
            async for chunk in chunks:
                match chunk:
                    case CallChunk():
                        return True
                    case RetryChunk():
                        return False if chunk.status in _REFUSING_STATUS else None
                    case TextChunk() if (length := length + len(chunk.text)) > _LONGEST_REFUSAL:
                        return False
                    case ReplyFinished():
                        return False
                    case _:
                        pass
    except (RejectedRequest, RunawayReply, TimeoutError):
        return False
    except ProviderFault:
        return None  # the request itself fails in the same way, and says so
    return False
