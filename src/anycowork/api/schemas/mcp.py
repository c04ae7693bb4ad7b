"""MCP servers."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema


class McpToolResponse(DescribedSchema):
    """A tool as the server offers it. The model sees it as `<server>__<name>`."""

    name: str
    description: str
    enabled: bool = Field(description="Whether agents may be offered it.")
    read_only: bool = Field(
        description="Whether the person marked it so; what the server says of itself does not count."
    )


class McpServerResponse(DescribedSchema):
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
    data_folder: bool = Field(description="Whether its program has a home folder of its own that is kept.")
    data_bytes: int | None = Field(description="What its data folder holds; null if that cannot be counted.")
    workspace_access: Literal["none", "read", "layer"] = Field(
        description="What its program sees of a call's workspace: nothing, the files read-only, or a layer over them, whose changes are "
        "checked, committed and undone like a command's."
    )
    sign_in: Literal["none", "needed", "open", "done"] = Field(
        description="Whether a remote server wants somebody to log in, somebody is about to, or has done so."
    )
    problems: list[str] = Field(description="Which of its tools are not offered, and why.")
    log: list[str] = Field(description="The last lines that it printed.")
    refused_hosts: list[str] = Field(
        description="Hosts that its program wanted to reach since it started, and that `network` does not name."
    )
    tools: list[McpToolResponse]
    resources: int = Field(description="How many resources it offers.")
    prompts: list[str] = Field(description="The prompts that it offers; each is a workflow, `<server>__<prompt>`.")


class McpDataFolderResponse(DescribedSchema):
    name: str = Field(description="The name of the server that it belongs to.")
    bytes: int | None = Field(description="What it holds; null if that cannot be counted.")
    has_server: bool = Field(description="False: the server was removed, and this was kept.")


class McpDataFolderList(DescribedSchema):
    data_folders: list[McpDataFolderResponse]


class McpSignInResponse(DescribedSchema):
    address: str = Field(
        description="The page at which a person logs in. Their browser then comes back to this server."
    )


class McpResourceResponse(DescribedSchema):
    server: str
    uri: str
    name: str
    description: str
    mime_type: str
    template: bool = Field(description="Whether `uri` has parts in braces to fill in.")


class McpResourceList(DescribedSchema):
    resources: list[McpResourceResponse]


class McpServerList(DescribedSchema):
    servers: list[McpServerResponse]
