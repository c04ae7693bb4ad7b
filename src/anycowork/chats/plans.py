"""Reads proposed plans, checks edited plans, and turns an approved plan into the request that starts it. Pure."""

import json
from dataclasses import field

from anycowork.domain.disclosure import disclose_plan
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.plan import Budget, Plan, explain_plan, read_plan
from anycowork.domain.values import value


@value
class PlanEdits:
    """A person's edits before approval; None leaves the part unchanged, and an empty budget removes the budget.

    `disclosure` is the hash of the plan as shown before it was edited.
    """

    steps: list[Json] | None = field(default=None, hash=False)
    budget: Json | None = field(default=None, hash=False)
    disclosure: str | None = None


AS_SHOWN = PlanEdits()


def proposed_plan(plan: Json) -> Plan:
    """Validates a proposed plan. Raises: Invalid, with the reason."""
    read = _valid(plan, param="plan")
    _require_known(read.budget)
    return read


def approved_plan(proposed: Json, edits: PlanEdits = AS_SHOWN) -> Plan:
    """Returns the plan as approved, with the person's edited steps and budget.

    Raises: Invalid, NotAsShown.
    """
    if edits.disclosure is not None:
        disclose_plan(_valid(proposed, param="plan")).require(edits.disclosure)
    if edits.budget is not None:
        proposed = {**proposed, "budget": edits.budget or None}
        _require_known(_valid(proposed, param="budget").budget)
    if edits.steps is None:
        return _valid(proposed, param="plan")
    if not edits.steps:
        raise Invalid("A plan needs at least one step.", param="steps")
    return _valid({**proposed, "steps": list(_numbered(edits.steps))}, param="steps")


def execution_request(plan: Plan) -> str:
    """Returns the request for the actor: exactly the approved plan."""
    text = json.dumps(plan.to_json(), indent=2, ensure_ascii=False)
    return f"Execute the approved plan, step by step, and say what was done.\n\n```json\n{text}\n```"


def _numbered(steps: list[Json]) -> list[Json]:
    """Number the steps in the new order; a step without an id gets a free one."""
    used_ids = {str(step["id"]) for step in steps if step.get("id") is not None}
    free = (str(number) for number in range(1, len(steps) + len(used_ids) + 1) if str(number) not in used_ids)
    return [
        {**step, "step_number": step_number, "id": step.get("id") or next(free)}
        for step_number, step in enumerate(steps, 1)
    ]


def _require_known(budget: Budget | None) -> None:
    """Rejects unknown budget fields, because nothing would enforce them. Raises: Invalid."""
    if budget is not None and budget.model_extra:
        field_names = ", ".join(Budget.model_fields)
        raise Invalid(
            f"A budget has no '{next(iter(budget.model_extra))[:80]}'. It has: {field_names}.", param="budget"
        )


def _valid(plan: Json, *, param: str) -> Plan:
    read = read_plan(plan)
    if read is None:
        raise Invalid(f"This is not a valid plan: {explain_plan(plan)}", param=param)
    return read
