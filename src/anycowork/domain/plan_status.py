"""The statuses of a plan and of its steps, for events and the audit."""

from collections.abc import Mapping
from enum import StrEnum

from anycowork.domain.messages import Json
from anycowork.domain.plan import Plan


class StepStatus(StrEnum):
    """`claimed`: only the model reports it as done. `skipped`: it never started, and the plan's run is over."""

    OPEN = "open"
    RUNNING = "running"
    DONE = "done"
    CLAIMED = "claimed"
    FAILED = "failed"
    SKIPPED = "skipped"

    @property
    def finished(self) -> bool:
        return self is StepStatus.DONE or self is StepStatus.CLAIMED


class PlanStatus(StrEnum):
    OPEN = "open"
    APPROVED = "approved"
    SUPERSEDED = "superseded"
    DONE = "done"
    BLOCKED = "blocked"


StepStatuses = Mapping[str, StepStatus]


def plan_status(statuses: StepStatuses, *, finished: bool) -> PlanStatus:
    """Return the status of an approved plan from the statuses of its steps."""
    if all(status.finished for status in statuses.values()):
        return PlanStatus.DONE
    return PlanStatus.BLOCKED if finished else PlanStatus.APPROVED


def with_open_steps(plan: Plan) -> Json:
    """Return the plan as JSON with every step open."""
    body = plan.to_json()
    steps = body["steps"]
    assert isinstance(steps, list)
    return {**body, "steps": [{**step, "status": StepStatus.OPEN.value} for step in steps if isinstance(step, dict)]}
