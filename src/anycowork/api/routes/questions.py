"""Questions: answered by a person, with an option's value or, where the question allows it, in their own words."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.chats import TurnStarted
from anycowork.domain.boundary import Boundary

routes = Router(tags=["questions"])

Words = Annotated[str, Field(max_length=100_000)]
MergedContent = Annotated[str, Field(max_length=200_000)]


class QuestionAnswer(Boundary):
    """Exactly one of `value` and `custom`. `content` is the whole file as a person merged it, with the value `merge`."""

    value: Words | None = None
    custom: Words | None = None
    content: MergedContent | None = None


@routes.post(
    "/context/{chat_id}/questions/{message_id}/answer",
    response_model=TurnStarted,
    responses=error_responses(404, body=True),
)
async def answer_question(
    chat_id: str, message_id: str, body: QuestionAnswer, principal: Decider, services: ServicesDep
) -> Response:
    """The parked turn goes on with this answer."""
    turn_id = await services.decisions.answer(
        principal, chat_id, message_id, value=body.value, custom=body.custom, content=body.content
    )
    return json_response(200, {"turn_id": turn_id})
