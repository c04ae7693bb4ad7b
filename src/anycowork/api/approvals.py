"""Approvals: what waits for a person's decision, and the decision. Nothing but an explicit act is one."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field, field_validator

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Decider, Reader
from anycowork.api.chats import chat_of
from anycowork.api.rooms import House
from anycowork.api.shapes import ApprovalList, DecidedList
from anycowork.chats.desk import Decided
from anycowork.domain.approvals import Decision
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json

routes = APIRouter(tags=["approvals"])


class RulesNotAvailable(Invalid):
    code = "rules_not_available"


class OneDecision(Boundary):
    id: Annotated[str, Field(min_length=1, max_length=100)]
    decision: Annotated[Decision, Field(strict=False)]
    rule: Json | None = None
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
    await chat_of(rooms, chat_id)
    return answer(200, {"approvals": [approval.to_json() for approval in await rooms.store.approvals(chat_id)]})


@routes.post("/context/{chat_id}/approvals", response_model=DecidedList, responses=faults(404, body=True))
async def decide(chat_id: str, wanted: Decisions, principal: Decider, rooms: House) -> Response:
    decided = [_without_rules(decision, place) for place, decision in enumerate(wanted.decisions)]
    await rooms.desk.decide(principal, chat_id, decided)
    return answer(200, {"approvals": [{"id": each.id, "decision": each.decision.value} for each in decided]})


def _without_rules(wanted: OneDecision, place: int) -> Decided:
    standing = wanted.decision in (Decision.ALLOW_SESSION, Decision.ALLOW_ALWAYS)
    if standing or wanted.rule is not None:
        field = "decision" if standing else "rule"
        raise RulesNotAvailable(
            "Standing rules come with a later version; use allow_once.", param=f"decisions.{place}.{field}"
        )
    return Decided(id=wanted.id, decision=wanted.decision, note=wanted.note)
