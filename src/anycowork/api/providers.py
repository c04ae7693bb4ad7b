"""Providers: who can answer, and who does. Keys are never shown."""

from fastapi import Response

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Reader
from anycowork.api.rooms import House
from anycowork.api.routes import Routes
from anycowork.api.shapes.models import ProviderList

routes = Routes(tags=["providers"])


@routes.get("/providers", response_model=ProviderList, responses=faults())
async def list_providers(principal: Reader, rooms: House) -> Response:
    return answer(200, {"providers": list(rooms.providers.describe())})
