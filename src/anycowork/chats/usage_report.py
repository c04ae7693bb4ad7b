"""The report of what models were used for and cost: by chat, job, role, model or day. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from anycowork.domain.messages import Json
from anycowork.domain.usage import GroupedUsage, ModelUsage, UsageGroup
from anycowork.permissions.budgets import CostOf


@dataclass(slots=True)
class UsageSum:
    requests: int = 0
    reserved: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False
    cost: float | None = None
    unpriced_requests: int = 0

    def add(self, used: ModelUsage, cost: float | None) -> None:
        for name in ("requests", "reserved", "prompt", "completion", "cached", "reasoning"):
            setattr(self, name, getattr(self, name) + getattr(used, name))
        self.estimated = self.estimated or used.estimated
        if cost is None:
            self.unpriced_requests += used.requests
        else:
            self.cost = (self.cost or 0.0) + cost

    def to_json(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__}


def usage_report(by: UsageGroup, rows: Iterable[GroupedUsage], *, limit: int, cost_of: CostOf) -> Json:
    """Returns the groups with the most tokens, or the newest days, and the total of all. A price that nobody knows is no cost of 0:
    `cost` is null if none is known, and `unpriced_requests` counts what it leaves out."""
    groups: dict[str, UsageSum] = {}
    total = UsageSum()
    for row in rows:
        cost = cost_of(row.used)
        groups.setdefault(row.key, UsageSum()).add(row.used, cost)
        total.add(row.used, cost)
    if by is UsageGroup.DAY:
        ordered = sorted(groups.items(), reverse=True)
    else:
        ordered = sorted(groups.items(), key=lambda group: (-group[1].prompt - group[1].completion, group[0]))
    listed_rows: list[Json] = [{"key": key, **summed.to_json()} for key, summed in ordered[:limit]]
    return {"by": by.value, "rows": [*listed_rows], "groups": len(ordered), "total": total.to_json()}
