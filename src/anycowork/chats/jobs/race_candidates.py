"""The candidates of a race side by side, and which of them can be kept. Pure."""

from collections.abc import Mapping, Sequence

from anycowork.domain.errors import Conflict, Invalid, NotFound
from anycowork.domain.jobs import Job, JobTask, of_candidate
from anycowork.domain.messages import Json
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import value


@value
class RaceCandidate:
    """What one agent of a race did. `copy` is where; None before its first task started."""

    agent: str
    tasks: tuple[JobTask, ...]

    @property
    def copy(self) -> str | None:
        return next((task.workspace for task in self.tasks if task.workspace is not None), None)

    @property
    def status(self) -> TaskStatus:
        statuses = {task.status for task in self.tasks}
        order = (TaskStatus.FAILED, TaskStatus.RUNNING, TaskStatus.CANCELLED, TaskStatus.SKIPPED, TaskStatus.PENDING)
        return next((status for status in order if status in statuses), TaskStatus.COMPLETED)

    @property
    def turn_id(self) -> str | None:
        return next((task.turn_id for task in reversed(self.tasks) if task.turn_id is not None), None)

    def to_json(self, usage: Mapping[str | None, Json]) -> Json:
        done = [task for task in self.tasks if task.status is TaskStatus.COMPLETED]
        return {
            "agent": self.agent,
            "task_ids": [task.id for task in self.tasks],
            "status": self.status.value,
            "completed": len(done),
            "proved": sum(not task.claimed for task in done),
            "result": done[-1].result if done else None,
            "error": next((task.error for task in self.tasks if task.error is not None), None),
            "usage": _total([usage[task.id] for task in self.tasks if task.id in usage]),
        }


def candidates_of(job: Job, tasks: Sequence[JobTask]) -> list[RaceCandidate]:
    return [RaceCandidate(agent, tuple(of_candidate(tasks, agent))) for agent in job.race]


def chosen_candidate(job: Job, tasks: Sequence[JobTask], *, agent: str | None, task_id: str | None) -> RaceCandidate:
    """The candidate that a person keeps, by its agent or one of its tasks. Raises: Invalid, NotFound, Conflict."""
    if agent is None and task_id is None:
        raise Invalid(f"Name the agent to keep: {', '.join(job.race)}.", param="agent")
    matching = [candidate for candidate in candidates_of(job, tasks) if agent in (None, candidate.agent)]
    chosen = next(
        (candidate for candidate in matching if task_id is None or task_id in (task.id for task in candidate.tasks)),
        None,
    )
    if chosen is None:
        raise NotFound("candidate" if task_id is None else "task", str(task_id or agent))
    if chosen.status is not TaskStatus.COMPLETED or chosen.copy is None:
        raise Conflict(
            f"{chosen.agent[:80]} has not completed its part ({chosen.status.value}), so there is nothing to keep. "
            "Retry its failed task, or keep another one."
        )
    return chosen


def _total(parts: Sequence[Json]) -> Json | None:
    if not parts:
        return None
    costs = [part["cost"] for part in parts]
    known_costs = [cost for cost in costs if isinstance(cost, int | float)]
    return {
        "tokens": sum(tokens for part in parts if isinstance(tokens := part["tokens"], int)),
        "seconds": round(sum(seconds for part in parts if isinstance(seconds := part["seconds"], int | float)), 3),
        "cost": sum(known_costs) if len(known_costs) == len(costs) else None,
    }
