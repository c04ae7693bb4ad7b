"""Routes about the server itself: its version and folder, what uses space on its disk, and which parts are limited."""

import platform

from fastapi import Response

from anycowork import __version__
from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.settings import AboutResponse, StorageResponse

LICENCE = "Apache-2.0"
routes = Router(tags=["operation"])


@routes.get("/storage", response_model=StorageResponse, responses=error_responses())
async def show_storage(principal: Reader, services: ServicesDep) -> Response:
    """Looks at every file of the data folder: for a person who wants to know, not for a probe."""
    return json_response(200, {"storage": list(await services.server.storage())})


@routes.get("/about", response_model=AboutResponse, responses=error_responses())
async def show_about(principal: Manager, services: ServicesDep) -> Response:
    settings = await services.server.settings.shown()
    about = {"version": __version__, "python": platform.python_version(), "licence": LICENCE}
    return json_response(200, {**about, "data_dir": settings["data_dir"]})
