"""Workspaces: the roots that a person registered, and what they supply that a person has to trust first."""

from typing import Annotated

from fastapi import Response
from pydantic import AliasChoices, Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.middleware.auth import Decider, Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.routes.workflows import OfChat, OfFolder
from anycowork.api.schemas.workspaces import InstructionsPage, WorkspaceList, WorkspaceShape, WorktreeShape
from anycowork.chats.lookup import require_chat
from anycowork.chats.services import Services
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import BadWorkspace, Invalid
from anycowork.domain.messages import Json
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.principals import Principal

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


@routes.get("/workspaces", response_model=WorkspaceList, responses=error_responses())
async def list_workspaces(principal: Reader, services: ServicesDep) -> Response:
    """With what each supplies: a file that is not trusted is not used."""
    shown = [
        {"root": each.root, "created_at": each.created_at, "supplies": await _supplied_files(services, each.root)}
        for each in await services.workspaces.roots.all()
    ]
    return json_response(200, {"workspaces": shown})


@routes.post("/workspaces", status_code=201, response_model=WorkspaceShape, responses=error_responses(404, body=True))
async def register_or_trust(wanted: WorkspaceRequest, principal: Manager, services: ServicesDep) -> Response:
    """A root is never `/`, the home folder itself, or a folder that contains or lies in the data folder. Trust holds for one content:
    a change asks again."""
    if wanted.trust is not None and wanted.root is None:
        return await _trust(wanted.trust, principal, services)
    if wanted.root is None or wanted.trust is not None:
        raise Invalid("Send either 'root' (a folder to register) or 'trust' (a file in one).", param="root")
    try:
        root = await services.workspaces.roots.register(wanted.root, registered_by=principal.label())
    except BadWorkspace as error:
        raise BadWorkspace(error.message, param="root") from None
    return json_response(201, {"root": root, "supplies": await _supplied_files(services, root)})


class WorktreeRequest(Boundary):
    """A workspace with a git repository, or the chat that works in one."""

    branch: Annotated[str, Field(min_length=1, max_length=200, description="The name of the new branch.")]
    workspace: Path | None = None
    context_id: Annotated[str | None, Field(max_length=64, description="Then it is recorded in that chat.")] = None


@routes.post(
    "/workspaces/worktrees", status_code=201, response_model=WorktreeShape, responses=error_responses(404, body=True)
)
async def create_worktree(wanted: WorktreeRequest, principal: Decider, services: ServicesDep) -> Response:
    """Creates a branch at the last commit, and a folder beside the workspace where it is checked out: a workspace for another chat."""
    root = await services.worktrees.create(principal, wanted.workspace, wanted.branch, chat_id=wanted.context_id)
    return json_response(201, {"root": root, "branch": wanted.branch})


@routes.get("/instructions", response_model=InstructionsPage, responses=error_responses(404, 422))
async def show_instructions(
    principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    """How a folder's own file (AGENTS.md) tells agents to work there, with its whole text: what a person reads before trusting it.
    It is used in the folder's chats as long as its state is `trusted`. Without a chat or a folder: of the one that a new chat gets."""
    chat = await require_chat(services.store, context_id) if context_id is not None else None
    found = await services.workspaces.trusted_files.instructions(
        chat.workspace if chat else await services.workspaces.find(workspace)
    )
    return json_response(200, {"instructions": _shown(found) if found is not None else None})


def _shown(file: SuppliedFile) -> Json:
    states = {"unreadable": file.text is None, "trusted": file.trusted, "changed": file.changed, "untrusted": True}
    return {
        "path": file.path,
        "sha256": file.sha256 or None,
        "state": next(state for state, holds in states.items() if holds),
        "content": file.text,
        "fault": file.fault,
    }


async def _trust(wanted: TrustRequest, principal: Principal, services: Services) -> Response:
    try:
        root = await services.workspaces.trust.trust(
            principal, wanted.workspace, wanted.path, wanted.sha256, chat_id=wanted.context_id
        )
    except BadWorkspace as error:
        raise BadWorkspace(error.message, param="trust.workspace") from None
    return json_response(201, {"root": root, "supplies": await _supplied_files(services, root)})


async def _supplied_files(services: Services, root: str) -> list[Json]:
    return [
        {"kind": one.kind, "path": one.path, "sha256": one.sha256, "trusted": one.trusted}
        for one in await services.workspaces.trusted_files.in_root(root)
    ]
