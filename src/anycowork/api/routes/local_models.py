"""Routes for local models: list, download and remove them. A download runs in the background; the list shows its progress."""

from fastapi import Response

from anycowork.api.middleware.auth import Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.models import LocalModelList, LocalModelResponse

routes = Router(prefix="/models/local", tags=["local models"])


@routes.get("", response_model=LocalModelList, responses=error_responses())
async def list_local_models(principal: Reader, services: ServicesDep) -> Response:
    return json_response(200, services.models.local.shown())


@routes.post(
    "/{name}/pull",
    status_code=202,
    response_model=LocalModelResponse,
    responses=error_responses(404, 408, 409, 413, 422, 507),
)
async def pull_local_model(name: str, principal: Manager, services: ServicesDep) -> Response:
    """What an earlier try fetched is not fetched again."""
    return json_response(202, services.models.local.pull(name))


@routes.post(
    "/{name}/cancel", response_model=LocalModelResponse, responses=error_responses(404, 408, 409, 413, 422, 507)
)
async def cancel_local_model(name: str, principal: Manager, services: ServicesDep) -> Response:
    """What was fetched is kept for the next try."""
    return json_response(200, await services.models.local.cancel(name))


@routes.delete("/{name}", status_code=204, response_class=Response, responses=error_responses(404, 409, 422))
async def remove_local_model(name: str, principal: Manager, services: ServicesDep) -> Response:
    await services.models.local.remove(name)
    return Response(status_code=204)
