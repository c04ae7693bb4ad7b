"""Rules: standing answers that a person writes, changes and revokes; explained for one call, previewed on past ones."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from anycowork.api.middleware.auth import Manager
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.rules import ExplainedResponse, PreviewResponse, RuleList, RuleProposals, WrittenRule
from anycowork.chats.rule_service import StandingRule
from anycowork.domain.boundary import Boundary
from anycowork.domain.messages import Json
from anycowork.domain.rules import NewRule, RuleChange
from anycowork.domain.tools import Parameters

routes = Router(tags=["rules"])


ChatId = Annotated[str, Field(min_length=1, max_length=100)]


class SupposedCall(Boundary):
    """A call that is not made; `terminate` may stand here as it does in a real one, and decides nothing."""

    tool: Annotated[str, Field(min_length=1, max_length=200, examples=["update_file"])]
    parameters: Parameters
    terminate: bool = False
    context_id: ChatId | None = None


class ExplainRequest(Boundary):
    """`context_id`, here or in the call, is the chat it is supposed in; without one, a new chat's role and folder."""

    call: SupposedCall
    context_id: ChatId | None = None


class PreviewRequest(Boundary):
    rule: NewRule


@routes.get("/rules", response_model=RuleList, responses=error_responses())
async def list_rules(principal: Manager, services: ServicesDep) -> Response:
    """Oldest first, the expired ones too."""
    visible = await services.visibility.visible_only(
        principal, await services.rules.all(principal), lambda rule: rule.chat_id, lambda rule: rule.workspace
    )
    return json_response(200, {"rules": [rule.to_json() for rule in visible]})


@routes.get("/rules/proposals", response_model=RuleProposals, responses=error_responses())
async def propose_rules(principal: Manager, services: ServicesDep) -> Response:
    """The smallest rules that would have answered what people decided. None of them allows what was denied, or a known attack."""
    proposed = await services.rules.proposals(principal)
    return json_response(200, {"proposals": [proposal.to_json() for proposal in proposed]})


@routes.post("/rules", status_code=201, response_model=WrittenRule, responses=error_responses(body=True))
async def add_rule(body: NewRule, principal: Manager, services: ServicesDep) -> Response:
    """Holds from the next call on. A rule that matches everything is taken, with a warning."""
    return json_response(201, _shown(await services.rules.add(principal, body)))


@routes.patch("/rules/{rule_id}", response_model=WrittenRule, responses=error_responses(404, body=True))
async def change_rule(rule_id: str, body: RuleChange, principal: Manager, services: ServicesDep) -> Response:
    """What is absent stays; where a rule holds cannot be changed: write another."""
    return json_response(200, _shown(await services.rules.change(principal, rule_id, body)))


@routes.delete("/rules/{rule_id}", status_code=204, response_class=Response, responses=error_responses(404, 422, 507))
async def remove_rule(rule_id: str, principal: Manager, services: ServicesDep) -> Response:
    await services.rules.remove(principal, rule_id)
    return Response(status_code=204)


@routes.post("/rules/explain", response_model=ExplainedResponse, responses=error_responses(404, body=True))
async def explain(body: ExplainRequest, principal: Manager, services: ServicesDep) -> Response:
    """Which rule decides this call in its chat as it is now, and why. Nothing is run and nobody is asked."""
    call = body.call
    decided = await services.rules.explain(principal, call.tool, call.parameters, call.context_id or body.context_id)
    rule = decided.rule.to_json() if decided.rule else None
    return json_response(200, {"effect": decided.effect.value, "rule": rule, "why": decided.reason})


@routes.post("/rules/preview", response_model=PreviewResponse, responses=error_responses(body=True))
async def preview(body: PreviewRequest, principal: Manager, services: ServicesDep) -> Response:
    """Which past calls this rule would have had a say in, before it is saved. Nothing is stored."""
    seen = await services.rules.preview(principal, body.rule)
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
    return json_response(200, {"calls": calls, **also})


def _shown(written: StandingRule) -> Json:
    return {**written.rule.to_json(), "warnings": list(written.warnings)}
