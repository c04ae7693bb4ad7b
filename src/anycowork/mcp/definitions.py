"""What a server says of its tools, and what of it counts: names, one bounded line of description, a reduced schema. Pure.

Hints (`readOnlyHint` and the like) are not read at all: only the person's own list makes a tool read-only.
"""

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256

from pydantic import JsonValue

from anycowork.domain.mcp_servers import McpServerConfig, WorkspaceAccess
from anycowork.domain.roles import Permission
from anycowork.domain.tools import ToolSpec
from anycowork.domain.values import value
from anycowork.mcp.schemas import plain_text, reduced
from anycowork.tools.plugins.schemas import BadSchema

_VERSION_DIGITS = 40  # two texts with the same 12 were found within minutes, and the server chooses both
MOST_TOOLS = 128
LONGEST_NAME = 64  # as providers of models take it
LONGEST_DESCRIPTION = 500
LARGEST_SCHEMA = 100_000
_MOST_PROBLEMS = 20
_PRIORITY = 70  # after every other tool: where there is no room for all, these give way
_READ = frozenset({Permission.READ_FILES})
_EXECUTE = frozenset({Permission.EXECUTE_COMMANDS})


class ServerMethod(StrEnum):
    """The request of the protocol that a tool stands for."""

    CALL_TOOL = "tools/call"
    READ_RESOURCE = "resources/read"
    GET_PROMPT = "prompts/get"


@value
class OfferedTool:
    """A tool as the server offers it, before anything of it is believed. `method` is ours: a server cannot choose it."""

    name: str
    description: str
    schema: Mapping[str, JsonValue]
    method: ServerMethod = ServerMethod.CALL_TOOL


@value
class McpToolDefinition:
    """`name` is the server's own. `version` changes with everything that the server says of the tool."""

    name: str
    spec: ToolSpec
    version: str
    method: ServerMethod = ServerMethod.CALL_TOOL
    access: WorkspaceAccess = "read"

    @property
    def resource(self) -> str:
        return f"mcp:{self.spec.server}/{self.name}#{self.version}"


def definitions_of(
    server: McpServerConfig,
    offered: Iterable[OfferedTool],
    *,
    taken_names: frozenset[str] = frozenset(),
    confined: bool,
    only_chat: str | None = None,
) -> tuple[list[McpToolDefinition], list[str]]:
    """The tools that are offered to models, and why others are not. `confined`: the person's `read_only` can be held to, or is remote."""
    used_tools = [tool for tool in offered if server.uses(tool.name)]
    problems: list[str] = []
    if len(used_tools) > MOST_TOOLS:
        problems.append(
            f"it offers {len(used_tools):,} tools, and only the first {MOST_TOOLS} are used; name yours in 'allowed'"
        )
    by_name: dict[str, list[McpToolDefinition]] = {}
    for tool in used_tools[:MOST_TOOLS]:
        try:
            definition = _definition(server, tool, confined=confined, only_chat=only_chat)
        except (BadSchema, ValueError, RecursionError) as error:
            problems.append(f"'{plain_text(tool.name, 80)}': {plain_text(str(error), 200)}")
            continue
        by_name.setdefault(definition.spec.name, []).append(definition)
    definitions = []
    for name, several in by_name.items():
        if name in taken_names:
            problems.append(f"'{name}': another tool has this name; it cannot be replaced")
        elif len(several) > 1:
            problems.append(f"'{name}': several tools of the server come to this name, so none of them is used")
        else:
            definitions += several
    return definitions, problems[:_MOST_PROBLEMS]


def _definition(
    server: McpServerConfig, tool: OfferedTool, *, confined: bool, only_chat: str | None
) -> McpToolDefinition:
    """Raises: ValueError."""
    text = json.dumps([tool.name, tool.description, tool.schema], sort_keys=True)
    if len(text) > LARGEST_SCHEMA:
        raise ValueError(f"its description and schema have more than {LARGEST_SCHEMA:,} letters")
    name = f"{server.name}__{_plain_name(tool.name)}"
    if len(name) > LONGEST_NAME:
        raise ValueError(f"its name is longer than {LONGEST_NAME} letters together with the server's")
    reads = confined and tool.name in server.read_only
    layered = server.workspace_access == "layer" and not reads
    spec = ToolSpec(
        name=name,
        category=f"mcp {server.name}",
        description=plain_text(tool.description, LONGEST_DESCRIPTION) or f"A tool of the MCP server {server.name}.",
        permissions=_READ if reads else _EXECUTE,
        schema=reduced(tool.schema),
        requires_approval=not reads,
        priority=_PRIORITY,
        looks_below=server.url is None,
        reveals=True,
        contained=layered and not server.acts_outside,
        server=server.name,
        layered=layered,
        only_chat=only_chat,
    )
    version = sha256(text.encode()).hexdigest()[:_VERSION_DIGITS]
    return McpToolDefinition(tool.name, spec, version, tool.method, server.workspace_access)


def _plain_name(name: str) -> str:
    """Raises: ValueError for a name that is not letters, digits and a few signs."""
    if not name or not name.isascii() or not all(c.isalnum() or c in "_-./" for c in name):
        raise ValueError("its name holds other signs than letters, digits, '_', '-', '.' and '/'")
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name)
