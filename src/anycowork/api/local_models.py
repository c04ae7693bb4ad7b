"""The local models: listed, fetched and removed. Fetching goes on in the background; whoever asks again sees how far it is."""

from fastapi import Response

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Manager, Reader
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes.models import LocalModelList, LocalModelShape

routes = Routes(prefix="/models/local", tags=["local models"])


@routes.get("", response_model=LocalModelList, responses=faults())
async def list_local_models(principal: Reader, rooms: House) -> Response:
    return answer(200, rooms.local.shown())


@routes.post(
    "/{name}/pull", status_code=202, response_model=LocalModelShape, responses=faults(404, 408, 409, 413, 422, 507)
)
async def pull_local_model(name: str, principal: Manager, rooms: House) -> Response:
    """What an earlier try fetched is not fetched again."""
    return answer(202, rooms.local.pull(name))


@routes.post("/{name}/cancel", response_model=LocalModelShape, responses=faults(404, 408, 409, 413, 422, 507))
async def cancel_local_model(name: str, principal: Manager, rooms: House) -> Response:
    """What was fetched is kept for the next try."""
    return answer(200, await rooms.local.cancel(name))


@routes.delete("/{name}", status_code=204, response_class=Response, responses=faults(404, 409, 422))
async def remove_local_model(name: str, principal: Manager, rooms: House) -> Response:
    await rooms.local.remove(name)
    return Response(status_code=204)
