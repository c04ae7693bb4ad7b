"""Computes the cost of tokens from their prices. Pure; an unknown price is None, never a guess."""

from collections.abc import Iterable

from anycowork.config.settings import PriceEntry, ProviderEntry
from anycowork.domain import metering

FREE_PROVIDERS = frozenset({"guide", "local", "agent"})


def price_of(providers: Iterable[ProviderEntry], model: str) -> PriceEntry | None:
    """`model` includes its provider in front, as usage is recorded."""
    provider, _, name = model.partition("/")
    if provider in FREE_PROVIDERS:
        return PriceEntry(input=0, output=0)
    for entry in providers:
        if entry.name == provider:
            settings = entry.model_settings.get(name)
            return settings.price if settings and settings.price else entry.prices.get(name)
    return None


def entry_of(price: metering.Price | None) -> PriceEntry | None:
    return None if price is None else PriceEntry(input=price.input, output=price.output, cached=price.cached)


def cost_of(price: PriceEntry, *, prompt: int, completion: int, cached: int) -> float:
    """Returns US dollars. `cached` is the part of the prompt that the provider had cached."""
    used = metering.TokenUsage(prompt, completion, cached)
    return metering.Price(price.input, price.output, price.cached).of(used) / metering.NANOS
