"""Plans that a person approves. One schema for the role system's `steps` and the coordinator's `tasks`."""

import operator
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue, ValidationError, field_validator, model_validator

from anycowork.domain.boundary import ModelDocument, Text, read_written, reason_of
from anycowork.domain.errors import Invalid
from anycowork.domain.evidence import read_step_expectation
from anycowork.domain.fixed_arguments import ArgumentsBody, FixedArguments, read_arguments
from anycowork.domain.messages import Json
from anycowork.domain.values import value

_MOST_NAMED = 20
FORMAT_VERSION = "1.0"
MOST_STEPS = 10_000
MOST_BYTES = 2_000_000  # of a plan as JSON: parsing it must not block other requests


class BadGraph(ValueError):
    """`ids` are the offending ids; the message names the first of them."""

    def __init__(self, reason: str, ids: Iterable[str]) -> None:
        self.ids = tuple(ids)
        more = f" and {len(self.ids) - _MOST_NAMED} more" if len(self.ids) > _MOST_NAMED else ""
        super().__init__(f"{reason}: {', '.join(task_id[:80] for task_id in self.ids[:_MOST_NAMED])}{more}")


@value
class TaskGraph:
    """Tasks and their dependencies, in the given order."""

    dependencies: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, dependencies: Mapping[str, Iterable[str]]) -> "TaskGraph":
        """Builds a graph. Raises: BadGraph for an unknown dependency or a cycle."""
        graph = cls({task: tuple(needs) for task, needs in dependencies.items()})
        unknown = sorted({need for needs in graph.dependencies.values() for need in needs} - graph.dependencies.keys())
        if unknown:
            raise BadGraph("unknown dependencies", unknown)
        if cycle := graph._cycle():
            raise BadGraph("these tasks wait for each other", cycle)
        return graph

    def ready(self, done: Collection[str]) -> list[str]:
        """Returns the tasks that may start now: not done, with all dependencies done."""
        finished = set(done)
        return [
            task for task, needs in self.dependencies.items() if task not in finished and finished.issuperset(needs)
        ]

    def _cycle(self) -> list[str]:
        """Returns the ids of one cycle, in the order of the graph; empty if there is none. Each edge is visited once."""
        waits = {task: set(needs) for task, needs in self.dependencies.items()}
        needed_by: dict[str, list[str]] = {}
        for task, needs in waits.items():
            for need in needs:
                needed_by.setdefault(need, []).append(task)
        ready = [task for task, needs in waits.items() if not needs]
        while ready:
            done = ready.pop()
            for task in needed_by.get(done, ()):
                waits[task].discard(done)
                if not waits[task]:
                    ready.append(task)
        blocked = {task: needs for task, needs in waits.items() if needs}
        return _find_cycle(blocked) if blocked else []


def _find_cycle(blocked: Mapping[str, Collection[str]]) -> list[str]:
    """Returns one cycle. Every task in `blocked` depends on another one in it, so following dependencies must end in a cycle."""
    walked: dict[str, int] = {}
    task = next(iter(blocked))
    while task not in walked:
        walked[task] = len(walked)
        task = min(blocked[task])
    cycle = {walked_task for walked_task, position in walked.items() if position >= walked[task]}
    return [task_id for task_id in blocked if task_id in cycle]


class Budget(ModelDocument):
    """How much the run of a plan may use before it asks: changes and commands (`calls`), working time, tokens, US dollars."""

    calls: Annotated[int, Field(gt=0)] | None = None
    seconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None
    cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class PlannedCall(ModelDocument):
    """A call of an MCP server's tool, by the tool's full name, with exactly these `arguments`; those in `text` may be any plain text."""

    tool: Text
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    text: tuple[str, ...] = ()

    @property
    def fixed(self) -> FixedArguments:
        return read_arguments(ArgumentsBody(fixed=self.arguments, text=[*self.text]))

    @model_validator(mode="after")
    def _arguments_are_readable(self) -> "PlannedCall":
        try:
            read_arguments(ArgumentsBody(fixed=self.arguments, text=[*self.text]))
        except Invalid as fault:
            raise ValueError(fault.message) from None
        return self


class PlanStep(ModelDocument):
    id: Text
    step_number: int
    action: Text
    reason: str = ""
    tools_needed: tuple[str, ...] = ()
    estimated_time: str = ""
    dependencies: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    check: str | None = None
    expect: tuple[str, ...] = Field(default=(), max_length=20, exclude_if=operator.not_)
    agent: str | None = None
    role: str | None = None
    calls: tuple[PlannedCall, ...] = Field(default=(), exclude_if=operator.not_)
    needs: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)  # labels that a worker must offer
    builds_on: tuple[str, ...] | None = None  # tasks that a job had completed before this plan

    @field_validator("expect")
    @classmethod
    def _states_expectations(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        for line in lines:
            read_step_expectation(line)
        return lines


class Plan(ModelDocument):
    type: Literal["plan"] = "plan"
    format_version: Literal["1.0"] = "1.0"
    goal: str
    steps: Annotated[tuple[PlanStep, ...], Field(min_length=1)]
    estimated_total_time: str = ""
    risks: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()
    budget: Budget | None = None

    @model_validator(mode="after")
    def _steps_form_a_graph(self) -> "Plan":
        doubled = sorted(step_id for step_id, count in Counter(step.id for step in self.steps).items() if count > 1)
        if doubled:
            raise BadGraph("several steps have the same id", doubled)
        TaskGraph.of({step.id: step.dependencies for step in self.steps})
        return self

    def step(self, step_id: str) -> PlanStep | None:
        return next((step for step in self.steps if step.id == step_id), None)

    def to_json(self) -> Json:
        return self.model_dump(mode="json", exclude_none=True)


def looks_like_plan(document: Json) -> bool:
    """Whether the object has `goal` and `steps`, or the coordinator's `tasks`, with or without a type."""
    if document.get("type") not in (None, "plan"):
        return False
    return isinstance(document.get("tasks"), list) or ("goal" in document and isinstance(document.get("steps"), list))


def read_plan(document: Json, completed: Collection[str] = ()) -> Plan | None:
    """Returns the plan in this object, with missing type, version, numbers and ids filled in; None if it is not valid.

    Its steps may depend on tasks that a job has `completed` already.
    """
    if not looks_like_plan(document):
        return None
    try:
        return _validated(document, completed)
    except ValueError:
        return None


def explain_plan(document: Json, completed: Collection[str] = ()) -> str:
    """Explain why this object is not a valid plan."""
    if not looks_like_plan(document):
        return "a plan has a 'goal' and a list of 'steps'."
    try:
        _validated(document, completed)
    except ValidationError as error:
        faults = [(".".join(map(str, item["loc"])) or "steps", reason_of(item["msg"])) for item in error.errors()[:5]]
        return (
            "; ".join(
                f"'{location}' {reason}" if reason.startswith("should") else reason for location, reason in faults
            )
            + "."
        )
    except ValueError as error:
        return str(error)
    return "it is valid."


def unusable_plan(document: Json, *, alone: bool) -> str | None:
    """Explain to the person why an object that looks like a plan is not valid; None if it is valid, or not a plan at all.

    One that does not call itself a plan is meant as one only if it is the whole reply (`alone`).
    """
    if (
        not (alone or document.get("type") == "plan")
        or not looks_like_plan(document)
        or read_plan(document) is not None
    ):
        return None
    return f"This plan cannot be used, so it is shown as text: {explain_plan(document)}"


def _validated(document: Json, completed: Collection[str]) -> Plan:
    return read_written(Plan, _building_on(_filled_in(document), completed), most_bytes=MOST_BYTES)


def _building_on(document: Json, completed: Collection[str]) -> Json:
    """Returns the plan with dependencies on completed tasks apart from those on its own steps."""
    steps = [step for step in _list(document["steps"]) if isinstance(step, dict)]
    completed_ids = set(completed) - {str(step.get("id")) for step in steps}
    for step in steps if completed_ids else ():
        needs = _list(step.get("dependencies"))
        earlier = [need for need in needs if isinstance(need, str) and need in completed_ids]
        if earlier:
            step["dependencies"] = [need for need in needs if need not in earlier]
            step["builds_on"] = [*earlier]
    return document


def _filled_in(document: Json) -> Json:
    steps = document["steps"] if isinstance(document.get("steps"), list) else document["tasks"]
    assert isinstance(steps, list)
    if len(steps) > MOST_STEPS:
        raise ValueError(f"a plan has at most {MOST_STEPS} steps, this one has {len(steps)}.")
    other_fields = {k: v for k, v in document.items() if k not in ("steps", "tasks")}
    return {
        **other_fields,
        "type": "plan",
        "format_version": document.get("format_version", FORMAT_VERSION),
        "goal": document.get("goal", ""),
        "steps": [_step(step, number) for number, step in enumerate(steps, 1)],
    }


def _step(step: JsonValue, number: int) -> JsonValue:
    if not isinstance(step, dict):
        return step
    step_number = step.get("step_number", number)
    action = step.get("action", step.get("description"))
    step_id = step.get("id", step_number)
    filled: Json = {
        **step,
        "step_number": step_number,
        "id": str(step_id) if isinstance(step_id, int) else step_id,
        "action": action,
    }
    if isinstance(step.get("dependencies"), list):
        filled["dependencies"] = [str(d) if isinstance(d, int) else d for d in _list(step["dependencies"])]
    return filled


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


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
    """Returns the status of an approved plan from the statuses of its steps."""
    if all(status.finished for status in statuses.values()):
        return PlanStatus.DONE
    return PlanStatus.BLOCKED if finished else PlanStatus.APPROVED


def with_open_steps(plan: Plan) -> Json:
    """Returns the plan as JSON with every step open."""
    body = plan.to_json()
    steps = body["steps"]
    assert isinstance(steps, list)
    return {**body, "steps": [{**step, "status": StepStatus.OPEN.value} for step in steps if isinstance(step, dict)]}
