"""Plans: written or edited by a person, and approved by one. Approving starts the work."""

import asyncio
from enum import StrEnum
from typing import Annotated, Any

from fastapi import Response
from pydantic import Field

from anycowork.api.middleware.auth import Decider, Reader, Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.routes.approvals import After
from anycowork.api.schemas.chats import PlanStarted, ProposedPlan
from anycowork.api.schemas.rules import DisclosureResponse
from anycowork.chats.plans import PlanEdits
from anycowork.domain.boundary import Boundary
from anycowork.domain.disclosure import disclose_plan
from anycowork.domain.errors import NotFound
from anycowork.domain.messages import Json, MessageType
from anycowork.domain.plan import read_plan
from anycowork.turns.lookup import require_chat

routes = Router(tags=["plans"])


class RunAs(StrEnum):
    CHAT = "chat"
    JOB = "job"


class NewPlan(Boundary):
    """`request` is what the plan is for, in the person's own words: a message of theirs before it."""

    # Any: the whole body is known to be JSON, and looking at every value again would block the event loop for a long plan.
    plan: Annotated[
        dict[str, Any],
        Field(examples=[{"goal": "Greet", "steps": [{"action": "Write hello.txt", "paths": ["hello.txt"]}]}]),
    ]
    request: Annotated[str, Field(min_length=1)] | None = None


class PlanApproval(Boundary):
    """`steps` is the plan's list as the person edited it, `budget` its budget (`{}`: none); without them they are approved as they stand."""

    steps: Annotated[list[Json], Field(min_length=1, max_length=500)] | None = None
    budget: Annotated[Json, Field(examples=[{"calls": 20, "seconds": 600, "tokens": 50000, "cost": 1.5}])] | None = None
    disclosure: (
        Annotated[
            str, Field(max_length=64, description="The hash of what was shown of the plan; another one is refused.")
        ]
        | None
    ) = None
    run: Annotated[RunAs, Field(strict=False)] = RunAs.CHAT


@routes.post(
    "/context/{chat_id}/plans", status_code=201, response_model=ProposedPlan, responses=error_responses(404, body=True)
)
async def propose_plan(chat_id: str, body: NewPlan, principal: Sender, services: ServicesDep) -> Response:
    """A plan written by a person. It supersedes an older one and waits for approval like any other."""
    return json_response(
        201, {"message_id": await services.decisions.propose_plan(principal, chat_id, body.plan, body.request)}
    )


@routes.get(
    "/context/{chat_id}/plans/{message_id}/disclosure",
    response_model=DisclosureResponse,
    responses=error_responses(404, 422),
)
async def plan_disclosure(
    chat_id: str, message_id: str, principal: Reader, services: ServicesDep, after: After = 0
) -> Response:
    """What approving this plan as it stands grants, one page at a time."""
    await require_chat(services.store, chat_id)
    message = await services.store.messages.find(chat_id, message_id)
    is_plan = message is not None and message.message_type is MessageType.PLAN
    page = await asyncio.to_thread(_disclosure, message.payload or {}, after) if message and is_plan else None
    if page is None:
        raise NotFound("plan", message_id)
    return json_response(200, page)


def _disclosure(payload: Json, after: int) -> Json | None:
    """One page of what the plan grants; None if it is no plan. Slow for a long plan."""
    plan = read_plan(payload)
    return None if plan is None else disclose_plan(plan).to_json(after)


@routes.post(
    "/context/{chat_id}/plans/{message_id}/approve",
    status_code=202,
    response_model=PlanStarted,
    responses=error_responses(404, body=True),
)
async def approve_plan(
    chat_id: str, message_id: str, principal: Decider, services: ServicesDep, body: PlanApproval | None = None
) -> Response:
    """Switches the chat to actor and starts the plan, as one turn or as a job. What is approved here is what is executed and audited."""
    approval = body or PlanApproval()
    edits = PlanEdits(approval.steps, approval.budget, approval.disclosure)
    if approval.run is RunAs.JOB:
        job = await services.jobs.approve_plan(principal, chat_id, message_id, edits=edits)
        return json_response(202, {"job_id": job.id})
    return json_response(
        202, {"turn_id": await services.decisions.approve_plan(principal, chat_id, message_id, edits=edits)}
    )
