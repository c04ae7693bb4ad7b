"""Workspaces: the roots that a person registered, and what they supply that a person has to trust first."""

import asyncio
from typing import Annotated

from fastapi import Query, Response
from pydantic import AliasChoices, Field

from anycowork.api.middleware.auth import Decider, Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.routes.workflows import OfChat, OfFolder
from anycowork.api.schemas.base import VisibilityField
from anycowork.api.schemas.workspaces import (
    FolderList,
    InstructionsPage,
    WorkspaceList,
    WorkspaceResponse,
    WorktreeResponse,
)
from anycowork.chats.chat_visibility import visible_roots
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import BadWorkspace, Invalid
from anycowork.domain.job_workers import TravelSettings
from anycowork.domain.messages import Json
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.principals import OWNER, Principal
from anycowork.domain.visibility import EVERYONE
from anycowork.server.services import Services
from anycowork.store.sql.workspaces import workspace_id_of
from anycowork.turns.lookup import require_chat_in_folder

routes = Router(tags=["workspaces"])

Path = Annotated[str, Field(min_length=1, max_length=4096)]


class TrustRequest(Boundary):
    """Exactly this content of this file. A null hash takes the trust back."""

    workspace: Path
    path: Annotated[str, Field(min_length=1, max_length=4096, examples=[".anycowork/workflows/release.md"])]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None
    context_id: Annotated[
        str | None,
        Field(max_length=64, description="The chat it is said in: then it stands in that chat's audit chain."),
    ] = None


class WorkspaceRequest(Boundary):
    """Either a folder to register, or a file in one to trust."""

    root: Annotated[Path | None, Field(validation_alias=AliasChoices("root", "path", "workspace"))] = None
    trust: TrustRequest | None = None
    trusts_contents: Annotated[
        bool | None, Field(description="Vouch for what lies in the folder: then reading it needs no endorsement.")
    ] = None
    visibility: VisibilityField | None = None


class WorkspaceChange(Boundary):
    """Whether a person vouches for what lies in the folder. What git brings from elsewhere afterwards is not included.

    `visibility`: who sees the folder and the chats in it."""

    trusts_contents: bool | None = None
    visibility: VisibilityField | None = None
    check: Annotated[
        str | None,
        Field(
            max_length=2_000,
            pattern=r"^[^\x00-\x1f\x7f]*$",
            examples=["pytest -q tests/unit"],
            description="The command that checks the work in the folder when a turn ends, without asking, in the sandbox, without "
            "network; empty: the tests that are found there.",
        ),
    ] = None


Pattern = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00\r\n]+$", examples=["data/", "!dist/"])]


class TravelChange(Boundary):
    leave_out: Annotated[list[Pattern], Field(max_length=200)]


class WorkspaceTravel(Boundary):
    """What is not given stays as it is; an empty `setup` runs nothing."""

    setup: Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")] | None = None
    travel: TravelChange | None = None


@routes.get("/workspaces", response_model=WorkspaceList, responses=error_responses())
async def list_workspaces(principal: Reader, services: ServicesDep) -> Response:
    """With what each supplies: a file that is not trusted is not used."""
    listed = [
        {
            "id": root.id,
            "root": root.root,
            "created_at": root.created_at,
            "trusts_contents": root.trusts_contents,
            "visibility": root.visibility,
            "owner": root.owner,
            "check": root.check or None,
            **root.travel.to_json(),
            "supplies": await _supplied_files(services, root.root),
        }
        for root in visible_roots(principal, await services.workspaces.roots.all())
    ]
    return json_response(200, {"workspaces": listed})


@routes.post(
    "/workspaces", status_code=201, response_model=WorkspaceResponse, responses=error_responses(404, body=True)
)
async def register_or_trust(body: WorkspaceRequest, principal: Manager, services: ServicesDep) -> Response:
    """A root is never `/`, the home folder itself, or a folder that contains or lies in the data folder. Trust holds for one content:
    a change asks again."""
    if body.trust is not None and body.root is None:
        return await _trust(body.trust, principal, services)
    if body.root is None or body.trust is not None:
        raise Invalid("Send either 'root' (a folder to register) or 'trust' (a file in one).", param="root")
    visibility = services.visibility
    try:
        roots = services.workspaces.roots
        folder = await visibility.visible_folder(principal, roots.real_path(body.root))
        of_new, owner = await visibility.of_new_workspace(principal, folder, await roots.all())
        root = await roots.register(body.root, registered_by=principal.label(), visibility=of_new, owner=owner)
    except BadWorkspace as error:
        raise BadWorkspace(error.message, param="root") from None
    if body.visibility is not None:
        await _share(services, principal, root, body.visibility)
    if body.trusts_contents is not None:
        await services.workspaces.roots.trust_contents(workspace_id_of(root), body.trusts_contents)
    return json_response(201, await _described(services, root))


@routes.patch("/workspaces/{workspace_id}", response_model=WorkspaceResponse, responses=error_responses(404, body=True))
async def change_workspace(
    workspace_id: str, body: WorkspaceChange, principal: Manager, services: ServicesDep
) -> Response:
    """Vouches for the folder's contents, or takes that back; it holds from the next call on. Or says who sees it, and the chats in it, or
    which command checks the work in it."""
    if body.trusts_contents is None and body.visibility is None and body.check is None:
        raise Invalid("Send 'trusts_contents', 'visibility', 'check' or several of them.", param="trusts_contents")
    root = await services.workspaces.roots.root_of(workspace_id)
    if body.visibility is not None:
        await _share(services, principal, root, body.visibility)
    if body.trusts_contents is not None:
        await services.workspaces.roots.trust_contents(workspace_id, body.trusts_contents)
    if body.check is not None:
        await services.workspaces.roots.set_check(workspace_id, body.check)
    return json_response(200, await _described(services, root))


@routes.put("/workspaces/{workspace_id}", response_model=WorkspaceResponse, responses=error_responses(404, body=True))
async def set_travel(workspace_id: str, body: WorkspaceTravel, principal: Manager, services: ServicesDep) -> Response:
    """How the folder goes to workers that joined over HTTP. It holds from the next command on."""
    leave_out = body.travel.leave_out if body.travel is not None else None
    root = await services.workspaces.roots.set_travel(workspace_id, setup=body.setup, leave_out=leave_out)
    return json_response(200, await _described(services, root))


@routes.get("/workspaces/folders", response_model=FolderList, responses=error_responses(422))
async def complete_folder(
    principal: Manager, services: ServicesDep, path: Annotated[str, Query(min_length=1, max_length=4096)]
) -> Response:
    """Folders of the server's machine whose path begins like this, for who may register one."""
    return json_response(200, {"folders": await asyncio.to_thread(services.workspaces.roots.folders_like, path)})


@routes.delete(
    "/workspaces/{workspace_id}",
    status_code=204,
    response_class=Response,
    responses=error_responses(404, 409, 422, 507),
)
async def remove_workspace(workspace_id: str, principal: Manager, services: ServicesDep) -> Response:
    """Takes it off the list. Its files and chats stay; what was trusted in it is forgotten."""
    await services.workspaces.roots.remove(workspace_id)
    return Response(status_code=204)


class WorktreeRequest(Boundary):
    """A workspace with a git repository, or the chat that works in one."""

    branch: Annotated[str, Field(min_length=1, max_length=200, description="The name of the new branch.")]
    workspace: Path | None = None
    context_id: Annotated[str | None, Field(max_length=64, description="Then it is recorded in that chat.")] = None


@routes.post(
    "/workspaces/worktrees", status_code=201, response_model=WorktreeResponse, responses=error_responses(404, body=True)
)
async def create_worktree(body: WorktreeRequest, principal: Decider, services: ServicesDep) -> Response:
    """Creates a branch at the last commit, and a folder beside the workspace where it is checked out: a workspace for another chat."""
    root = await services.worktrees.create(principal, body.workspace, body.branch, chat_id=body.context_id)
    return json_response(201, {"root": root, "branch": body.branch})


@routes.get("/instructions", response_model=InstructionsPage, responses=error_responses(404, 422))
async def show_instructions(
    principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    """How a folder's own file (AGENTS.md) tells agents to work there, with its whole text: what a person reads before trusting it.
    It is used in the folder's chats as long as its state is `trusted`. Without a chat or a folder: of the one that a new chat gets."""
    chat = await require_chat_in_folder(services.store, context_id) if context_id is not None else None
    instructions = await services.workspaces.trusted_files.instructions(
        chat.workspace if chat else await services.workspaces.find(workspace)
    )
    return json_response(200, {"instructions": _shown(instructions) if instructions is not None else None})


def _shown(file: SuppliedFile) -> Json:
    states = {"unreadable": file.text is None, "trusted": file.trusted, "changed": file.changed, "untrusted": True}
    return {
        "path": file.path,
        "sha256": file.sha256 or None,
        "state": next(state for state, holds in states.items() if holds),
        "content": file.text,
        "fault": file.fault,
    }


async def _trust(trust: TrustRequest, principal: Principal, services: Services) -> Response:
    try:
        root = await services.workspaces.trust.trust(
            principal, trust.workspace, trust.path, trust.sha256, chat_id=trust.context_id
        )
    except BadWorkspace as error:
        raise BadWorkspace(error.message, param="trust.workspace") from None
    return json_response(201, await _described(services, root))


async def _share(services: Services, principal: Principal, root: str, visibility: str) -> None:
    known = await services.visibility.known(visibility)
    await services.workspaces.roots.set_visibility(principal, root, known)
    services.streams.list_changed()


async def _described(services: Services, root: str) -> Json:
    registered = next((entry for entry in await services.workspaces.roots.all() if entry.root == root), None)
    return {
        "id": registered.id if registered else None,
        "root": root,
        "trusts_contents": registered is not None and registered.trusts_contents,
        "visibility": registered.visibility if registered else EVERYONE,
        "owner": registered.owner if registered else OWNER.id,
        "check": (registered.check or None) if registered else None,
        **(registered.travel if registered else TravelSettings()).to_json(),
        "supplies": [*await _supplied_files(services, root)],
    }


async def _supplied_files(services: Services, root: str) -> list[Json]:
    return [
        {"kind": file.kind, "path": file.path, "sha256": file.sha256, "trusted": file.trusted}
        for file in await services.workspaces.trusted_files.in_root(root)
    ]
