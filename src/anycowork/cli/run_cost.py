"""Adds up the cost of a headless run by the prices in config.toml. Pure; an unknown price counts as the highest one known."""

from dataclasses import dataclass

from anycowork.config.prices import cost_of, price_of
from anycowork.config.settings import PriceEntry, ProviderEntry
from anycowork.domain.messages import Json

# An upper bound, not a guess: no list price of a provider known when this was written is higher.
DEAREST = PriceEntry(input=150, output=600)


@dataclass(slots=True)
class RunCost:
    """`limit` in US dollars; None means no limit."""

    limit: float | None
    providers: tuple[ProviderEntry, ...]
    spent: float = 0.0

    def add(self, event: Json) -> str | None:
        """Counts one `usage` event; returns why the run must end, or None."""
        usage = event.get("usage")
        if self.limit is None or event.get("type") != "usage" or not isinstance(usage, dict):
            return None
        model = str(usage.get("model"))
        price = price_of(self.providers, model)
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


def _count(usage: Json, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0
