"""Workspaces: the roots that a person registered, and what they supply that a person has to trust first."""

from typing import Annotated

from fastapi import Response
from pydantic import AliasChoices, Field

from anycowork.api.answers import answer, faults
from anycowork.api.auth import Manager, Reader
from anycowork.api.rooms import House, Rooms
from anycowork.api.routes import Routes
from anycowork.api.shapes.workspaces import InstructionsPage, WorkspaceList, WorkspaceShape
from anycowork.api.workflows import OfChat, OfFolder
from anycowork.chats.finding import find_chat
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import BadWorkspace, Invalid
from anycowork.domain.messages import Json
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.principals import Principal

routes = Routes(tags=["workspaces"])

Path = Annotated[str, Field(min_length=1, max_length=4096)]


class Trust(Boundary):
    """Exactly this content of this file. A null hash takes the trust back."""

    workspace: Path
    path: Annotated[str, Field(min_length=1, max_length=4096, examples=[".anycowork/workflows/release.md"])]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None
    context_id: Annotated[
        str | None,
        Field(max_length=64, description="The chat it is said in: then it stands in that chat's audit chain."),
    ] = None


class WorkspaceWish(Boundary):
    """Either a folder to register, or a file in one to trust."""

    root: Annotated[Path | None, Field(validation_alias=AliasChoices("root", "path", "workspace"))] = None
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
        return await _trust(wanted.trust, principal, rooms)
    if wanted.root is None or wanted.trust is not None:
        raise Invalid("Send either 'root' (a folder to register) or 'trust' (a file in one).", param="root")
    try:
        root = await rooms.roots.register(wanted.root, registered_by=principal.label())
    except BadWorkspace as error:
        raise BadWorkspace(error.message, param="root") from None
    return answer(201, {"root": root, "supplies": await _supplies(rooms, root)})


@routes.get("/instructions", response_model=InstructionsPage, responses=faults(404, 422))
async def show_instructions(
    principal: Reader, rooms: House, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    """How a folder's own file (AGENTS.md) tells agents to work there, with its whole text: what a person reads before trusting it.
    It is used in the folder's chats as long as its state is `trusted`. Without a chat or a folder: of the one that a new chat gets."""
    chat = await find_chat(rooms.store, context_id) if context_id is not None else None
    found = await rooms.supplies.instructions(chat.workspace if chat else await rooms.find_workspace(workspace))
    return answer(200, {"instructions": _shown(found) if found is not None else None})


def _shown(file: SuppliedFile) -> Json:
    states = {"unreadable": file.text is None, "trusted": file.trusted, "changed": file.changed, "untrusted": True}
    return {
        "path": file.path,
        "sha256": file.sha256 or None,
        "state": next(state for state, holds in states.items() if holds),
        "content": file.text,
        "fault": file.fault,
    }


async def _trust(wanted: Trust, principal: Principal, rooms: Rooms) -> Response:
    try:
        root = await rooms.trust.trust(
            principal, wanted.workspace, wanted.path, wanted.sha256, chat_id=wanted.context_id
        )
    except BadWorkspace as error:
        raise BadWorkspace(error.message, param="trust.workspace") from None
    return answer(201, {"root": root, "supplies": await _supplies(rooms, root)})


async def _supplies(rooms: Rooms, root: str) -> list[Json]:
    return [
        {"kind": one.kind, "path": one.path, "sha256": one.sha256, "trusted": one.trusted}
        for one in await rooms.supplies.in_root(root)
    ]
