"""Routes for settings: show them without their secrets, and let a person change them. `config/settings.py` explains each one."""

from typing import Annotated

from fastapi import Body, Response
from pydantic import JsonValue

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.settings import SettingsShape

routes = Router(tags=["settings"])

Changes = Annotated[dict[str, JsonValue], Body(examples=[{"max_steps": 20}])]


@routes.get("/settings", response_model=SettingsShape, responses=error_responses())
async def show_settings(principal: Reader, services: ServicesDep) -> Response:
    return json_response(200, await services.server.settings.shown())


@routes.put("/settings", response_model=SettingsShape, responses=error_responses(body=True))
async def change_settings(changes: Changes, principal: Manager, services: ServicesDep) -> Response:
    """Only the settings named change; null takes one back to its default."""
    return json_response(200, await services.server.settings.change(changes))
