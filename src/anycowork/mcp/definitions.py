"""What a server says of its tools, and what of it counts: names, one bounded line of description, a reduced schema. Pure.

A schema is reduced to the part that the plugins' checker understands: linear, and never failing on a strange one. The server checks its parameters
itself; this is what the model reads and is held to. No `pattern` of another party runs here. Hints (`readOnlyHint` and the like) are not read at all:
only the person's own list makes a tool read-only.
"""

import json
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256

from pydantic import JsonValue

from anycowork.domain.mcp_servers import McpServerConfig, WorkspaceAccess
from anycowork.domain.roles import Permission
from anycowork.domain.tools import ToolSpec
from anycowork.domain.values import value
from anycowork.tools.plugins.schemas import DEEPEST, BadSchema, validated

LONGEST_TEXT = 300
MOST_PARTS = 500
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
Schema = dict[str, JsonValue]
_VERSION_DIGITS = 40  # two texts with the same 12 were found within minutes, and the server chooses both
MOST_TOOLS = 128
LONGEST_NAME = 64  # as providers of models take it
LONGEST_DESCRIPTION = 500
LARGEST_SCHEMA = 100_000
_MOST_PROBLEMS = 20
_PRIORITY = 70  # after every other tool: where there is no room for all, these give way
_READ = frozenset({Permission.READ_FILES})
_EXECUTE = frozenset({Permission.EXECUTE_COMMANDS})


def reduced(schema: Mapping[str, JsonValue]) -> Schema:
    """Raises: BadSchema if a required parameter could not be given, or it is no object's schema."""
    if schema.get("type", "object") != "object":
        raise BadSchema("its schema must be of type 'object'")
    reduced_schema = _Reducer(schema).part({**schema, "type": "object"}, DEEPEST - 1)
    missing = [name for name in _texts(schema.get("required")) if name not in _names(reduced_schema)]
    if missing:
        raise BadSchema(f"it requires a parameter '{missing[0][:80]}' that cannot be given")
    return validated(reduced_schema)


def plain_text(text: str, most: int) -> str:
    """One printable line, bounded: a stranger's text is data."""
    head = text[: most * 4]
    line = " ".join("".join(c if c.isprintable() else " " for c in head).split())
    return line if len(line) <= most and len(text) <= most * 4 else f"{line[:most]}…"


class _Reducer:
    """Keeps count of the parts, so that references that multiply end."""

    def __init__(self, root: Mapping[str, JsonValue]) -> None:
        self._root = root
        self._left = MOST_PARTS

    def part(self, schema: JsonValue, depth: int) -> Schema:
        self._left -= 1
        if not isinstance(schema, dict) or depth <= 0 or self._left <= 0:
            return {}
        if isinstance(reference := schema.get("$ref"), str):
            return self.part(self._referred(reference), depth - 1)
        reduced_part: Schema = {}
        if isinstance(text := schema.get("description"), str):
            reduced_part["description"] = plain_text(text, LONGEST_TEXT)
        if isinstance(values := schema.get("enum"), list) and 0 < len(values) <= 100 and all(map(_is_plain, values)):
            reduced_part["enum"] = [value[:LONGEST_TEXT] if isinstance(value, str) else value for value in values]
        branches = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(branches, list) and 0 < len(branches) <= 20:
            reduced_part["anyOf"] = [self.part(branch, depth - 1) for branch in branches]
            return reduced_part
        if (kind := _kind(schema.get("type"))) is not None:
            reduced_part["type"] = kind
        if kind == "array" and isinstance(schema.get("items"), dict):
            reduced_part["items"] = self.part(schema["items"], depth - 1)
        if kind == "object":
            self._fields(schema, reduced_part, depth)
        return reduced_part

    def _fields(self, schema: Schema, reduced_part: Schema, depth: int) -> None:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return
        kept_fields: Schema = {
            name: self.part(part, depth - 1) for name, part in list(properties.items())[:100] if _NAME.fullmatch(name)
        }
        reduced_part["properties"] = kept_fields
        reduced_part["required"] = [name for name in _texts(schema.get("required")) if name in kept_fields]

    def _referred(self, reference: str) -> JsonValue:
        """What `#/$defs/Name` stands for; nothing outside the schema is looked up."""
        value: JsonValue = dict(self._root)
        for step in reference.removeprefix("#/").split("/"):
            value = value.get(step) if isinstance(value, dict) else None
        return value


def _kind(kind: JsonValue) -> JsonValue:
    if isinstance(kind, list):
        kinds: list[JsonValue] = [name for name in kind if name in _TYPES]
        return kinds or None
    return kind if kind in _TYPES else None


def _is_plain(value: JsonValue) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _texts(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _names(schema: Schema) -> list[str]:
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


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
