"""Workspaces: the roots that a person registered, and what they supply that a person has to trust first."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import AliasChoices, Field

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Manager, Reader
from anycowork.api.rooms import House, Rooms
from anycowork.api.shapes import WorkspaceList, WorkspaceShape
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import BadWorkspace, Invalid
from anycowork.domain.messages import Json

routes = APIRouter(tags=["workspaces"])

Path = Annotated[str, Field(min_length=1, max_length=4096)]


class Trust(Boundary):
    """Exactly this content of this file. A null hash takes the trust back."""

    workspace: Path
    path: Annotated[str, Field(min_length=1, max_length=4096, examples=[".anycowork/workflows/release.md"])]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None


class WorkspaceWish(Boundary):
    """Either a folder to register, or a file in one to trust."""

    root: Annotated[Path | None, Field(validation_alias=AliasChoices("root", "path"))] = None
    trust: Trust | None = None


@routes.get("/workspaces", response_model=WorkspaceList, responses=faults())
async def list_workspaces(principal: Reader, rooms: House) -> Response:
    """With what each supplies: a file that is not trusted is not used."""
    shown = [
        {"root": each.root, "created_at": each.created_at, "supplies": await _supplies(rooms, each.root)}
        for each in await rooms.roots.all()
    ]
    return answer(200, {"workspaces": shown})


@routes.post("/workspaces", status_code=201, response_model=WorkspaceShape, responses=faults(404, body=True))
async def register_or_trust(wanted: WorkspaceWish, principal: Manager, rooms: House) -> Response:
    """A root is never `/`, the home folder itself, or a folder that contains or lies in the data folder. Trust holds for one content:
    a change asks again."""
    if wanted.trust is not None and wanted.root is None:
        return await _trust(wanted.trust, principal.label(), rooms)
    if wanted.root is None or wanted.trust is not None:
        raise Invalid("Send either 'root' (a folder to register) or 'trust' (a file in one).", param="root")
    try:
        root = await rooms.roots.register(wanted.root, registered_by=principal.label())
    except BadWorkspace as error:
        raise BadWorkspace(error.message, param="root") from None
    return answer(201, {"root": root, "supplies": await _supplies(rooms, root)})


async def _trust(wanted: Trust, by: str, rooms: Rooms) -> Response:
    try:
        await rooms.supplies.trust(wanted.workspace, wanted.path, wanted.sha256, by=by)
    except BadWorkspace as error:
        raise BadWorkspace(error.message, param="trust.workspace") from None
    root = await rooms.find_workspace(wanted.workspace)
    return answer(201, {"root": root, "supplies": await _supplies(rooms, root)})


async def _supplies(rooms: Rooms, root: str) -> list[Json]:
    return [
        {"kind": one.kind, "path": one.path, "sha256": one.sha256, "trusted": one.trusted}
        for one in await rooms.supplies.in_root(root)
    ]
