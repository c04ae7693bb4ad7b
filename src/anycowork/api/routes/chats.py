"""Routes for chats: open, list, show, change, stop, remove."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider, Reader, Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.routes.roles import RoleWord, known_role
from anycowork.api.schemas.chats import ChatList, ChatResponse, OpenChat, Stopped, TurnStarted
from anycowork.domain.boundary import Boundary
from anycowork.domain.chats import Autonomy, ChatState
from anycowork.domain.errors import Invalid
from anycowork.domain.system_prompts import DEFAULT_ID
from anycowork.server.services import Services
from anycowork.turns.continuation import continuation_of, waiting_of
from anycowork.turns.lookup import require_chat

routes = Router(tags=["chats"])

Title = Annotated[str, Field(min_length=1, max_length=500, examples=["Tidy the docs"])]
Word = Annotated[str, Field(min_length=1, max_length=500)]
_STATES = "Only chats in this state; may be repeated."


class NewChatRequest(Boundary):
    """`mode` is the role by its older name: plan, act, or the role itself."""

    title: Title | None = None
    workspace: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    agent_role: RoleWord | None = None
    mode: RoleWord | None = None
    model: Word | None = None
    system_prompt_id: Word | None = None


class ChangeChatRequest(Boundary):
    """What is absent stays as it is; so do a title and a model that are null. A system prompt that is null becomes the default."""

    title: Title | None = None
    model: Word | None = None
    system_prompt_id: Word | None = None
    autonomy: Annotated[Autonomy, Field(strict=False)] | None = None
    pinned: bool | None = None
    archived: bool | None = None


@routes.post("/context", status_code=201, response_model=ChatResponse, responses=error_responses(body=True))
async def open_chat(principal: Sender, services: ServicesDep, body: NewChatRequest | None = None) -> Response:
    body = body or NewChatRequest()
    chat = await services.chats.open_chat(
        principal,
        title=body.title,
        workspace=body.workspace,
        role=_first_role(services, body),
        model=body.model,
        system_prompt_id=body.system_prompt_id,
    )
    return json_response(201, chat.to_json())


def _first_role(services: Services, body: NewChatRequest) -> str | None:
    """Raises: UnknownRole; Invalid if the two words mean two roles."""
    role_names = {"agent_role": body.agent_role, "mode": body.mode}
    roles = {known_role(services.roles, word, param=param) for param, word in role_names.items() if word is not None}
    if len(roles) > 1:
        raise Invalid("'mode' and 'agent_role' name two roles, and a chat has one. Send either.", param="mode")
    return next(iter(roles), None)


@routes.get("/context", response_model=ChatList, responses=error_responses(422))
async def list_chats(
    principal: Reader,
    services: ServicesDep,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    q: Annotated[str | None, Query(max_length=200, description="Words in the title.")] = None,
    state: Annotated[list[ChatState] | None, Query(max_length=10, description=_STATES)] = None,
    pinned: Annotated[bool | None, Query(description="Only chats that are pinned, or are not.")] = None,
    archived: Annotated[bool | None, Query(description="Only chats that are archived, or are not.")] = None,
) -> Response:
    chats, following = await services.store.chats_page(
        limit=limit, cursor=cursor, q=q, states=frozenset(state or ()), pinned=pinned, archived=archived
    )
    turns = await services.store.newest_turns([chat.id for chat in chats])
    listed = [{**chat.to_json(), "waiting": waiting_of(chat, turns.get(chat.id))} for chat in chats]
    return json_response(200, {"contexts": listed, "next": following})


@routes.get("/context/{chat_id}", response_model=OpenChat, responses=error_responses(404, 422))
async def show_chat(chat_id: str, principal: Reader, services: ServicesDep) -> Response:
    chat = await require_chat(services.store, chat_id)
    approvals, question = await services.store.approvals(chat_id), await services.store.open_question(chat_id)
    waiting = {
        "approvals": [approval.id for approval in approvals],
        "question": question.message_id if question else None,
    }
    newest = await services.store.newest_turn(chat_id)
    stopped = continuation_of(chat, newest)
    also = {
        "waiting": waiting_of(chat, newest),
        "waiting_for": waiting,
        "queue": [queued.to_json() for queued in await services.queue.waiting(chat_id)],
        "continuable": stopped.to_json() if stopped else None,
    }
    return json_response(200, {**chat.to_json(), **also})


@routes.patch("/context/{chat_id}", response_model=ChatResponse, responses=error_responses(404, 409, body=True))
async def change_chat(chat_id: str, body: ChangeChatRequest, principal: Sender, services: ServicesDep) -> Response:
    prompt_id = body.system_prompt_id or (DEFAULT_ID if "system_prompt_id" in body.model_fields_set else None)
    chat = await services.chats.change_chat(
        principal,
        chat_id,
        title=body.title,
        model=body.model,
        system_prompt_id=prompt_id,
        autonomy=body.autonomy,
        pinned=body.pinned,
        archived=body.archived,
    )
    return json_response(200, chat.to_json())


@routes.delete(
    "/context/{chat_id}", status_code=204, response_class=Response, responses=error_responses(404, 409, 422, 507)
)
async def remove_chat(chat_id: str, principal: Sender, services: ServicesDep) -> Response:
    """Only an idle chat can be removed: stop it first."""
    services.person_commands.require_none_in(chat_id)
    await services.chats.remove_chat(principal, chat_id)
    await services.mcp.use_in_chat(chat_id, [])
    return Response(status_code=204)


@routes.post("/context/{chat_id}/stop", response_model=Stopped, responses=error_responses(404, body=True))
async def stop(chat_id: str, principal: Sender, services: ServicesDep) -> Response:
    """Ends the running turn, and restores that run; an idle chat has nothing to stop, which is no error."""
    restores = services.rollback.stop(principal, chat_id)
    return json_response(200, {"stopped": await services.chats.stop(principal, chat_id) or restores})


@routes.post(
    "/context/{chat_id}/continue",
    status_code=202,
    response_model=TurnStarted,
    responses=error_responses(404, 409, body=True),
)
async def continue_turn(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Goes on where the last turn stopped: at a limit, by a restart, or with open steps of its plan. The request is not sent again."""
    return json_response(202, {"turn_id": await services.decisions.continue_turn(principal, chat_id)})


@routes.post(
    "/context/{chat_id}/dismiss",
    status_code=204,
    response_class=Response,
    responses=error_responses(404, 409, body=True),
)
async def dismiss(chat_id: str, principal: Decider, services: ServicesDep) -> Response:
    """Drops a plan that waits or that stopped, or a turn that could be continued: the chat no longer waits for a person."""
    await services.decisions.dismiss(principal, chat_id)
    return Response(status_code=204)
