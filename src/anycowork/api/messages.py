"""Messages: sent, and read back in pages whose stored bytes are passed on as they are."""

from typing import Annotated

import msgspec
from fastapi import Query, Response
from pydantic import Field, field_validator

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Reader, Sender
from anycowork.api.chats import chat_of
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes import MessageList, SentShape
from anycowork.api.workflows import unfitting
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import UnfittingParameters
from anycowork.domain.ports import MessagePage

routes = Routes(tags=["messages"])


class NewMessage(Boundary):
    content: Annotated[str, Field(min_length=1, examples=["What is in this folder?"])]

    @field_validator("content")
    @classmethod
    def _says_something(cls, content: str) -> str:
        if not content.strip():
            raise ValueError("must say something")
        return content


@routes.post(
    "/context/{chat_id}/messages", status_code=202, response_model=SentShape, responses=faults(404, 502, body=True)
)
async def send_message(chat_id: str, wanted: NewMessage, principal: Sender, rooms: House) -> Response:
    """Starts a turn. The answer arrives as events and messages. `/name key=value` runs a workflow; `//` at the start stands for one slash."""
    try:
        sent = await rooms.desk.send(principal, chat_id, wanted.content)
    except UnfittingParameters as fault:
        return unfitting(fault)
    run = {"run_id": sent.run_id} if sent.run_id else {}
    return answer(202, {"message_id": sent.message_id, "turn_id": sent.turn_id, **run})


@routes.get("/context/{chat_id}/messages", response_model=MessageList, responses=faults(404, 422))
async def list_messages(
    chat_id: str,
    principal: Reader,
    rooms: House,
    after: Annotated[str | None, Query(max_length=64)] = None,
    before: Annotated[str | None, Query(max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Response:
    """Ascending; without a cursor the newest. `after` and `before` leave out what they name."""
    await chat_of(rooms, chat_id)
    page = await rooms.store.messages_page(chat_id, after=after, before=before, limit=limit)
    return Response(_spliced(page), media_type="application/json")


def _spliced(page: MessagePage) -> bytes:
    rest = msgspec.json.encode({"last_seq": page.last_seq, "next": page.next})
    return b'{"messages":[' + b",".join(page.bodies) + b"]," + rest[1:]
