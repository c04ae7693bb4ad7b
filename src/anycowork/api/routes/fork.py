"""The route for forks: a new chat from any message, with the files as they are or as they were then."""

from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.errors import error_response
from anycowork.api.middleware.auth import Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.chats import ChatResponse
from anycowork.api.schemas.snapshots import RestoredResponse
from anycowork.chats.fork_service import ForkRequest
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import RestoreConflict

routes = Router(tags=["chats"])

Word = Annotated[str, Field(min_length=1, max_length=500)]


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
