"""Whether a provider can be used, and what a person should do next if not. Pure."""

from enum import StrEnum
from typing import assert_never

from anycowork.domain.model import LEAST_NATIVE_CONTEXT, ToolCallStyle
from anycowork.domain.provider_errors import ProviderFault, Untrusted
from anycowork.providers.config import ANTHROPIC_URL, OPENAI_URL, ProviderConfig


class Readiness(StrEnum):
    READY = "ready"
    NOT_TESTED = "not tested"
    NO_KEY = "no key"
    KEY_REFUSED = "key refused"
    UNREACHABLE = "unreachable"


def too_small_for_offers(config: ProviderConfig) -> bool:
    return config.options.calling is ToolCallStyle.NATIVE and config.context_tokens < LEAST_NATIVE_CONTEXT


def address_of(config: ProviderConfig) -> str | None:
    usual = {"openai": OPENAI_URL, "anthropic": ANTHROPIC_URL, "local": None, "guide": None, "agent": None}
    return config.base_url or usual[config.kind]


def hint_for(config: ProviderConfig, status: Readiness, fault: ProviderFault | None) -> str:
    if config.kind == "guide":
        return (
            "Built in, no language model: it follows plain requests. To connect a model, paste a key in the settings or with "
            "`anycowork model connect`, or start Ollama, LM Studio or llama.cpp, or fetch the local model with "
            "`anycowork model pull`."
        )
    if config.kind == "agent":
        return "Agents of other vendors, on a private copy in the sandbox. Choose one as agent/<name>."
    if config.kind == "local":
        return "Runs on this machine; no data is sent elsewhere. Small and slow: for short tasks."
    if detail := detail_of(config, status, fault):
        return detail
    match status:
        case Readiness.NO_KEY:
            return f"Paste its key here, or set the environment variable {config.api_key_env} and restart."
        case Readiness.KEY_REFUSED:
            return f"It refused the key. Paste the right one{f', or check {config.api_key_env}' if config.api_key_env else ''}."
        case Readiness.UNREACHABLE:
            return f"Nothing answers at {address_of(config)}. Start it, or correct its base_url."
        case Readiness.NOT_TESTED:
            return f"Not used since the server started. Test it, or choose one of its models as {config.name}/<model>."
        case Readiness.READY:
            return f"Choose one of its models as {config.name}/<model>."
        case _:
            assert_never(status)


def detail_of(config: ProviderConfig, status: Readiness, fault: ProviderFault | None) -> str | None:
    """Returns what the status does not tell: why a server is not trusted, or that its context is too small for native calls."""
    if status is Readiness.UNREACHABLE and isinstance(fault, Untrusted):
        return fault.message
    if status is Readiness.READY and too_small_for_offers(config):
        return (
            f"Its tools are described as text: native calling needs a context of {LEAST_NATIVE_CONTEXT:,} tokens, and this one "
            f"has {config.context_tokens:,}. Raise context_tokens if its model holds more."
        )
    return None
