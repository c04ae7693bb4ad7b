"""Approvals: what waits for a person's decision, and the decision. Nothing but an explicit act is one."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field, field_validator

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Decider, Reader
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes.rules import ApprovalList, DecidedList, DisclosureShape
from anycowork.chats.decisions import DecidedApproval
from anycowork.chats.finding import find_chat
from anycowork.domain.approvals import Decision
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import NotFound
from anycowork.domain.messages import Json
from anycowork.domain.rules import OwnRule, Rule

After = Annotated[int, Query(ge=0, description="How many items were read already.")]
routes = Routes(tags=["approvals"])


class OneDecision(Boundary):
    id: Annotated[str, Field(min_length=1, max_length=100)]
    decision: Annotated[Decision, Field(strict=False)]
    rule: OwnRule | None = None
    disclosure: (
        Annotated[str, Field(max_length=64, description="The hash of what was shown; another one is refused.")] | None
    ) = None
    note: Annotated[str, Field(max_length=10_000, description="A word to the model, with a denial.")] | None = None


class Decisions(Boundary):
    decisions: Annotated[list[OneDecision], Field(min_length=1, max_length=200)]

    @field_validator("decisions")
    @classmethod
    def _each_once(cls, decisions: list[OneDecision]) -> list[OneDecision]:
        if len({decision.id for decision in decisions}) != len(decisions):
            raise ValueError("names an approval twice; decide each once")
        return decisions


@routes.get("/context/{chat_id}/approvals", response_model=ApprovalList, responses=faults(404, 422))
async def list_approvals(chat_id: str, principal: Reader, rooms: House) -> Response:
    await find_chat(rooms.store, chat_id)
    return answer(200, {"approvals": [approval.to_json() for approval in await rooms.store.approvals(chat_id)]})


@routes.get(
    "/context/{chat_id}/approvals/{approval_id}/disclosure", response_model=DisclosureShape, responses=faults(404, 422)
)
async def approval_disclosure(
    chat_id: str, approval_id: str, principal: Reader, rooms: House, after: After = 0
) -> Response:
    """What allowing this call grants, one page at a time."""
    await find_chat(rooms.store, chat_id)
    for approval in await rooms.store.approvals(chat_id):
        if approval.id == approval_id:
            return answer(200, approval.disclosure.to_json(after))
    raise NotFound("approval", approval_id)


@routes.post("/context/{chat_id}/approvals", response_model=DecidedList, responses=faults(404, body=True))
async def decide(chat_id: str, wanted: Decisions, principal: Decider, rooms: House) -> Response:
    decided = [
        DecidedApproval(each.id, each.decision, each.note, each.rule, each.disclosure) for each in wanted.decisions
    ]
    rules = await rooms.decisions.decide(principal, chat_id, decided)
    return answer(200, {"approvals": [_shown(each, rules.get(each.id, ())) for each in decided]})


def _shown(decided: DecidedApproval, rules: Sequence[Rule]) -> Json:
    made: Json = {"rule": rules[0].to_json(), "rules": [rule.to_json() for rule in rules]} if rules else {}
    return {"id": decided.id, "decision": decided.decision.value, **made}
