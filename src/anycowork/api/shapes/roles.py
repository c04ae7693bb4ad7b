"""Roles and system prompts."""

from typing import Literal

from pydantic import Field

from anycowork.api.shapes.base import Described
from anycowork.domain.roles import OutputFormat, Permission


class RoleShape(Described):
    name: str
    colour: str
    icon: str
    tooltip: str
    permissions: list[Permission]
    delegates: list[str]
    output: OutputFormat
    built_in: bool


class RoleList(Described):
    roles: list[RoleShape]


class SystemPromptShape(Described):
    id: str
    name: str
    content: str
    version: int = Field(description="Counts the changes, from 1.")
    built_in: bool = Field(description="It can be used, not changed or deleted.")
    created_at: str | None = Field(description="None for the built-in one: it comes with the release.")
    updated_at: str | None


class SystemPromptList(Described):
    system_prompts: list[SystemPromptShape]


class EnhancedShape(Described):
    id: str
    content: str
    enhanced: Literal[True]
    left_out: list[str] = Field(
        description="What the token budget did not hold: tools that the role grants, and how much of the folder's instructions."
    )
