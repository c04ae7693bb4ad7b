"""Routes for a person who browses or changes the files of a chat's workspace, completes names of symbols, or adds to its instructions."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.files import (
    FileResponse,
    FolderResponse,
    FoundPathsResponse,
    FoundSymbolsResponse,
    MemoryChangeResponse,
    NetChangeList,
    NetChangeResponse,
    OriginsResponse,
    RememberedResponse,
    SavedFileResponse,
    WrittenChangeResponse,
)
from anycowork.domain.boundary import Boundary
from anycowork.turns.lookup import require_chat_in_folder

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
    chat = await require_chat_in_folder(services.store, chat_id)
    origins = await services.store.origins.of_paths(chat.workspace, [file.content.path])
    return json_response(200, {"origins": sorted(origins)})


@routes.post("/context/{chat_id}/origins", response_model=OriginsResponse, responses=error_responses(404, body=True))
async def vouch_for_file(chat_id: str, body: VouchRequest, principal: Decider, services: ServicesDep) -> Response:
    """The person has read the file and vouches for it: it counts as their own. If it is not what they read: 409."""
    origins = await services.file_edits.vouch(principal, chat_id, body.path, seen=body.sha256)
    return json_response(200, {"origins": sorted(origins)})


@routes.get("/context/{chat_id}/symbols", response_model=FoundSymbolsResponse, responses=error_responses(404, 422))
async def search_symbols(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    q: Annotated[str, Query(max_length=100, description="How the name begins, letters and digits.")],
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
) -> Response:
    """Finds functions, classes and the like by the beginning of their names, the shortest first. What rules hide is left out."""
    symbols = await services.symbols.search(principal, chat_id, q, limit=limit)
    return json_response(200, {"results": [symbol.to_json() for symbol in symbols]})


Note = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"\S", examples=["Run the tests with make test."])]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class NoteRequest(Boundary):
    text: Note


class RememberRequest(NoteRequest):
    """`sha256` is that of the change as it was shown; null if the file was not there."""

    sha256: Hash | None


@routes.post(
    "/context/{chat_id}/memory", response_model=MemoryChangeResponse, responses=error_responses(404, body=True)
)
async def preview_memory(chat_id: str, body: NoteRequest, principal: Decider, services: ServicesDep) -> Response:
    """Shows how the folder's AGENTS.md would change. Nothing is written."""
    change = await services.memory.preview(principal, chat_id, body.text)
    return json_response(200, change.to_json())


@routes.put("/context/{chat_id}/memory", response_model=RememberedResponse, responses=error_responses(404, body=True))
async def remember(chat_id: str, body: RememberRequest, principal: Decider, services: ServicesDep) -> Response:
    """Makes the change that was shown: the person's own edit, with a checkpoint. 409 if the file changed since."""
    return json_response(200, await services.memory.remember(principal, chat_id, body.text, expected=body.sha256))


Path = Annotated[str, Field(min_length=1, max_length=4096)]


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
