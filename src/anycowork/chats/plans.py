"""Plans at the desk: a proposed one is read, an edited one is checked, an approved one becomes the request that starts it. Pure."""

import json
from dataclasses import field

from anycowork.domain.disclosure import disclose_plan
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.plan import Budget, Plan, explain_plan, read_plan
from anycowork.domain.values import value


@value
class PlanEdits:
    """What a person changed before approving; None leaves it as it was shown, and an empty budget takes the budget away.

    `disclosure` is the hash of what the plan showed before it was edited.
    """

    steps: list[Json] | None = field(default=None, hash=False)
    budget: Json | None = field(default=None, hash=False)
    disclosure: str | None = None


AS_SHOWN = PlanEdits()


def proposed_plan(plan: Json) -> Plan:
    """Raises: Invalid, saying what is wrong with it."""
    read = _valid(plan, param="plan")
    _require_known(read.budget)
    return read


def approved_plan(shown: Json, edits: PlanEdits = AS_SHOWN) -> Plan:
    """The plan as approved: with the person's own steps if they edited, reordered, dropped or added some, and their own budget.

    Raises: Invalid, NotAsShown.
    """
    if edits.disclosure is not None:
        disclose_plan(_valid(shown, param="plan")).require(edits.disclosure)
    if edits.budget is not None:
        shown = {**shown, "budget": edits.budget or None}
        _require_known(_valid(shown, param="budget").budget)
    if edits.steps is None:
        return _valid(shown, param="plan")
    if not edits.steps:
        raise Invalid("A plan without steps does nothing; leave at least one.", param="steps")
    return _valid({**shown, "steps": list(_numbered(edits.steps))}, param="steps")


def execution_request(plan: Plan) -> str:
    """What the actor is told: the approved text itself, and nothing that was not approved."""
    text = json.dumps(plan.to_json(), indent=2, ensure_ascii=False)
    return f"Execute the approved plan, step by step, and say what was done.\n\n```json\n{text}\n```"


def _numbered(steps: list[Json]) -> list[Json]:
    """Numbers follow the new order; a step that came without an id gets one that is free."""
    taken = {str(step["id"]) for step in steps if step.get("id") is not None}
    free = (str(number) for number in range(1, len(steps) + len(taken) + 1) if str(number) not in taken)
    return [{**step, "step_number": at, "id": step.get("id") or next(free)} for at, step in enumerate(steps, 1)]


def _require_known(budget: Budget | None) -> None:
    """A limit that nobody would keep must not look like one. Raises: Invalid."""
    if budget is not None and budget.model_extra:
        known = ", ".join(Budget.model_fields)
        raise Invalid(f"A budget has no '{next(iter(budget.model_extra))[:80]}'. It has: {known}.", param="budget")


def _valid(plan: Json, *, param: str) -> Plan:
    read = read_plan(plan)
    if read is None:
        raise Invalid(f"This is not a valid plan: {explain_plan(plan)}", param=param)
    return read
