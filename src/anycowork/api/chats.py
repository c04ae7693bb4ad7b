"""Chats: opened, listed, looked at, changed, stopped, removed."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Reader, Sender
from anycowork.api.roles import RoleWord, known_role
from anycowork.api.rooms import House, Rooms
from anycowork.api.routes import Routes
from anycowork.api.shapes.chats import ChatList, ChatShape, OpenChat, Stopped
from anycowork.chats.finding import find_chat
from anycowork.domain.boundary import Boundary
from anycowork.domain.chats import Autonomy, ChatState
from anycowork.domain.errors import Invalid
from anycowork.domain.system_prompts import DEFAULT_ID

routes = Routes(tags=["chats"])

Title = Annotated[str, Field(min_length=1, max_length=500, examples=["Tidy the docs"])]
Word = Annotated[str, Field(min_length=1, max_length=500)]
_STATES = "Only chats in this state; may be repeated."


class NewChat(Boundary):
    """`mode` is the role by its older name: plan, act, or the role itself."""

    title: Title | None = None
    workspace: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    agent_role: RoleWord | None = None
    mode: RoleWord | None = None
    model: Word | None = None
    system_prompt_id: Word | None = None


class ChatChange(Boundary):
    """What is absent stays as it is; so do a title and a model that are null. A system prompt that is null becomes the default."""

    title: Title | None = None
    model: Word | None = None
    system_prompt_id: Word | None = None
    autonomy: Annotated[Autonomy, Field(strict=False)] | None = None


@routes.post("/context", status_code=201, response_model=ChatShape, responses=faults(body=True))
async def open_chat(principal: Sender, rooms: House, wanted: NewChat | None = None) -> Response:
    wanted = wanted or NewChat()
    chat = await rooms.desk.open_chat(
        principal,
        title=wanted.title,
        workspace=wanted.workspace,
        role=_first_role(rooms, wanted),
        model=wanted.model,
        system_prompt_id=wanted.system_prompt_id,
    )
    return answer(201, chat.to_json())


def _first_role(rooms: Rooms, wanted: NewChat) -> str | None:
    """Raises: UnknownRole; Invalid if the two words mean two roles."""
    words = {"agent_role": wanted.agent_role, "mode": wanted.mode}
    roles = {known_role(rooms.roles, word, param=param) for param, word in words.items() if word is not None}
    if len(roles) > 1:
        raise Invalid("'mode' and 'agent_role' name two roles, and a chat has one. Send either.", param="mode")
    return next(iter(roles), None)


@routes.get("/context", response_model=ChatList, responses=faults(422))
async def list_chats(
    principal: Reader,
    rooms: House,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    q: Annotated[str | None, Query(max_length=200, description="Words in the title.")] = None,
    state: Annotated[list[ChatState] | None, Query(max_length=10, description=_STATES)] = None,
) -> Response:
    chats, following = await rooms.store.chats_page(limit=limit, cursor=cursor, q=q, states=frozenset(state or ()))
    return answer(200, {"contexts": [chat.to_json() for chat in chats], "next": following})


@routes.get("/context/{chat_id}", response_model=OpenChat, responses=faults(404, 422))
async def show_chat(chat_id: str, principal: Reader, rooms: House) -> Response:
    chat = await find_chat(rooms.store, chat_id)
    approvals, question = await rooms.store.approvals(chat_id), await rooms.store.open_question(chat_id)
    waiting = {
        "approvals": [approval.id for approval in approvals],
        "question": question.message_id if question else None,
    }
    return answer(200, {**chat.to_json(), "waiting_for": waiting})


@routes.patch("/context/{chat_id}", response_model=ChatShape, responses=faults(404, 409, body=True))
async def change_chat(chat_id: str, wanted: ChatChange, principal: Sender, rooms: House) -> Response:
    prompt_id = wanted.system_prompt_id or (DEFAULT_ID if "system_prompt_id" in wanted.model_fields_set else None)
    chat = await rooms.desk.change_chat(
        principal,
        chat_id,
        title=wanted.title,
        model=wanted.model,
        system_prompt_id=prompt_id,
        autonomy=wanted.autonomy,
    )
    return answer(200, chat.to_json())


@routes.delete("/context/{chat_id}", status_code=204, response_class=Response, responses=faults(404, 409, 422, 507))
async def remove_chat(chat_id: str, principal: Sender, rooms: House) -> Response:
    """Only an idle chat can be removed: stop it first."""
    await rooms.desk.remove_chat(principal, chat_id)
    return Response(status_code=204)


@routes.post("/context/{chat_id}/stop", response_model=Stopped, responses=faults(404, body=True))
async def stop(chat_id: str, principal: Sender, rooms: House) -> Response:
    """Ends the running turn; an idle chat has nothing to stop, which is no error."""
    return answer(200, {"stopped": await rooms.desk.stop(principal, chat_id)})
