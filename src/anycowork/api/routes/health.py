"""Routes about the server itself: liveness, readiness, metrics, its version and its disk. Probes reach the first two without a token."""

import platform

from fastapi import Response

from anycowork import __version__
from anycowork.api.middleware.auth import Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.base import Health
from anycowork.api.schemas.settings import AboutResponse, StorageResponse
from anycowork.domain.errors import StorageFault

routes = Router(tags=["operation"])


class NotReady(StorageFault):
    code = "not_ready"


@routes.get("/healthz", response_model=Health, responses=error_responses())
async def health() -> Response:
    return json_response(200, {"status": "ok"})


@routes.get("/readyz", response_model=Health, responses=error_responses())
async def readiness(services: ServicesDep) -> Response:
    """503 while the server is ending, or when its database does not answer."""
    if services.server.stopping.is_set():
        raise NotReady("The server is stopping. Ask another one, or try again when it is back.")
    await services.store.chats.find("")  # any read proves that the database answers
    return json_response(200, {"status": "ready"})


@routes.get(
    "/metrics",
    response_class=Response,
    responses={**error_responses(), 200: {"description": "Prometheus text.", "content": {"text/plain": {}}}},
)
async def metrics(principal: Reader, services: ServicesDep) -> Response:
    return Response(await services.server.metrics.scrape(), media_type="text/plain; version=0.0.4")


LICENCE = "Apache-2.0"


@routes.get("/storage", response_model=StorageResponse, responses=error_responses())
async def show_storage(principal: Reader, services: ServicesDep) -> Response:
    """Looks at every file of the data folder: for a person who wants to know, not for a probe."""
    return json_response(200, {"storage": list(await services.server.storage())})


@routes.get("/about", response_model=AboutResponse, responses=error_responses())
async def show_about(principal: Manager, services: ServicesDep) -> Response:
    settings = await services.server.settings.shown()
    about = {"version": __version__, "python": platform.python_version(), "licence": LICENCE}
    return json_response(200, {**about, "data_dir": settings["data_dir"]})
