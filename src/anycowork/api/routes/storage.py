"""Route for disk usage: what uses space on the server's disk, and which parts are limited."""

from fastapi import Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.storage import StorageShape

routes = Router(tags=["operation"])


@routes.get("/storage", response_model=StorageShape, responses=error_responses())
async def show_storage(principal: Reader, services: ServicesDep) -> Response:
    """Looks at every file of the data folder: for a person who wants to know, not for a probe."""
    return json_response(200, {"storage": list(await services.server.storage())})
