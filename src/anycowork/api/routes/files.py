"""Routes for a person who browses the files of a chat's workspace."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.files import FileResponse, FolderResponse, FoundPathsResponse, OriginsResponse
from anycowork.domain.boundary import Boundary
from anycowork.turns.lookup import require_chat

routes = Router(tags=["files"])

_QUERY = "Letters of the path in order; every word must match. Empty: the shortest paths."


class VouchRequest(Boundary):
    """`sha256` is the hash of the content that the person read."""

    path: Annotated[str, Field(min_length=1, max_length=4096)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@routes.get("/context/{chat_id}/files/search", response_model=FoundPathsResponse, responses=error_responses(404, 422))
async def search_files(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    q: Annotated[str, Query(max_length=200, description=_QUERY)] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Response:
    """Finds files and folders by name, best match first. What git ignores and what rules hide is left out."""
    matches = await services.files.search(principal, chat_id, q, limit=limit)
    body = {"results": [match.to_json() for match in matches.paths], "complete": matches.complete}
    return json_response(200, body)


@routes.get("/context/{chat_id}/files", response_model=FolderResponse, responses=error_responses(404, 409, 422))
async def list_files(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    path: Annotated[
        str, Query(min_length=1, max_length=4096, description="A folder, from the workspace's root.")
    ] = ".",
    cursor: Annotated[str | None, Query(max_length=1024, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
) -> Response:
    """One folder of the workspace, one page at a time, with who changed what since the chat began."""
    folder = await services.files.folder(principal, chat_id, path, cursor=cursor, limit=limit)
    return json_response(200, folder.to_json())


@routes.get("/context/{chat_id}/file", response_model=FileResponse, responses=error_responses(404, 409, 422))
async def show_file(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    path: Annotated[str, Query(min_length=1, max_length=4096)],
    reveal: Annotated[bool, Query(description="Show the content although it is protected.")] = False,
) -> Response:
    """One file of the workspace. The content of key files, and of files that rules hide from agents, comes only with `reveal`."""
    file = await services.files.file(principal, chat_id, path, reveal=reveal)
    return json_response(200, file.to_json())


@routes.get("/context/{chat_id}/origins", response_model=OriginsResponse, responses=error_responses(404, 422))
async def show_origins(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    path: Annotated[str, Query(min_length=1, max_length=4096, description="A file, from the workspace's root.")],
) -> Response:
    """Where what a file holds came from."""
    file = await services.files.file(principal, chat_id, path, reveal=False)
    chat = await require_chat(services.store, chat_id)
    origins = await services.store.origins.of_paths(chat.workspace, [file.content.path])
    return json_response(200, {"origins": sorted(origins)})


@routes.post("/context/{chat_id}/origins", response_model=OriginsResponse, responses=error_responses(404, body=True))
async def vouch_for_file(chat_id: str, body: VouchRequest, principal: Decider, services: ServicesDep) -> Response:
    """The person has read the file and vouches for it: it counts as their own. If it is not what they read: 409."""
    origins = await services.file_edits.vouch(principal, chat_id, body.path, seen=body.sha256)
    return json_response(200, {"origins": sorted(origins)})
