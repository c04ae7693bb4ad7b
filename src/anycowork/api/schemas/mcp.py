"""MCP servers."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema


class McpToolShape(DescribedSchema):
    """A tool as the server offers it. The model sees it as `<server>__<name>`."""

    name: str
    description: str
    enabled: bool = Field(description="Whether agents may be offered it.")
    read_only: bool = Field(
        description="Whether the person marked it so; what the server says of itself does not count."
    )


class McpServerShape(DescribedSchema):
    name: str
    status: Literal["connecting", "ready", "failed", "disabled"]
    error: str | None = Field(default=None, description="Why it failed.")
    transport: Literal["stdio", "sse", "http", "module"]
    command: str | None
    args: list[str]
    env: list[str] = Field(description="The names; values are never read back.")
    url: str | None
    module: str | None = Field(
        default=None, description="The plugin and the entry point of a server that runs inside this one."
    )
    headers: list[str] = Field(description="The names; values are never read back.")
    timeout: float
    enabled: bool
    allowed: list[str] | None = Field(description="null: every tool.")
    denied: list[str]
    read_only: list[str]
    network: list[str]
    unsandboxed: bool
    sampling: bool = Field(
        description="Whether it may ask for prompts to be answered by the chat's model. A person agrees to each one."
    )
    sign_in: Literal["none", "needed", "open", "done"] = Field(
        description="Whether a remote server wants somebody to log in, somebody is about to, or has done so."
    )
    problems: list[str] = Field(description="Which of its tools are not offered, and why.")
    log: list[str] = Field(description="The last lines that it printed.")
    tools: list[McpToolShape]
    resources: int = Field(description="How many resources it offers.")
    prompts: list[str] = Field(description="The prompts that it offers; each is a workflow, `<server>__<prompt>`.")


class McpSignInShape(DescribedSchema):
    address: str = Field(
        description="The page at which a person logs in. Their browser then comes back to this server."
    )


class McpResourceShape(DescribedSchema):
    server: str
    uri: str
    name: str
    description: str
    mime_type: str
    template: bool = Field(description="Whether `uri` has parts in braces to fill in.")


class McpResourceList(DescribedSchema):
    resources: list[McpResourceShape]


class McpServerList(DescribedSchema):
    servers: list[McpServerShape]
