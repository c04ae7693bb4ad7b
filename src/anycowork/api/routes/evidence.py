"""Routes that show what a turn was expected to do, and what proves it."""

from typing import Annotated

from fastapi import Query, Response

from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.jobs import ReceiptResponse, TurnEvidenceResponse
from anycowork.domain.errors import NotFound
from anycowork.turns.lookup import require_chat

routes = Router(tags=["evidence"])


@routes.get("/context/{chat_id}/evidence", response_model=TurnEvidenceResponse, responses=error_responses(404, 422))
async def turn_evidence(
    chat_id: str,
    principal: Reader,
    services: ServicesDep,
    turn_id: Annotated[str | None, Query(max_length=64, description="Without it the newest turn.")] = None,
) -> Response:
    """What the turn was expected to do, what was checked, and the word for it: checked, self_checked, claimed or failed."""
    await require_chat(services.store, chat_id)
    turn = await services.store.turns.newest(chat_id) if turn_id is None else await services.store.turns.find(turn_id)
    if turn is None or turn.chat_id != chat_id:
        raise NotFound("turn", turn_id or "newest")
    return json_response(200, {"evidence": turn.evidence})


@routes.get("/receipts/{receipt_id}", response_model=ReceiptResponse, responses=error_responses(404))
async def show_receipt(receipt_id: str, principal: Reader, services: ServicesDep) -> Response:
    """A passed check with the hash of every file that it could read. `anycowork verify` runs it again."""
    receipt = await services.store.receipts.find(receipt_id)
    if receipt is None:
        raise NotFound("receipt", receipt_id)
    return json_response(200, {"id": receipt_id, **receipt})
