"""An approved plan's budget: what its run has spent of it, and what a spent one holds back. Pure."""

from collections.abc import Callable, Iterable, Sequence

from anycowork.domain.messages import Json
from anycowork.domain.plan import Budget
from anycowork.domain.tools import Call, ToolSpec
from anycowork.domain.usage import ModelUsage
from anycowork.domain.values import replace, value

CostOf = Callable[[ModelUsage], float | None]


@value
class Spent:
    """What one run has used so far. Without a `cost_of` nobody knows what it was: a model has no price."""

    calls: int = 0
    seconds: float = 0.0
    tokens: int = 0
    cost: float | None = 0.0

    def to_json(self) -> Json:
        return {"calls": self.calls, "seconds": round(self.seconds, 3), "tokens": self.tokens, "cost": self.cost}


@value
class Overdrawn:
    """The budget is spent, and why. `calls_only`: only the number of calls is, so what costs none still passes."""

    why: str
    calls_only: bool

    def holds_back(self, call: Call, spec: ToolSpec) -> bool:
        """Time, tokens and money are spent by reading too; the house's own checks and reading count as no calls."""
        return not (self.calls_only and (spec.read_only or call.provenance.check))


def spent_by(calls: Iterable[Call], *, seconds: float, used: Sequence[ModelUsage], cost_of: CostOf) -> Spent:
    """From what is recorded. What was set aside for a request that never told what it used counts as used."""
    told = [replace(each, prompt=each.prompt + each.reserved, reserved=0) for each in used]
    costs = [cost_of(each) for each in told]
    known = [cost for cost in costs if cost is not None]
    return Spent(
        calls=sum(map(_counts, calls)),
        seconds=seconds,
        tokens=sum(each.prompt + each.completion for each in told),
        cost=sum(known) if len(known) == len(costs) else None,
    )


def overdrawn(budget: Budget, spent: Spent) -> Overdrawn | None:
    """None as long as something is left of everything that the budget names. A cost that nobody knows is within no budget."""
    over: list[str] = []
    if budget.seconds is not None and spent.seconds >= budget.seconds:
        over.append(f"{spent.seconds:.0f} of {budget.seconds:g} seconds")
    if budget.tokens is not None and spent.tokens >= budget.tokens:
        over.append(f"{spent.tokens} of {budget.tokens} tokens")
    if budget.cost is not None and spent.cost is None:
        over.append(f"{budget.cost:g} dollars are allowed, and the model's price is not known")
    elif budget.cost is not None and spent.cost is not None and spent.cost >= budget.cost:
        over.append(f"{spent.cost:.2f} of {budget.cost:g} dollars")
    calls_only = not over
    if budget.calls is not None and spent.calls >= budget.calls:
        over.append(f"{spent.calls} of {budget.calls} calls")
    return Overdrawn(f"The budget of the approved plan is spent ({', '.join(over)}).", calls_only) if over else None


def _counts(call: Call) -> bool:
    """A call that a step of the plan names, once it was written down to be made."""
    return call.plan_step is not None and call.intent is not None and not call.provenance.check
