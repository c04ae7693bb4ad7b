"""Routes for workflows: list, group, show, and run them in a chat. What may run depends on the chat's folder and role."""

from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.dependencies import ServicesDep
from anycowork.api.errors import error_response
from anycowork.api.middleware.auth import Reader, Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router
from anycowork.api.schemas.workflows import RunStarted, WorkflowCategories, WorkflowList, WorkflowPage
from anycowork.chats.lookup import require_chat
from anycowork.chats.services import Services
from anycowork.domain.boundary import Boundary
from anycowork.domain.messages import Json
from anycowork.domain.workflow_errors import UnfittingParameters
from anycowork.workflows.catalog import WorkflowCatalog

routes = Router(tags=["workflows"])

OfChat = Annotated[str | None, Query(max_length=64, description="With what this chat's folder supplies.")]
OfFolder = Annotated[str | None, Query(min_length=1, max_length=4096, description="With what this folder supplies.")]


class RunWorkflowRequest(Boundary):
    """Values come with their type or as text, as a form's fields do."""

    context_id: Annotated[str, Field(min_length=1, max_length=64)]
    parameters: Json = Field(default_factory=dict, examples=[{"path": "src/app.py"}])


@routes.get("/workflows", response_model=WorkflowList, responses=error_responses(404, 422))
async def list_workflows(
    principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    """Without a chat or a folder: as in the folder that a new chat gets. `faults` tells which files give no workflow, and why."""
    found = await _catalog(services, context_id, workspace)
    shown = [one.to_json() for one in found.listed]
    return json_response(200, {"workflows": shown, "faults": [fault.to_json() for fault in found.faults]})


@routes.get("/workflows/categories", response_model=WorkflowCategories, responses=error_responses(404, 422))
async def list_categories(
    principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    found = (await _catalog(services, context_id, workspace)).by_category()
    categories = [{"name": name, "workflows": [one.to_json() for one in listed]} for name, listed in found.items()]
    return json_response(200, {"categories": categories})


@routes.get("/workflows/{name}", response_model=WorkflowPage, responses=error_responses(404, 422))
async def show_workflow(
    name: str, principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    """With the file's whole text: what a person reads before trusting it."""
    found = (await _catalog(services, context_id, workspace)).find(name)
    return json_response(200, {**found.to_json(), "content": found.file.text or ""})


@routes.post(
    "/workflows/{name}/execute",
    status_code=202,
    response_model=RunStarted,
    responses=error_responses(404, 502, body=True),
)
async def execute_workflow(name: str, wanted: RunWorkflowRequest, principal: Sender, services: ServicesDep) -> Response:
    """Runs it as a turn of this chat, in the chat's role. Progress arrives as `workflow-progress` events; `stop` stops it."""
    try:
        started = await services.chats.execute(principal, wanted.context_id, name, wanted.parameters)
    except UnfittingParameters as fault:
        return unfitting(fault)
    body = {"run_id": started.run_id, "message_id": started.message_id, "turn_id": started.turn_id}
    return json_response(202, body)


def unfitting(fault: UnfittingParameters) -> Response:
    """Beside the error every parameter at fault, for a form to show each at its field."""
    listed = [{"param": name, "message": reason} for name, reason in fault.faults.items()]
    return json_response(fault.status, {**error_response(fault).to_json(), "faults": listed})


async def _catalog(services: Services, context_id: str | None, workspace: str | None) -> WorkflowCatalog:
    """Raises: NotFound, BadWorkspace."""
    if context_id is not None:
        return await services.workflows.catalog((await require_chat(services.store, context_id)).workspace)
    return await services.workflows.catalog(await services.workspaces.find(workspace))
