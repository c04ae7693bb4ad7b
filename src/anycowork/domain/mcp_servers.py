"""The MCP servers that a person configured: what each one is started or reached with, and what its tools may do. Pure."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from anycowork.domain.boundary import Boundary
from anycowork.domain.messages import Json
from anycowork.domain.network import wanted_destinations

Transport = Literal["stdio", "sse", "http"]
ServerKind = Transport | Literal["module"]
ToolNames = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=1_000)]
Secrets = Annotated[
    dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,99}$")], SecretStr], Field(max_length=100)
]
Argument = Annotated[str, StringConstraints(max_length=10_000, pattern=r"^[^\x00]*$")]


class McpServerChanges(Boundary):
    """What can be changed of a server without starting it anew. A field that is absent stays; `allowed` null means every tool."""

    enabled: bool | None = None
    allowed: ToolNames | None = None
    denied: ToolNames | None = None
    read_only: ToolNames | None = None
    sampling: bool | None = None

    def given(self) -> dict[str, object]:
        """The fields that were sent."""
        sent = {name: getattr(self, name) for name in self.model_fields_set}
        return {name: value for name, value in sent.items() if value is not None or name == "allowed"}


class ChatMcpServer(Boundary):
    """A program that an editor names for one chat. It has no network and no read-only tools: a person configures those for good."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$", max_length=32)]
    command: Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]
    args: Annotated[list[Argument], Field(max_length=200)] = Field(default_factory=list)
    env: Secrets = Field(default_factory=dict)

    def config(self) -> "McpServerConfig":
        return McpServerConfig(name=self.name, command=self.command, args=self.args, env=self.env)


class McpServerConfig(Boundary):
    """`allowed` None means every tool. `read_only` are the tools that the person vouches for: they are treated as reading.

    `sampling`: it may have prompts answered by the chat's model, each with a person's consent.
    A program (`command`) runs in the sandbox; `unsandboxed` lets it run with the server's own rights where there is none.
    `module` is the plugin and the entry point of an object that runs inside this server: the settings name it, never a request.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$", max_length=32, examples=["git"])]
    command: Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")] | None = None
    args: Annotated[list[Argument], Field(max_length=200)] = Field(default_factory=list)
    env: Secrets = Field(default_factory=dict)
    url: Annotated[str, Field(pattern=r"^https?://[^\s/]", max_length=2000)] | None = None
    headers: Secrets = Field(default_factory=dict)
    module: SkipJsonSchema[Annotated[str, Field(max_length=1_000)] | None] = None
    transport: Transport | None = None
    timeout: Annotated[float, Field(gt=0, le=3600, strict=False)] = 60.0
    enabled: bool = True
    allowed: ToolNames | None = None
    denied: ToolNames = Field(default_factory=list)
    read_only: ToolNames = Field(default_factory=list)
    network: Annotated[list[str], Field(max_length=40)] = Field(default_factory=list)
    unsandboxed: bool = False
    sampling: bool = False

    @field_validator("network")
    @classmethod
    def _hosts(cls, hosts: list[str]) -> list[str]:
        wanted_destinations(hosts)
        return hosts

    @model_validator(mode="after")
    def _one_way(self) -> "McpServerConfig":
        if sum(way is not None for way in (self.command, self.url, self.module)) != 1:
            raise ValueError("name either 'command' (a program) or 'url' (a remote server)")
        if self.transport is not None and (self.transport == "stdio") is not (self.command is not None):
            raise ValueError("'stdio' belongs to 'command'; 'sse' and 'http' belong to 'url'")
        if self.command is None and self.network:
            raise ValueError("'network' is for programs; a remote server is reached at its 'url'")
        return self

    @property
    def kind(self) -> ServerKind:
        if self.module is not None:
            return "module"
        return self.transport or ("stdio" if self.command is not None else "http")

    def uses(self, tool: str) -> bool:
        return tool not in self.denied and (self.allowed is None or tool in self.allowed)

    def shown(self) -> Json:
        """Without values of environment and headers: they go in and never come out."""
        return {
            "name": self.name,
            "transport": self.kind,
            "command": self.command,
            "args": list(self.args),
            "env": [*sorted(self.env)],
            "url": self.url,
            "module": self.module,
            "headers": [*sorted(self.headers)],
            "timeout": self.timeout,
            "enabled": self.enabled,
            "allowed": None if self.allowed is None else list(self.allowed),
            "denied": list(self.denied),
            "read_only": list(self.read_only),
            "network": list(self.network),
            "unsandboxed": self.unsandboxed,
            "sampling": self.sampling,
        }

    def stored(self) -> Json:
        """With them, for the file that only the owner can read."""
        plain: Json = {name: value.get_secret_value() for name, value in self.env.items()}
        headers: Json = {name: value.get_secret_value() for name, value in self.headers.items()}
        return {**self.shown(), "transport": self.transport, "env": plain, "headers": headers}
