"""Routes for chats: open, list, show, change, stop, fork, compact, export, remove."""

from typing import Annotated, Literal

from fastapi import Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from anycowork.api.errors import error_response
from anycowork.api.middleware.auth import Decider, Reader, Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.routes.roles import RoleWord, known_role
from anycowork.api.schemas.base import VisibilityField
from anycowork.api.schemas.chats import ChatList, ChatResponse, CompactedResponse, OpenChat, Stopped, TurnStarted
from anycowork.api.schemas.snapshots import RestoredResponse
from anycowork.chats.export.chat_export import ExportFormat
from anycowork.chats.fork_service import ForkRequest
from anycowork.domain.boundary import Boundary
from anycowork.domain.chats import Autonomy, ChatState
from anycowork.domain.errors import Invalid, RestoreConflict
from anycowork.domain.system_prompts import DEFAULT_ID
from anycowork.domain.visibility import viewer_of
from anycowork.server.services import Services
from anycowork.turns.continuation import continuation_of, steps_left_of, waiting_of
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
    visibility: VisibilityField | None = None


class ChangeChatRequest(Boundary):
    """What is absent stays as it is; so do a title and a model that are null. A system prompt that is null becomes the default."""

    title: Title | None = None
    model: Word | None = None
    system_prompt_id: Word | None = None
    autonomy: Annotated[Autonomy, Field(strict=False)] | None = None
    pinned: bool | None = None
    archived: bool | None = None
    visibility: VisibilityField | None = None


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
        visibility=body.visibility,
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
    chats, following = await services.store.chats.page(
        limit=limit,
        cursor=cursor,
        q=q,
        states=frozenset(state or ()),
        pinned=pinned,
        archived=archived,
        viewer=viewer_of(principal),
    )
    turns = await services.store.turns.newest_of([chat.id for chat in chats])
    listed = [{**chat.to_json(), "waiting": waiting_of(chat, turns.get(chat.id))} for chat in chats]
    return json_response(200, {"contexts": listed, "next": following})


@routes.get("/context/{chat_id}", response_model=OpenChat, responses=error_responses(404, 422))
async def show_chat(chat_id: str, principal: Reader, services: ServicesDep) -> Response:
    chat = await require_chat(services.store, chat_id)
    approvals = await services.store.approvals.of_chat(chat_id)
    questions = [question.message_id for question in await services.store.questions.open_in(chat_id)]
    waiting = {
        "approvals": [approval.id for approval in approvals],
        "question": next(iter(questions), None),
        "questions": questions,
    }
    newest = await services.store.turns.newest(chat_id)
    stopped = continuation_of(chat, newest)
    used = await services.store.usage.of_turn(chat_id, newest.id) if newest else ()
    also = {
        "waiting": waiting_of(chat, newest),
        "waiting_for": waiting,
        "queue": [queued.to_json() for queued in await services.queue.waiting(chat_id)],
        "continuable": stopped.to_json() if stopped else None,
        "steps_left": steps_left_of(chat, newest, services.server.settings.limits(chat.config.autonomy), used),
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
        visibility=body.visibility,
    )
    return json_response(200, chat.to_json())


@routes.delete(
    "/context/{chat_id}", status_code=204, response_class=Response, responses=error_responses(404, 409, 422, 507)
)
async def remove_chat(chat_id: str, principal: Sender, services: ServicesDep) -> Response:
    """Only an idle chat can be removed: stop it first."""
    removal = await services.person_commands.removal_of(chat_id)
    await services.chats.remove_chat(principal, chat_id, removal)
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


_FORMAT = "`json` can be imported again; `html` is one page that needs nothing else."
_KINDS = ("text/markdown", "application/json", "text/html")


@routes.get(
    "/context/{chat_id}/export",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in _KINDS}}, **error_responses(404, 422)},
)
async def export_chat(
    chat_id: str,
    principal: Reader,
    services: ServicesDep,
    export_format: Annotated[ExportFormat, Query(alias="format", description=_FORMAT)] = ExportFormat.MARKDOWN,
) -> Response:
    """The whole chat as a file: messages, approved plans against what was done, diffs, and the end of the audit chain.

    It is sent while it is read. If that fails half-way, the connection is closed before the body has ended.
    """
    file = await services.export.export(principal, chat_id, export_format)
    headers = {"content-disposition": f'attachment; filename="{file.name}"', **_INERT}
    return StreamingResponse(file.content, media_type=file.media_type, headers=headers)


# Whatever the chat holds, a browser that shows the file runs nothing of it.
_INERT = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"}


class NewFork(Boundary):
    """`files`: `none` leaves them as they are, `restore` takes them back to that moment, `copy` puts them as they were then into a new
    folder, in which the new chat works; `overwrite` names paths where someone else's change may be
    lost. `content` is sent in the new chat at once: an edited message, or the same again with another `model`."""

    message_id: Word
    files: Literal["none", "restore", "copy"] = "none"
    overwrite: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=4096)]], Field(max_length=100_000, fail_fast=True)
    ] = Field(default_factory=list)
    dry_run: bool = Field(False, description="Only say what restoring the files would do.")
    content: Annotated[str, Field(min_length=1)] | None = None
    model: Word | None = None


@routes.post(
    "/context/{chat_id}/fork",
    status_code=201,
    response_model=ChatResponse,
    responses={
        200: {"model": RestoredResponse, "description": "With `dry_run`."},
        **error_responses(404, 410, body=True),
    },
)
async def fork_chat(chat_id: str, body: NewFork, principal: Sender, services: ServicesDep) -> Response:
    """The new chat has the messages up to this one: a person's own message is left out, any other is included.

    What someone else changed meanwhile is a conflict: 409 with the list, and nothing changed.
    """
    request = ForkRequest(
        message_id=body.message_id,
        restore=body.files == "restore",
        copy=body.files == "copy",
        overwrite=tuple(body.overwrite),
        content=body.content,
        model=body.model,
    )
    try:
        if body.dry_run:
            return json_response(200, (await services.forks.preview(principal, chat_id, request)).to_json())
        return json_response(201, (await services.forks.fork(principal, chat_id, request)).to_json())
    except RestoreConflict as conflict:
        listed = {"conflicts": sorted(conflict.conflicts), "reasons": conflict.conflicts}
        return json_response(conflict.status, {**error_response(conflict).to_json(), **listed})
