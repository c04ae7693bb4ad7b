"""The route that completes names of symbols while a person types."""

from typing import Annotated

from fastapi import Query, Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.files import FoundSymbolsResponse

routes = Router(tags=["files"])


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
