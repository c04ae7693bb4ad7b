"""Routes for what a person does with files: save a text, look at the net changes since the chat began, take them back."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.files import NetChangeList, NetChangeResponse, SavedFileResponse, WrittenChangeResponse
from anycowork.domain.boundary import Boundary

routes = Router(tags=["files"])

Path = Annotated[str, Field(min_length=1, max_length=4096)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class SaveRequest(Boundary):
    """`sha256` is the hash of the content that was edited; null creates a new file."""

    path: Path
    text: Annotated[str, Field(max_length=1_000_000)]
    sha256: Hash | None


class RevertRequest(Boundary):
    """`state` is that of the change as it was shown; `hunks` are counted from 0, and without them the whole file goes back."""

    path: Path
    state: Hash
    hunks: Annotated[list[Annotated[int, Field(ge=0, le=100_000)]], Field(min_length=1, max_length=10_000)] | None = (
        None
    )


@routes.put("/context/{chat_id}/file", response_model=SavedFileResponse, responses=error_responses(404, body=True))
async def save_file(chat_id: str, body: SaveRequest, principal: Decider, services: ServicesDep) -> Response:
    """Saves a text as the person's own change, with a checkpoint. If the file is not what was edited: 409, and nothing is saved."""
    saved = await services.file_edits.save(principal, chat_id, body.path, body.text, expected=body.sha256)
    return json_response(200, saved.to_json())


@routes.get("/context/{chat_id}/changes", response_model=NetChangeList, responses=error_responses(404, 409, 422))
async def list_changes(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    after: Annotated[str | None, Query(max_length=4096, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Response:
    """The files that differ from their state when the chat began: one net difference each, however many calls made it."""
    page = await services.file_edits.changes(principal, chat_id, after=after, limit=limit)
    return json_response(200, {"changes": [change.to_json() for change in page.changes], "next": page.next})


@routes.get(
    "/context/{chat_id}/changes/file", response_model=NetChangeResponse, responses=error_responses(404, 409, 422)
)
async def show_change(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    path: Annotated[str, Query(min_length=1, max_length=4096)],
    reveal: Annotated[bool, Query(description="Show the difference although the file is protected.")] = False,
) -> Response:
    """The net difference of one file since the chat began."""
    change = await services.file_edits.change(principal, chat_id, path, reveal=reveal)
    return json_response(200, change.to_json())


@routes.post(
    "/context/{chat_id}/changes/revert", response_model=WrittenChangeResponse, responses=error_responses(404, body=True)
)
async def revert_change(chat_id: str, body: RevertRequest, principal: Decider, services: ServicesDep) -> Response:
    """Takes a file, or hunks of it, back to its state when the chat began: a change of the person, with a checkpoint."""
    written = await services.file_edits.revert(principal, chat_id, body.path, state=body.state, hunks=body.hunks)
    return json_response(200, {"snapshot": written.snapshot})
