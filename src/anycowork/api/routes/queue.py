"""Routes for queued messages: what was written while the agent works. `POST …/messages` with `when` adds one."""

from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader, Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.routes.workflows import unfitting
from anycowork.api.schemas.chats import ChangedQueuedResponse, QueueResponse
from anycowork.domain.boundary import Boundary
from anycowork.domain.message_queue import QueuedMessage
from anycowork.domain.workflow_errors import UnfittingParameters

routes = Router(tags=["messages"])


class ChangeQueuedRequest(Boundary):
    """`when: now` gives it to the running turn between two steps; an idle chat sends it at once."""

    content: Annotated[str, Field(min_length=1)] | None = None
    when: Literal["now"] | None = None


@routes.get("/context/{chat_id}/queue", response_model=QueueResponse, responses=error_responses(404, 422))
async def list_queue(chat_id: str, principal: Reader, services: ServicesDep) -> Response:
    """In the order in which they are sent."""
    return json_response(200, {"queue": [queued.to_json() for queued in await services.queue.waiting(chat_id)]})


@routes.patch(
    "/context/{chat_id}/queue/{queued_id}",
    response_model=ChangedQueuedResponse,
    responses=error_responses(404, 409, body=True),
)
async def change_queued(
    chat_id: str, queued_id: str, body: ChangeQueuedRequest, principal: Sender, services: ServicesDep
) -> Response:
    try:
        changed = await services.queue.change(
            principal, chat_id, queued_id, content=body.content, now=body.when == "now"
        )
    except UnfittingParameters as fault:
        return unfitting(fault)
    if isinstance(changed, QueuedMessage):
        return json_response(200, {"queued": changed.to_json()})
    run = {"run_id": changed.run_id} if changed.run_id else {}
    return json_response(200, {"queued": None, "message_id": changed.message_id, "turn_id": changed.turn_id, **run})


@routes.delete(
    "/context/{chat_id}/queue/{queued_id}",
    status_code=204,
    response_class=Response,
    responses=error_responses(404, 422, 507),
)
async def remove_queued(chat_id: str, queued_id: str, principal: Sender, services: ServicesDep) -> Response:
    """A message that was sent already is not found."""
    await services.queue.remove(principal, chat_id, queued_id)
    return Response(status_code=204)
