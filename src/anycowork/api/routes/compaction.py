"""Routes that compact a chat for the model, and take that back."""

from fastapi import Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.chats import CompactedResponse

routes = Router(tags=["chats"])


@routes.post(
    "/context/{chat_id}/compact",
    status_code=201,
    response_model=CompactedResponse,
    responses=error_responses(404, 409, 422, 502, 507),
)
async def compact_chat(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """The model goes on from a digest of the record. Nothing is deleted, and no model is asked."""
    done = await services.compaction.compact(principal, chat_id)
    return json_response(201, {"message_id": done.message_id, "messages": done.messages})


@routes.delete(
    "/context/{chat_id}/compact",
    status_code=204,
    response_class=Response,
    responses=error_responses(404, 409, 422, 507),
)
async def undo_compaction(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Takes the newest compaction back: the model is shown the earlier messages again, as far as they fit."""
    await services.compaction.undo(principal, chat_id)
    return Response(status_code=204)
