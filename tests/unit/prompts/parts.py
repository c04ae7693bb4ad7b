"""The roles and tools that the tests of this room speak of: the product's own names and permissions, written down here on purpose.

A test that took them from the product could not notice that the product changed them.
"""

from anycowork.domain.messages import Json
from anycowork.domain.roles import Permission, Role, RoleDefinition
from anycowork.domain.tools import ToolSpec

READ, WRITE, CREATE, DELETE, EXECUTE = (
    Permission.READ_FILES,
    Permission.WRITE_FILES,
    Permission.CREATE_FILES,
    Permission.DELETE_FILES,
    Permission.EXECUTE_COMMANDS,
)

PERMISSIONS = {
    Role.PLANNER: {READ},
    Role.ACTOR: {READ, WRITE, CREATE, DELETE, EXECUTE},
    Role.COMMANDER: {READ},
    Role.DESIGNER: {READ, CREATE},
    Role.REVIEWER: {READ},
    Role.TESTER: {READ, EXECUTE},
}


def role(name: str, *permissions: Permission, prompt: str | None = None) -> RoleDefinition:
    granted = permissions or tuple(PERMISSIONS[Role(name)])
    return RoleDefinition(
        name=name,
        permissions=frozenset(granted),
        prompt=prompt or name,
        colour="grey",
        icon="dot",
        tooltip="",
        built_in=prompt is None,
    )


def tool(
    name: str, category: str, description: str, permissions: set[Permission], priority: int = 50, /, **parameters: str
) -> ToolSpec:
    """`path="string", depth="integer?"`: a question mark makes it optional."""
    properties: Json = {key: {"type": kind.rstrip("?")} for key, kind in parameters.items()}
    required = [key for key, kind in parameters.items() if not kind.endswith("?")]
    return ToolSpec(
        name=name,
        category=category,
        description=description,
        permissions=frozenset(permissions),
        schema={"type": "object", "properties": properties, "required": list(required), "additionalProperties": False},
        priority=priority,
    )


TOOLS = (
    tool(
        "read_file",
        "files",
        "Read a text file, or some lines of it.",
        {READ},
        10,
        path="string",
        start_line="integer?",
        end_line="integer?",
    ),
    tool(
        "list_directory",
        "files",
        "List a folder; what git ignores is left out.",
        {READ},
        11,
        path="string",
        depth="integer?",
    ),
    tool("get_file_info", "files", "Size, kind and time of a file.", {READ}, 12, path="string"),
    tool(
        "grep",
        "search",
        "Find lines by regular expression.",
        {READ},
        13,
        pattern="string",
        path="string?",
        glob="string?",
    ),
    tool("search_code", "search", "Find a phrase in source files.", {READ}, 14, query="string", path="string?"),
    tool(
        "search_symbol",
        "search",
        "Find where a class or function is defined.",
        {READ},
        15,
        name="string",
        kind="string?",
    ),
    tool(
        "create_file", "changes", "Create a new file; never overwrites.", {CREATE}, 20, path="string", content="string"
    ),
    tool(
        "update_file",
        "changes",
        "Change a file: whole content, edits, or a range of lines.",
        {READ, WRITE},
        21,
        path="string",
        content="string?",
    ),
    tool(
        "move_file",
        "changes",
        "Move or rename; never overwrites.",
        {READ, CREATE, DELETE},
        22,
        path="string",
        to="string",
    ),
    tool("delete_file", "changes", "Delete a file.", {READ, DELETE}, 23, path="string"),
    tool(
        "execute_command",
        "commands",
        "Run a shell command in the workspace.",
        {EXECUTE},
        30,
        command="string",
        timeout="number?",
    ),
)
