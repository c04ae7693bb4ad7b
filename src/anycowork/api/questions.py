"""Questions: answered by a person, with an option's value or, where the question allows it, in their own words."""

from typing import Annotated

from fastapi import Response
from pydantic import Field

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Decider
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes.chats import TurnStarted
from anycowork.domain.boundary import Boundary

routes = Routes(tags=["questions"])

Words = Annotated[str, Field(max_length=100_000)]


class Answer(Boundary):
    """Exactly one of the two."""

    value: Words | None = None
    custom: Words | None = None


@routes.post(
    "/context/{chat_id}/questions/{message_id}/answer", response_model=TurnStarted, responses=faults(404, body=True)
)
async def answer_question(chat_id: str, message_id: str, wanted: Answer, principal: Decider, rooms: House) -> Response:
    """The parked turn goes on with this answer."""
    turn_id = await rooms.decisions.answer(principal, chat_id, message_id, value=wanted.value, custom=wanted.custom)
    return answer(200, {"turn_id": turn_id})
