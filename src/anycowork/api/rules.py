"""Rules: standing answers that a person writes, changes and revokes; explained for one call, previewed on past ones."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Manager
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes.rules import ExplainedShape, PreviewShape, RuleList, WrittenRule
from anycowork.chats.rules import StandingRule
from anycowork.domain.boundary import Boundary
from anycowork.domain.messages import Json
from anycowork.domain.rules import RuleChange, RuleWish
from anycowork.domain.tools import Parameters

routes = Routes(tags=["rules"])


ChatId = Annotated[str, Field(min_length=1, max_length=100)]


class SupposedCall(Boundary):
    """A call that is not made; `terminate` may stand here as it does in a real one, and decides nothing."""

    tool: Annotated[str, Field(min_length=1, max_length=200, examples=["update_file"])]
    parameters: Parameters
    terminate: bool = False
    context_id: ChatId | None = None


class Explain(Boundary):
    """`context_id`, here or in the call, is the chat it is supposed in; without one, a new chat's role and folder."""

    call: SupposedCall
    context_id: ChatId | None = None


class Preview(Boundary):
    rule: RuleWish


@routes.get("/rules", response_model=RuleList, responses=faults())
async def list_rules(principal: Manager, rooms: House) -> Response:
    """Oldest first, the expired ones too."""
    return answer(200, {"rules": [rule.to_json() for rule in await rooms.rules.all(principal)]})


@routes.post("/rules", status_code=201, response_model=WrittenRule, responses=faults(body=True))
async def add_rule(wanted: RuleWish, principal: Manager, rooms: House) -> Response:
    """Holds from the next call on. A rule that matches everything is taken, with a warning."""
    return answer(201, _shown(await rooms.rules.add(principal, wanted)))


@routes.patch("/rules/{rule_id}", response_model=WrittenRule, responses=faults(404, body=True))
async def change_rule(rule_id: str, wanted: RuleChange, principal: Manager, rooms: House) -> Response:
    """What is absent stays; where a rule holds cannot be changed: write another."""
    return answer(200, _shown(await rooms.rules.change(principal, rule_id, wanted)))


@routes.delete("/rules/{rule_id}", status_code=204, response_class=Response, responses=faults(404, 422, 507))
async def remove_rule(rule_id: str, principal: Manager, rooms: House) -> Response:
    await rooms.rules.remove(principal, rule_id)
    return Response(status_code=204)


@routes.post("/rules/explain", response_model=ExplainedShape, responses=faults(404, body=True))
async def explain(wanted: Explain, principal: Manager, rooms: House) -> Response:
    """Which rule decides this call in its chat as it is now, and why. Nothing is run and nobody is asked."""
    call = wanted.call
    decided = await rooms.rules.explain(principal, call.tool, call.parameters, call.context_id or wanted.context_id)
    rule = decided.rule.to_json() if decided.rule else None
    return answer(200, {"effect": decided.effect.value, "rule": rule, "why": decided.why})


@routes.post("/rules/preview", response_model=PreviewShape, responses=faults(body=True))
async def preview(wanted: Preview, principal: Manager, rooms: House) -> Response:
    """Which past calls this rule would have had a say in, before it is saved. Nothing is stored."""
    seen = await rooms.rules.preview(principal, wanted.rule)
    calls = [
        {
            "id": item.call.id,
            "tool": item.call.tool,
            "resource": item.resource,
            "decided": item.decided.value,
            "would": item.would.value,
        }
        for item in seen.calls
    ]
    also = {"matched": seen.matched, "looked_at": seen.looked_at, "warnings": list(seen.warnings)}
    return answer(200, {"calls": calls, **also})


def _shown(written: StandingRule) -> Json:
    return {**written.rule.to_json(), "warnings": list(written.warnings)}
