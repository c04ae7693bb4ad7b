"""Route for workers: the processes that run jobs of this server's database."""

from fastapi import Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.workers import WorkersShape

routes = Router(tags=["operation"])


@routes.get("/workers", response_model=WorkersShape, responses=error_responses())
async def list_workers(principal: Reader, services: ServicesDep) -> Response:
    """The living workers, what each runs and what it refused. A server on SQLite has none."""
    found = await services.server.workers() if services.server.workers is not None else []
    return json_response(200, {"workers": [worker.to_json() for worker in found]})
