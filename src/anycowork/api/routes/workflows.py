"""Routes for workflows: list, group, show, and run them in a chat. What may run depends on the chat's folder and role."""

import asyncio
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from anycowork.api.middleware.auth import Manager, Reader, Sender
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.workflows import RunStarted, WorkflowCategories, WorkflowCheck, WorkflowList, WorkflowPage
from anycowork.domain.boundary import Boundary
from anycowork.domain.messages import Json
from anycowork.server.services import Services
from anycowork.turns.lookup import require_chat_in_folder
from anycowork.workflows.catalog import FileFault, ListedWorkflow, WorkflowCatalog

routes = Router(tags=["workflows"])

OfChat = Annotated[str | None, Query(max_length=64, description="With what this chat's folder supplies.")]
OfFolder = Annotated[str | None, Query(min_length=1, max_length=4096, description="With what this folder supplies.")]


class RunWorkflowRequest(Boundary):
    """Values come with their type or as text, as a form's fields do."""

    context_id: Annotated[str, Field(min_length=1, max_length=64)]
    parameters: Json = Field(default_factory=dict, examples=[{"path": "src/app.py"}])


class WorkflowText(Boundary):
    """A file: TOML between two lines of `+++`, a text for people, then a `## title` for each step."""

    content: Annotated[str, Field(max_length=100_000)]


class NewWorkflow(WorkflowText):
    name: Annotated[str, Field(min_length=1, max_length=200)]


class ChangedWorkflow(WorkflowText):
    sha256: str | None = Field(default=None, description="Of the content that was edited: refused if it changed since.")


@routes.get("/workflows", response_model=WorkflowList, responses=error_responses(404, 422))
async def list_workflows(
    principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    """Without a chat or a folder: as in the folder that a new chat gets. `faults` tells which files give no workflow, and why."""
    catalog = await _catalog(services, context_id, workspace)
    return await asyncio.to_thread(_list_response, catalog)


@routes.get("/workflows/categories", response_model=WorkflowCategories, responses=error_responses(404, 422))
async def list_categories(
    principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    catalog = await _catalog(services, context_id, workspace)
    return await asyncio.to_thread(_categories_response, catalog)


@routes.get("/workflows/{name}", response_model=WorkflowPage, responses=error_responses(404, 422))
async def show_workflow(
    name: str, principal: Reader, services: ServicesDep, context_id: OfChat = None, workspace: OfFolder = None
) -> Response:
    """With the file's whole text: what a person reads before trusting it."""
    return json_response(200, _page((await _catalog(services, context_id, workspace)).find(name)))


@routes.post("/workflows", status_code=201, response_model=WorkflowPage, responses=error_responses(409, body=True))
async def create_workflow(body: NewWorkflow, principal: Manager, services: ServicesDep) -> Response:
    """Saved as a file of the data folder, for every workspace."""
    return json_response(201, _page(await services.workflow_editor.create(principal, body.name, body.content)))


@routes.post("/workflows/validate", response_model=WorkflowCheck, responses=error_responses(body=True))
async def validate_workflow(body: NewWorkflow, principal: Manager, services: ServicesDep) -> Response:
    """Says what is wrong, or what the workflow would be, and saves nothing."""
    checked = await services.workflow_editor.check(principal, body.name, body.content)
    faulty = isinstance(checked, FileFault)
    return json_response(
        200, {"fault": checked.to_json() if faulty else None, "workflow": None if faulty else checked.to_json()}
    )


@routes.put("/workflows/{name}", response_model=WorkflowPage, responses=error_responses(404, body=True))
async def change_workflow(name: str, body: ChangedWorkflow, principal: Manager, services: ServicesDep) -> Response:
    """Of the data folder only. Runs that have started keep their steps."""
    saved = await services.workflow_editor.change(principal, name, body.content, expected_hash=body.sha256)
    return json_response(200, _page(saved))


@routes.delete("/workflows/{name}", status_code=204, response_class=Response, responses=error_responses(404, 422, 507))
async def delete_workflow(name: str, principal: Manager, services: ServicesDep) -> Response:
    """Of the data folder only."""
    await services.workflow_editor.delete(principal, name)
    return Response(status_code=204)


@routes.post(
    "/workflows/{name}/execute",
    status_code=202,
    response_model=RunStarted,
    responses=error_responses(404, 502, body=True),
)
async def execute_workflow(
    name: str, run_request: RunWorkflowRequest, principal: Sender, services: ServicesDep
) -> Response:
    """Runs it as a turn of this chat, in the chat's role. Progress arrives as `workflow-progress` events; `stop` stops it."""
    started = await services.chats.execute(principal, run_request.context_id, name, run_request.parameters)
    body = {"run_id": started.run_id, "message_id": started.message_id, "turn_id": started.turn_id}
    return json_response(202, body)


async def _catalog(services: Services, context_id: str | None, workspace: str | None) -> WorkflowCatalog:
    """Raises: NotFound, BadWorkspace."""
    if context_id is not None:
        return await services.workflows.catalog((await require_chat_in_folder(services.store, context_id)).workspace)
    return await services.workflows.catalog(await services.workspaces.find(workspace))


def _list_response(catalog: WorkflowCatalog) -> Response:
    """Encodes the list. Blocking: files of a workspace may make it megabytes long."""
    workflows = [listed.to_json() for listed in catalog.listed]
    return json_response(200, {"workflows": workflows, "faults": [fault.to_json() for fault in catalog.faults]})


def _categories_response(catalog: WorkflowCatalog) -> Response:
    """Encodes the categories. Blocking, as above."""
    categories = [
        {"name": name, "workflows": [listed.to_json() for listed in workflows]}
        for name, workflows in catalog.by_category().items()
    ]
    return json_response(200, {"categories": categories})


def _page(listed: ListedWorkflow) -> Json:
    return {**listed.to_json(), "content": listed.file.text or ""}
