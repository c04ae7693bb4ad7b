"""Computes what the run of an approved plan has spent of its budget, and which calls a spent budget blocks. Pure."""

from collections.abc import Callable, Iterable, Sequence

from anycowork.domain.messages import Json
from anycowork.domain.metering import ModelUsage
from anycowork.domain.plan import Budget
from anycowork.domain.tools import Call, ToolSpec
from anycowork.domain.values import replace, value

CostOf = Callable[[ModelUsage], float | None]


@value
class BudgetUse:
    """What one run has used so far. `cost` is None if a model has no known price."""

    calls: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: float | None = 0.0

    def to_json(self) -> Json:
        return {"calls": self.calls, "seconds": round(self.seconds, 3), "tokens": self.tokens, "cost": self.cost}


@value
class BudgetSpent:
    """The budget is spent, and why. `calls_only`: only the number of calls is spent, so calls that do not count still pass."""

    reason: str
    calls_only: bool

    def holds_back(self, call: Call, spec: ToolSpec) -> bool:
        """Whether the call is blocked. Reading spends time, tokens and money too, but reading and plan checks do not count as calls."""
        return not (self.calls_only and (spec.read_only or call.provenance.check))


def spent_by(calls: Iterable[Call], *, seconds: float, used: Sequence[ModelUsage], cost_of: CostOf) -> BudgetUse:
    """Sums up the recorded use. A reservation of a request that never reported its use counts as used."""
    reported = [replace(usage, prompt=usage.prompt + usage.reserved, reserved=0) for usage in used]
    costs = [cost_of(usage) for usage in reported]
    known_costs = [cost for cost in costs if cost is not None]
    return BudgetUse(
        calls=sum(map(_counts, calls)),
        seconds=seconds,
        tokens=sum(usage.prompt + usage.completion for usage in reported),
        cost=sum(known_costs) if len(known_costs) == len(costs) else None,
    )


def overdrawn(budget: Budget, spent: BudgetUse) -> BudgetSpent | None:
    """Returns None while something is left of every limit of the budget. An unknown cost exceeds any cost limit."""
    spent_limits: list[str] = []
    if budget.seconds is not None and spent.seconds >= budget.seconds:
        spent_limits.append(f"{spent.seconds:,.0f} of {budget.seconds:,.12g} seconds")
    if budget.tokens is not None and spent.tokens >= budget.tokens:
        spent_limits.append(f"{spent.tokens:,} of {budget.tokens:,} tokens")
    if budget.cost is not None and spent.cost is None:
        spent_limits.append(f"{budget.cost:,.12g} dollars are allowed, and the model's price is not known")
    elif budget.cost is not None and spent.cost is not None and spent.cost >= budget.cost:
        spent_limits.append(f"{spent.cost:,.2f} of {budget.cost:,.12g} dollars")
    calls_only = not spent_limits
    if budget.calls is not None and spent.calls >= budget.calls:
        spent_limits.append(f"{spent.calls:,} of {budget.calls:,} calls")
    return (
        BudgetSpent(f"The budget of the approved plan is spent ({', '.join(spent_limits)}).", calls_only)
        if spent_limits
        else None
    )


def _counts(call: Call) -> bool:
    """Whether the call counts: a plan step names it and its intent is recorded."""
    return call.plan_step is not None and call.intent is not None and not call.provenance.check
