"""What a job and its tasks have used, as clients see it. Pure."""

from collections.abc import Iterable

from anycowork.domain.messages import Json
from anycowork.domain.usage import TurnUsage
from anycowork.domain.values import replace
from anycowork.permissions.budgets import BudgetUse, CostOf, spent_by


def spent_by_turns(*turns: TurnUsage, cost_of: CostOf) -> BudgetUse:
    models = [model for turn in turns for model in turn.models]
    return spent_by((), seconds=sum(turn.seconds for turn in turns), used=models, cost_of=cost_of)


def usage_json(job_usage: TurnUsage, tasks: Iterable[TurnUsage], *, cost_of: CostOf) -> dict[str | None, Json]:
    """By task id; the whole job's under None."""
    of_tasks = {task_usage.task_id: _shown(task_usage, cost_of) for task_usage in tasks}
    return {**of_tasks, None: _shown(job_usage, cost_of)}


def _shown(turn: TurnUsage, cost_of: CostOf) -> Json:
    used = replace(turn, models=tuple(replace(model, reserved=0) for model in turn.models))
    spent = spent_by_turns(used, cost_of=cost_of)
    reserved = sum(model.reserved for model in turn.models)
    return {"tokens": spent.tokens, "reserved": reserved, "seconds": round(spent.seconds, 3), "cost": spent.cost}
