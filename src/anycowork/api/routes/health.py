"""Routes for liveness, readiness and metrics. The first two are open to probes; the metrics need the token."""

from fastapi import Response

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.base import Health
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
    await services.store.chat("")  # any read proves that the database answers
    return json_response(200, {"status": "ready"})


@routes.get(
    "/metrics",
    response_class=Response,
    responses={**error_responses(), 200: {"description": "Prometheus text.", "content": {"text/plain": {}}}},
)
async def metrics(principal: Reader, services: ServicesDep) -> Response:
    return Response(await services.server.metrics.scrape(), media_type="text/plain; version=0.0.4")
