"""Questions: answered by a person, with an option's value or, where the question allows it, in their own words."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.chats import TurnStarted
from anycowork.domain.boundary import Boundary

routes = Router(tags=["questions"])

Words = Annotated[str, Field(max_length=100_000)]


class QuestionAnswer(Boundary):
    """Exactly one of the two."""

    value: Words | None = None
    custom: Words | None = None


@routes.post(
    "/context/{chat_id}/questions/{message_id}/answer",
    response_model=TurnStarted,
    responses=error_responses(404, body=True),
)
async def answer_question(
    chat_id: str, message_id: str, wanted: QuestionAnswer, principal: Decider, services: ServicesDep
) -> Response:
    """The parked turn goes on with this answer."""
    turn_id = await services.decisions.answer(principal, chat_id, message_id, value=wanted.value, custom=wanted.custom)
    return json_response(200, {"turn_id": turn_id})
