"""What takes room on the server's disk, and which of it has a bound."""

from fastapi import Response

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Reader
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes.storage import StorageShape

routes = Routes(tags=["operation"])


@routes.get("/storage", response_model=StorageShape, responses=faults())
async def show_storage(principal: Reader, rooms: House) -> Response:
    """Looks at every file of the data folder: for a person who wants to know, not for a probe."""
    return answer(200, {"storage": list(await rooms.storage())})
