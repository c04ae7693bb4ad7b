"""The MCP servers that a person configured, and those in the configuration files of editors and other agents. Pure.

Nothing is filled in from the environment: a file of a workspace could otherwise send a secret to an address of its choice. What refers to
a variable is named, and a person gives its value.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import (
    Annotated,
    Any,  # the content of a foreign file, until it is checked
    Literal,
)

from pydantic import Field, JsonValue, SecretStr, StringConstraints, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.network import wanted_destinations
from anycowork.domain.values import value

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
LARGEST_FILE = 1_000_000
MOST_SERVERS = 50
_KEYS = ("mcpServers", "servers", "context_servers", "mcp_servers", "mcp")
_KINDS = {"stdio": "stdio", "local": "stdio", "sse": "sse", "http": "http", "streamable-http": "http", "remote": "http"}


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


@value
class FoundServer:
    """`config` is the body of a request that adds it. `variables` are names that its values refer to. `problem`: why it cannot be added."""

    name: str
    config: Json
    variables: tuple[str, ...] = ()
    problem: str | None = None


def servers_in(text: str, *, is_toml: bool = False) -> list[FoundServer]:
    """Raises: Invalid if the text is no such file."""
    if len(text) > LARGEST_FILE:
        raise Invalid(f"The file has more than {LARGEST_FILE:,} letters. It is not a list of MCP servers.")
    try:
        read: Any = tomllib.loads(text) if is_toml else json.loads(without_comments(text))  # noqa: TID251  # bounded by LARGEST_FILE, and a depth that is too large is caught
    except (ValueError, RecursionError) as error:
        raise Invalid(f"The file is not valid {'TOML' if is_toml else 'JSON'}: {str(error)[:200]}.") from None
    listed = next((read[key] for key in _KEYS if isinstance(read.get(key), dict)), None) if _is_map(read) else None
    if listed is None:
        raise Invalid(f"The file names no MCP servers: it has none of the keys {', '.join(_KEYS)}.")
    if len(listed) > MOST_SERVERS:
        raise Invalid(f"The file names more than {MOST_SERVERS} MCP servers.")
    return [_server(str(name), entry) for name, entry in listed.items()]


def with_values(server: FoundServer, values: Mapping[str, str]) -> Json:
    """Its configuration with these values for the variables it refers to."""
    filled = _fill(server.config, values)
    assert isinstance(filled, dict)
    return filled


def without_comments(text: str) -> str:
    """JSON as editors take it, made plain: comments and commas before a closing bracket become spaces. One pass."""
    out = list(text)
    position, comma, end = 0, -1, len(text)
    while position < end:
        sign = text[position]
        if sign == '"':
            position = _end_of_string(text, position)
            comma = -1
        elif text.startswith(("//", "/*"), position):
            closing = text.find("\n", position) if text[position + 1] == "/" else text.find("*/", position + 2) + 2
            stop = end if closing in (-1, 1) else closing
            out[position:stop] = " " * (stop - position)
            position = stop
            continue
        elif sign == ",":
            comma = position
        elif sign in "]}" and comma >= 0:
            out[comma] = " "
            comma = -1
        elif not sign.isspace():
            comma = -1
        position += 1
    return "".join(out)


def server_name(text: str) -> str:
    """The name as ours are written: small letters and digits, joined by single dashes."""
    parts = "".join(c if c.isascii() and c.isalnum() else " " for c in text.lower()).split()
    return "-".join(parts)[:32].strip("-")


def _server(raw_name: str, entry: Any) -> FoundServer:
    name = server_name(raw_name)
    if not name or not _is_map(entry):
        return FoundServer(raw_name[:80], {}, problem="its name or its entry cannot be read")
    program = entry.get("command")
    inner = program if _is_map(program) else entry  # older files of Zed nest the command
    command_line = (
        program if isinstance(program, list) else [inner.get("path", program) if _is_map(program) else program]
    )
    args = inner.get("args") if isinstance(inner.get("args"), list) else []
    env = inner.get("env") or entry.get("environment") or {}
    url = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
    kind = _KINDS.get(str(entry.get("type", "")))
    if isinstance(url, str):
        config: Json = {"name": name, "url": url, "headers": _texts(entry.get("headers"))}
        if kind in ("sse", "http"):
            config["transport"] = kind
    elif command_line and isinstance(command_line[0], str):
        arguments: list[JsonValue] = [str(argument) for argument in [*command_line[1:], *args]]
        config = {"name": name, "command": command_line[0], "args": arguments, "env": _texts(env)}
    else:
        return FoundServer(raw_name[:80], {}, problem="it names neither a program nor an address")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        config["enabled"] = False
    return FoundServer(name, config, tuple(sorted(set(_variables(config)))))


def _texts(entries: Any) -> dict[str, JsonValue]:
    return {str(name): str(text) for name, text in entries.items()} if _is_map(entries) else {}


def _variables(part: JsonValue) -> Iterator[str]:
    if isinstance(part, str):
        for piece in part.split("${")[1:]:
            if "}" in piece:
                yield piece.partition("}")[0]
    elif isinstance(part, dict):
        for inner in part.values():
            yield from _variables(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _variables(inner)


def _fill(part: JsonValue, values: Mapping[str, str]) -> JsonValue:
    if isinstance(part, dict):
        return {key: _fill(inner, values) for key, inner in part.items()}
    if isinstance(part, list):
        return [_fill(inner, values) for inner in part]
    if not isinstance(part, str) or "${" not in part:
        return part
    first, *pieces = part.split("${")
    filled = [first]
    for piece in pieces:
        name, closed, suffix = piece.partition("}")
        filled.append(f"{values[name]}{suffix}" if closed and name in values else f"${{{piece}")
    return "".join(filled)


def _end_of_string(text: str, start: int) -> int:
    position = start + 1
    while position < len(text) and text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return position


def _is_map(entry: Any) -> bool:
    return isinstance(entry, dict)


KNOWN_FILES: Mapping[str, Sequence[str]] = {
    "claude-code": (".claude.json",),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        "Library/Application Support/Claude/claude_desktop_config.json",
    ),
    "codex": (".codex/config.toml",),
    "cursor": (".cursor/mcp.json",),
    "opencode": (".config/opencode/opencode.json",),
    "vscode": (".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json"),
    "windsurf": (".codeium/windsurf/mcp_config.json",),
    "zed": (".config/zed/settings.json",),
}
"""Where other programs keep their servers, from the home folder."""
