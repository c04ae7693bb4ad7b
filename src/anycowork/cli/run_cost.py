"""Adds up the cost of a headless run by the known prices. Pure; an unknown price counts as the highest one known."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from anycowork.config.known_models import KnownModels
from anycowork.config.prices import cost_of, entry_of, price_of
from anycowork.config.settings import PriceEntry, ProviderEntry
from anycowork.domain.messages import Json

# An upper bound, not a guess: no list price of a provider known when this was written is higher.
DEAREST = PriceEntry(input=150, output=600)
_USUAL_ADDRESSES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}


@dataclass(slots=True)
class RunCost:
    """`limit` in US dollars; None means no limit."""

    limit: float | None
    providers: tuple[ProviderEntry, ...]
    listed: Callable[[str], PriceEntry | None] = lambda model: None  # what the server knows of a model
    spent: float = 0.0

    def add(self, event: Json) -> str | None:
        """Counts one `usage` event; returns why the run must end, or None."""
        usage = event.get("usage")
        if self.limit is None or event.get("type") != "usage" or not isinstance(usage, dict):
            return None
        model = str(usage.get("model"))
        price = price_of(self.providers, model) or self.listed(model)
        self.spent += cost_of(
            price or DEAREST,
            prompt=_count(usage, "prompt"),
            completion=_count(usage, "completion"),
            cached=_count(usage, "cached"),
        )
        if self.spent <= self.limit:
            return None
        if price is not None:
            return f"The run has cost ${self.spent:.4f}, more than --max-cost {self.limit:g}."
        return (
            f"The run may have cost ${self.spent:.4f}, more than --max-cost {self.limit:g}: the price of {model} is not known and was "
            f"counted as the dearest, ${DEAREST.input:g} and ${DEAREST.output:g} per million tokens. "
            "Add it under its provider in config.toml: prices = { model = { input = …, output = … } }."
        )


def listed_prices(
    known_models: KnownModels, providers: Iterable[ProviderEntry], environment: Mapping[str, str]
) -> Callable[[str], PriceEntry | None]:
    """Return the function that finds a model's price in the list of well-known models, by its provider's address."""
    entries = {entry.name: entry for entry in providers}

    def price(model: str) -> PriceEntry | None:
        provider, _, name = model.partition("/")
        entry = entries.get(provider)
        base_url = entry.base_url if entry else environment.get(f"{provider.upper()}_BASE_URL")
        address = base_url or _USUAL_ADDRESSES.get(entry.kind if entry else provider)
        return entry_of(known_models.facts(address, name).price)

    return price


def _count(usage: Json, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0
