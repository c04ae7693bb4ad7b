"""Routes for approvals: list pending approvals, and decide them explicitly."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field, field_validator

from anycowork.api.middleware.auth import Decider, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.rules import ApprovalList, DecidedList, DisclosureResponse
from anycowork.chats.decisions import DecidedApproval
from anycowork.domain.approvals import Decision
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import NotFound
from anycowork.domain.messages import Json
from anycowork.domain.principals import person_name_in
from anycowork.domain.rules import DecisionRule, Rule
from anycowork.turns.lookup import require_chat

After = Annotated[int, Query(ge=0, description="How many items were read already.")]
routes = Router(tags=["approvals"])


class DecisionRequest(Boundary):
    id: Annotated[str, Field(min_length=1, max_length=100)]
    decision: Annotated[Decision, Field(strict=False)]
    rule: DecisionRule | None = None
    disclosure: (
        Annotated[str, Field(max_length=64, description="The hash of what was shown; another one is refused.")] | None
    ) = None
    note: Annotated[str, Field(max_length=10_000, description="A word to the model, with a denial.")] | None = None


class DecisionsRequest(Boundary):
    decisions: Annotated[list[DecisionRequest], Field(min_length=1, max_length=200)]

    @field_validator("decisions")
    @classmethod
    def _each_once(cls, decisions: list[DecisionRequest]) -> list[DecisionRequest]:
        if len({decision.id for decision in decisions}) != len(decisions):
            raise ValueError("names an approval twice; decide each once")
        return decisions


@routes.get("/context/{chat_id}/approvals", response_model=ApprovalList, responses=error_responses(404, 422))
async def list_approvals(chat_id: str, principal: Reader, services: ServicesDep) -> Response:
    await require_chat(services.store, chat_id)
    pending = await services.store.approvals.of_chat(chat_id)
    decided = await services.store.approvals.decided_in_waiting_batches(chat_id) if pending else {}
    return json_response(
        200,
        {
            "approvals": [approval.to_json() for approval in pending],
            "decided": [
                {
                    "tool_call_id": call_id,
                    "state": decision.state.value,
                    "decided_by": person_name_in(decision.decided_by),
                }
                for call_id, decision in decided.items()
            ],
        },
    )


@routes.get(
    "/context/{chat_id}/approvals/{approval_id}/disclosure",
    response_model=DisclosureResponse,
    responses=error_responses(404, 422),
)
async def approval_disclosure(
    chat_id: str, approval_id: str, principal: Reader, services: ServicesDep, after: After = 0
) -> Response:
    """What allowing this call grants, one page at a time."""
    await require_chat(services.store, chat_id)
    for approval in await services.store.approvals.of_chat(chat_id):
        if approval.id == approval_id:
            return json_response(200, approval.disclosure.to_json(after))
    raise NotFound("approval", approval_id)


@routes.post("/context/{chat_id}/approvals", response_model=DecidedList, responses=error_responses(404, body=True))
async def decide(chat_id: str, body: DecisionsRequest, principal: Decider, services: ServicesDep) -> Response:
    decided = [
        DecidedApproval(approval.id, approval.decision, approval.note, approval.rule, approval.disclosure)
        for approval in body.decisions
    ]
    rules = await services.decisions.decide(principal, chat_id, decided)
    return json_response(200, {"approvals": [_shown(approval, rules.get(approval.id, ())) for approval in decided]})


def _shown(decided: DecidedApproval, rules: Sequence[Rule]) -> Json:
    rule_fields: Json = {"rule": rules[0].to_json(), "rules": [rule.to_json() for rule in rules]} if rules else {}
    return {"id": decided.id, "decision": decided.decision.value, **rule_fields}
