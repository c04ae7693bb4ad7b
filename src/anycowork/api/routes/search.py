"""The route for the full-text search over all chats."""

from typing import Annotated

from fastapi import Query, Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.chats import SearchResults

routes = Router(tags=["messages"])

_QUERY = 'All words must occur; "words in quotes" must follow each other; the last word may be unfinished.'


@routes.get("/search", response_model=SearchResults, responses=error_responses(422))
async def search_messages(
    principal: Reader,
    services: ServicesDep,
    q: Annotated[str, Query(max_length=500, description=_QUERY)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    before: Annotated[str | None, Query(max_length=64, description="The `next` of the page before.")] = None,
) -> Response:
    """Searches what people and agents wrote in all chats, newest first. Calls and the output of tools are not searched."""
    matches, following = await services.store.search_messages(q, limit=limit, before=before)
    return json_response(200, {"results": [result.to_json() for result in matches], "next": following})
