"""What a headless run has cost so far, by the prices in config.toml. Pure; a cost that cannot be known counts as too much."""

from dataclasses import dataclass

from anycowork.domain.messages import Json
from anycowork.prices import cost, price_of
from anycowork.settings import ProviderEntry


@dataclass(slots=True)
class Spending:
    """`limit` in US dollars; None means that nobody counts."""

    limit: float | None
    providers: tuple[ProviderEntry, ...]
    spent: float = 0.0

    def take(self, event: Json) -> str | None:
        """Counts one `usage` event; why the run must end, or None."""
        usage = event.get("usage")
        if self.limit is None or event.get("type") != "usage" or not isinstance(usage, dict):
            return None
        model = str(usage.get("model"))
        price = price_of(self.providers, model)
        if price is None:
            return (
                f"The price of {model} is not known, so --max-cost cannot be kept. "
                "Add it under its provider in config.toml: prices = { model = { input = …, output = … } } ($ per million tokens)."
            )
        self.spent += cost(
            price,
            prompt=_count(usage, "prompt"),
            completion=_count(usage, "completion"),
            cached=_count(usage, "cached"),
        )
        if self.spent > self.limit:
            return f"The run has cost ${self.spent:.4f}, more than --max-cost {self.limit:g}."
        return None


def _count(usage: Json, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0
