"""Settings: shown without their secrets, changed by a person. What each one means is said where settings live."""

from typing import Annotated

from fastapi import Body, Response
from pydantic import JsonValue

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Manager, Reader
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes.settings import SettingsShape

routes = Routes(tags=["settings"])

Changes = Annotated[dict[str, JsonValue], Body(examples=[{"max_steps": 20}])]


@routes.get("/settings", response_model=SettingsShape, responses=faults())
async def show_settings(principal: Reader, rooms: House) -> Response:
    return answer(200, await rooms.settings.shown())


@routes.put("/settings", response_model=SettingsShape, responses=faults(body=True))
async def change_settings(changes: Changes, principal: Manager, rooms: House) -> Response:
    """Only the settings named change; null takes one back to its default."""
    return answer(200, await rooms.settings.change(changes))
