"""Workflows."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.roles import Permission
from anycowork.domain.workflows import ParameterType, Source


class ParameterResponse(DescribedSchema):
    name: str
    type: ParameterType
    description: str
    required: bool
    default: str | int | float | bool | None = None
    choices: list[str | int | float | bool] | None = None


class WorkflowStepResponse(DescribedSchema):
    title: str
    kind: Literal["prompt", "tool", "ask", "changes", "workflow"]


class WorkflowResponse(DescribedSchema):
    name: str
    description: str
    category: str
    parameters: list[ParameterResponse]
    needs: list[Permission] = Field(description="What the chat's role must grant; a run may do no more than this.")
    steps: list[WorkflowStepResponse]
    about: str = Field(description="What its author says of it, in Markdown.")
    usage: str = Field(description="How it is typed in a chat.")
    source: Source
    trusted: bool = Field(description="If not, a person must trust its content before it can be run.")
    path: str
    sha256: str


class FileFaultResponse(DescribedSchema):
    source: Source
    path: str
    line: int | None
    reason: str


class WorkflowList(DescribedSchema):
    workflows: list[WorkflowResponse]
    faults: list[FileFaultResponse] = Field(description="Files that give no workflow, with line and reason.")


class WorkflowCategory(DescribedSchema):
    name: str
    workflows: list[WorkflowResponse]


class WorkflowCategories(DescribedSchema):
    categories: list[WorkflowCategory]


class WorkflowPage(WorkflowResponse):
    content: str = Field(description="The whole file.")


class WorkflowCheck(DescribedSchema):
    fault: FileFaultResponse | None = Field(description="Why it cannot be saved; None if it can.")
    workflow: WorkflowResponse | None = Field(description="What it would be.")


class RunStarted(DescribedSchema):
    run_id: str = Field(description="Also the id of the turn that it runs as.")
    message_id: str
    turn_id: str
