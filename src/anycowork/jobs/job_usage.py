"""What a job and its tasks have used, as clients see it. Pure."""

from collections.abc import Iterable

from anycowork.domain.messages import Json
from anycowork.domain.usage import TurnUsage
from anycowork.permissions.budgets import BudgetUse, CostOf, spent_by


def spent_by_turns(*turns: TurnUsage, cost_of: CostOf) -> BudgetUse:
    models = [model for turn in turns for model in turn.models]
    return spent_by((), seconds=sum(turn.seconds for turn in turns), used=models, cost_of=cost_of)


def usage_json(whole: TurnUsage, tasks: Iterable[TurnUsage], *, cost_of: CostOf) -> dict[str | None, Json]:
    """By task id; the whole job's under None."""
    of_tasks = {one.task_id: _shown(one, cost_of) for one in tasks}
    return {**of_tasks, None: _shown(whole, cost_of)}


def _shown(turn: TurnUsage, cost_of: CostOf) -> Json:
    spent = spent_by_turns(turn, cost_of=cost_of)
    return {"tokens": spent.tokens, "seconds": round(spent.seconds, 3), "cost": spent.cost}
