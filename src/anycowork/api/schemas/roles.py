"""Roles and system prompts."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.roles import OutputFormat, Permission


class RoleResponse(DescribedSchema):
    name: str
    colour: str
    icon: str
    tooltip: str
    permissions: list[Permission]
    delegates: list[str]
    output: OutputFormat
    built_in: bool


class RoleList(DescribedSchema):
    roles: list[RoleResponse]


class RolePage(RoleResponse):
    prompt: str = Field(description="What an agent in this role is told.")


class RoleFault(DescribedSchema):
    param: str = Field(description="The field.")
    message: str = Field(description="What is wrong with it, as the end of a sentence that begins with the field.")


class RoleCheck(DescribedSchema):
    faults: list[RoleFault] = Field(description="Empty: it can be saved.")


class SystemPromptResponse(DescribedSchema):
    id: str
    name: str
    content: str
    version: int = Field(description="Counts the changes, from 1.")
    built_in: bool = Field(description="It can be used, not changed or deleted.")
    created_at: str | None = Field(description="None for the built-in one: it comes with the release.")
    updated_at: str | None


class SystemPromptList(DescribedSchema):
    system_prompts: list[SystemPromptResponse]


class EnhancedResponse(DescribedSchema):
    id: str
    content: str
    enhanced: Literal[True]
    left_out: list[str] = Field(
        description="What the token budget did not hold: tools that the role grants, and how much of the folder's instructions."
    )
