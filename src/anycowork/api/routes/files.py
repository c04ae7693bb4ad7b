"""Routes for a person who browses the files of a chat's workspace."""

from typing import Annotated

from fastapi import Query, Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.files import FoundPathsShape

routes = Router(tags=["files"])

_QUERY = "Letters of the path in order; every word must match. Empty: the shortest paths."


@routes.get("/context/{chat_id}/files/search", response_model=FoundPathsShape, responses=error_responses(404, 422))
async def search_files(
    chat_id: str,
    principal: Decider,
    services: ServicesDep,
    q: Annotated[str, Query(max_length=200, description=_QUERY)] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Response:
    """Finds files and folders by name, best match first. What git ignores and what rules hide is left out."""
    found = await services.files.search(principal, chat_id, q, limit=limit)
    body = {"results": [one.to_json() for one in found.paths], "complete": found.complete}
    return json_response(200, body)
