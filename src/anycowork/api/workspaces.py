"""Workspaces: the roots that a person registered. A chat's folder lies under one of them."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import AliasChoices, Field

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Manager, Reader
from anycowork.api.rooms import House
from anycowork.api.shapes import WorkspaceList, WorkspaceShape
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import BadWorkspace

routes = APIRouter(tags=["workspaces"])


class NewRoot(Boundary):
    root: Annotated[str, Field(min_length=1, max_length=4096, validation_alias=AliasChoices("root", "path"))]


@routes.get("/workspaces", response_model=WorkspaceList, responses=faults())
async def list_workspaces(principal: Reader, rooms: House) -> Response:
    roots = [{"root": each.root, "created_at": each.created_at} for each in await rooms.roots.all()]
    return answer(200, {"workspaces": roots})


@routes.post("/workspaces", status_code=201, response_model=WorkspaceShape, responses=faults(body=True))
async def register_workspace(wanted: NewRoot, principal: Manager, rooms: House) -> Response:
    """Never `/`, the home folder itself, or a folder that contains or lies in the data folder."""
    try:
        root = await rooms.roots.register(wanted.root, registered_by=principal.label())
    except BadWorkspace as error:
        raise BadWorkspace(error.message, param="root") from None
    return answer(201, {"root": root})
