"""What a headless run has cost so far, by the prices in config.toml. Pure; a cost that cannot be known counts as too much."""

from dataclasses import dataclass

from anycowork.domain.messages import Json
from anycowork.settings import Price, ProviderEntry

FREE_PROVIDERS = frozenset({"guide", "local"})
_MILLION = 1_000_000


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
        price = self._price(model)
        if price is None:
            return (
                f"The price of {model} is not known, so --max-cost cannot be kept. "
                "Add it under its provider in config.toml: prices = { model = { input = …, output = … } } ($ per million tokens)."
            )
        self.spent += _cost(usage, price)
        if self.spent > self.limit:
            return f"The run has cost ${self.spent:.4f}, more than --max-cost {self.limit:g}."
        return None

    def _price(self, model: str) -> Price | None:
        provider, _, name = model.partition("/")
        if provider in FREE_PROVIDERS:
            return Price(input=0, output=0)
        return next(
            (entry.prices[name] for entry in self.providers if entry.name == provider and name in entry.prices), None
        )


def _cost(usage: Json, price: Price) -> float:
    cached = min(_count(usage, "cached"), _count(usage, "prompt"))
    fresh = _count(usage, "prompt") - cached
    kept = price.input if price.cached is None else price.cached
    return (fresh * price.input + cached * kept + _count(usage, "completion") * price.output) / _MILLION


def _count(usage: Json, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0
