"""The MCP servers that a person configured: what each one is started or reached with, and what its tools may do. Pure."""

from typing import Annotated, Literal

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from anycowork.domain.boundary import Boundary
from anycowork.domain.messages import Json
from anycowork.domain.network import wanted_destinations

Transport = Literal["stdio", "sse", "http"]
ServerKind = Transport | Literal["module"]
WorkspaceAccess = Literal["none", "read", "layer"]
ToolNames = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=1_000)]
Secrets = Annotated[
    dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,99}$")], SecretStr], Field(max_length=100)
]
SecretChanges = Annotated[
    dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,99}$")], SecretStr | None], Field(max_length=100)
]
Argument = Annotated[str, StringConstraints(max_length=10_000, pattern=r"^[^\x00]*$")]
Command = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]
Url = Annotated[str, Field(pattern=r"^https?://[^\s/]", max_length=2000)]
Hosts = Annotated[list[str], Field(max_length=40)]
Seconds = Annotated[float, Field(gt=0, le=3600, strict=False)]
_LIVE = frozenset({"enabled", "allowed", "denied", "read_only"})
_SECRET_MAPS = ("env", "headers")


class McpServerChanges(Boundary):
    """What is to change of a server. A field that is absent stays; `allowed` null means every tool.

    In `env` and `headers` a value sets that name, null removes it, and names that are absent keep their values: nobody can read those.
    """

    command: Command | None = None
    args: Annotated[list[Argument], Field(max_length=200)] | None = None
    env: SecretChanges | None = None
    url: Url | None = None
    headers: SecretChanges | None = None
    timeout: Seconds | None = None
    enabled: bool | None = None
    allowed: ToolNames | None = None
    denied: ToolNames | None = None
    read_only: ToolNames | None = None
    network: Hosts | None = None
    sampling: bool | None = None
    data_folder: bool | None = None
    workspace_access: WorkspaceAccess | None = None

    def applied_to(self, config: "McpServerConfig") -> "McpServerConfig":
        """Returns the changed configuration. Raises: ValidationError."""
        sent = {name: getattr(self, name) for name in self.model_fields_set}
        updates = {name: value for name, value in sent.items() if value is not None or name == "allowed"}
        for name in _SECRET_MAPS:
            if name in updates:
                merged = {**getattr(config, name), **updates[name]}
                updates[name] = {key: secret for key, secret in merged.items() if secret is not None}
        return McpServerConfig.model_validate({**dict(config), **updates})


class ChatMcpServer(Boundary):
    """A program that an editor names for one chat. It has no network and no read-only tools: a person configures those for good."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$", max_length=32)]
    command: Command
    args: Annotated[list[Argument], Field(max_length=200)] = Field(default_factory=list)
    env: Secrets = Field(default_factory=dict)

    def is_program_of(self, config: "McpServerConfig") -> bool:
        """Whether the configuration names this program with these arguments, and every variable that it is given."""
        same = (config.command, config.args) == (self.command, self.args)
        return same and config.env.keys() >= self.env.keys()

    def config(self) -> "McpServerConfig":
        return McpServerConfig(name=self.name, command=self.command, args=self.args, env=self.env)


class McpServerConfig(Boundary):
    """`allowed` None means every tool. `read_only` are the tools that the person vouches for: they are treated as reading.

    `data_folder`: a program has a home folder of its own that is kept; without, its home folder is empty at each start.
    `workspace_access`: what a program sees of the workspace of a call. With `layer` each call starts it anew, and a tool that is not
    read-only changes files in a layer, which is checked, committed and undone like a command's changes.
    `sampling`: it may have prompts answered by the chat's model, each with a person's consent.
    A program (`command`) runs in the sandbox; `unsandboxed` lets it run with the server's own rights where there is none.
    `module` is the plugin and the entry point of an object that runs inside this server: the settings name it, never a request.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$", max_length=32, examples=["git"])]
    command: Command | None = None
    args: Annotated[list[Argument], Field(max_length=200)] = Field(default_factory=list)
    env: Secrets = Field(default_factory=dict)
    url: Url | None = None
    headers: Secrets = Field(default_factory=dict)
    module: SkipJsonSchema[Annotated[str, Field(max_length=1_000)] | None] = None
    transport: Transport | None = None
    timeout: Seconds = 60.0
    enabled: bool = True
    allowed: ToolNames | None = None
    denied: ToolNames = Field(default_factory=list)
    read_only: ToolNames = Field(default_factory=list)
    network: Hosts = Field(default_factory=list)
    unsandboxed: bool = False
    sampling: bool = False
    data_folder: bool = False
    workspace_access: WorkspaceAccess = "read"

    @field_validator("network")
    @classmethod
    def _hosts(cls, hosts: list[str]) -> list[str]:
        wanted_destinations(hosts)
        return hosts

    @model_validator(mode="after")
    def _one_way(self) -> "McpServerConfig":
        if sum(endpoint is not None for endpoint in (self.command, self.url, self.module)) != 1:
            raise ValueError("name either 'command' (a program) or 'url' (a remote server)")
        if self.transport is not None and (self.transport == "stdio") is not (self.command is not None):
            raise ValueError("'stdio' belongs to 'command'; 'sse' and 'http' belong to 'url'")
        if self.command is None and self.network:
            raise ValueError("'network' is for programs; a remote server is reached at its 'url'")
        if self.command is None and (self.data_folder or self.workspace_access == "layer"):
            raise ValueError("'data_folder' and 'workspace_access' are for programs; a remote server sees no folder")
        return self

    @property
    def kind(self) -> ServerKind:
        if self.module is not None:
            return "module"
        return self.transport or ("stdio" if self.command is not None else "http")

    def restarts_for(self, changed: "McpServerConfig") -> bool:
        """Whether a running server must start anew to work as `changed` says."""
        return any(getattr(self, name) != getattr(changed, name) for name in type(self).model_fields.keys() - _LIVE)

    @property
    def acts_outside(self) -> bool:
        """Whether a call may have effects that no layer holds back."""
        return self.data_folder or bool(self.network) or self.command is None

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
            "data_folder": self.data_folder,
            "workspace_access": self.workspace_access,
        }

    def stored(self) -> Json:
        """With them, for the file that only the owner can read."""
        plain: Json = {name: value.get_secret_value() for name, value in self.env.items()}
        headers: Json = {name: value.get_secret_value() for name, value in self.headers.items()}
        return {**self.shown(), "transport": self.transport, "env": plain, "headers": headers}
