"""What a job and its tasks have used, summed from their turns. Pure."""

from collections.abc import Iterable, Sequence

from anycowork.domain.messages import Json
from anycowork.domain.usage import TurnUsage
from anycowork.permissions.budgets import CostOf, Spent, spent_by


def spent_by_turns(turns: Iterable[TurnUsage], *, task_id: str | None = None, cost_of: CostOf) -> Spent:
    """Of the whole job, or of one task and all its attempts."""
    chosen = [turn for turn in turns if task_id is None or turn.task_id == task_id]
    models = [model for turn in chosen for model in turn.models]
    return spent_by((), seconds=sum(turn.seconds for turn in chosen), used=models, cost_of=cost_of)


def usage_json(turns: Sequence[TurnUsage], *, cost_of: CostOf) -> dict[str | None, Json]:
    """By task id; the whole job's under None."""
    task_ids = {turn.task_id for turn in turns if turn.task_id is not None}
    return {None: _shown(spent_by_turns(turns, cost_of=cost_of))} | {
        task_id: _shown(spent_by_turns(turns, task_id=task_id, cost_of=cost_of)) for task_id in task_ids
    }


def _shown(spent: Spent) -> Json:
    return {"tokens": spent.tokens, "seconds": round(spent.seconds, 3), "cost": spent.cost}
