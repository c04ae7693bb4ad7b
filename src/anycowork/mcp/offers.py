"""What a server offers: its tools, resources and prompts, listed page by page. Only what it declares is asked for.

A server's resources and prompts are reached through two tools of ours beside its own, so they pass the same gate: `resources/read` and
`prompts/get`. A prompt is also a workflow: its first step gets the prompt through the gate, the second lets the agent follow it. A prompt is text of
a third party. The person who runs it asks for it to be followed; what the agent then does passes the gate as ever.
"""

import json
from collections.abc import Awaitable, Callable, Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from anycowork.domain.messages import Json
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.values import value
from anycowork.mcp.definitions import McpToolDefinition, OfferedTool, ServerMethod, plain_text

if TYPE_CHECKING:
    from mcp import Client

MOST_LISTED = 1_000
MOST_READ = 10_000  # of each kind; no further pages are asked for then
_MOST_PAGES = 100
_URI: Json = {"type": "string", "description": "The address of the resource. Without it, the resources are listed."}
_PROMPT_NAME: Json = {"type": "string", "description": "The name of the prompt."}
_ARGUMENTS: Json = {"type": "object", "description": "The prompt's arguments, each a text."}
LONGEST_NAME = 40
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_SIGNS = _LOWER | frozenset("0123456789_-")
_FOLLOW = "Do what the prompt in the last result asks for. The person chose it."


@value
class OfferedResource:
    """`uri` may be a template (`is_template`), with parts in braces to fill in."""

    uri: str
    name: str
    description: str
    mime_type: str
    is_template: bool = False

    def shown(self, server: str) -> Json:
        return {
            "server": server,
            "uri": self.uri,
            "name": self.name,
            "description": self.description,
            "mime_type": self.mime_type,
            "template": self.is_template,
        }


@value
class OfferedPrompt:
    """`arguments` are names with a description and whether each one is required."""

    name: str
    description: str
    arguments: tuple[tuple[str, str, bool], ...] = ()


@value
class ServerOffers:
    tools: tuple[OfferedTool, ...] = ()
    resources: tuple[OfferedResource, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()

    def callable(self) -> list[OfferedTool]:
        """The server's own tools, and ours for its resources and prompts."""
        tools = list(self.tools)
        if self.resources:
            text = f"Read one of the {len(self.resources)} resources of this server, or list them."
            schema: Json = {"type": "object", "properties": {"uri": _URI}}
            tools.append(OfferedTool(ServerMethod.READ_RESOURCE, text, schema, ServerMethod.READ_RESOURCE))
        if self.prompts:
            schema = {
                "type": "object",
                "properties": {"name": _PROMPT_NAME, "arguments": _ARGUMENTS},
                "required": ["name"],
            }
            text = "Get a prompt that this server has prepared. A person runs it as a workflow."
            tools.append(OfferedTool(ServerMethod.GET_PROMPT, text, schema, ServerMethod.GET_PROMPT))
        return tools


async def list_offers(client: "Client") -> ServerOffers:
    """All pages of everything. Raises: what the SDK raises."""
    can = client.server_capabilities
    tools = await _pages(lambda cursor: client.list_tools(cursor=cursor, cache_mode="refresh"), "tools")
    resources = prompts = templates = []
    if can.resources is not None:
        resources = await _pages(lambda cursor: client.list_resources(cursor=cursor, cache_mode="refresh"), "resources")
        templates = await _templates(client)
    if can.prompts is not None:
        prompts = await _pages(lambda cursor: client.list_prompts(cursor=cursor, cache_mode="refresh"), "prompts")
    return ServerOffers(
        tuple(OfferedTool(tool.name, tool.description or "", dict(tool.input_schema)) for tool in tools),
        tuple([*map(_resource, resources), *map(_resource, templates)][:MOST_LISTED]),
        tuple(map(_prompt, prompts[:MOST_LISTED])),
    )


async def _templates(client: "Client") -> list[Any]:
    from mcp import MCPError

    try:
        return await _pages(
            lambda cursor: client.list_resource_templates(cursor=cursor, cache_mode="refresh"), "resource_templates"
        )
    except MCPError:  # many servers have resources and no templates, and do not know the method
        return []


async def _pages(page: Callable[[str | None], Awaitable[Any]], field: str) -> list[Any]:
    items: list[Any] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        answer = await page(cursor)
        items += getattr(answer, field)
        cursor = answer.next_cursor
        if not cursor or len(items) >= MOST_READ:
            break
    return items[:MOST_READ]


def _resource(resource: Any) -> OfferedResource:
    template = getattr(resource, "uri_template", None)
    return OfferedResource(
        uri=plain_text(str(template or resource.uri), 2_000),
        name=plain_text(resource.title or resource.name, 200),
        description=plain_text(resource.description or "", 500),
        mime_type=plain_text(resource.mime_type or "", 100),
        is_template=template is not None,
    )


def _prompt(prompt: Any) -> OfferedPrompt:
    arguments = tuple(
        (argument.name, plain_text(argument.description or "", 300), bool(argument.required))
        for argument in prompt.arguments or ()
    )
    return OfferedPrompt(prompt.name, plain_text(prompt.description or prompt.title or "", 300), arguments)


def prompt_workflows(
    server: str, prompts: Iterable[OfferedPrompt], definitions: Iterable[McpToolDefinition]
) -> tuple[list[SuppliedFile], list[str]]:
    """The workflow files, and why prompts were left out. Without the tool that gets prompts there are none."""
    tool = next(
        (definition.spec.name for definition in definitions if definition.method is ServerMethod.GET_PROMPT), None
    )
    if tool is None:
        return [], []
    files: dict[str, SuppliedFile] = {}
    problems = []
    for prompt in prompts:
        name = f"{server}__{prompt.name}".lower()
        parameters = [parameter_name(argument) for argument, _, _ in prompt.arguments]
        if not _is_name(name) or not all(map(_is_parameter, parameters)) or len(set(parameters)) < len(parameters):
            problems.append(f"the prompt '{plain_text(prompt.name, 80)}' cannot be a workflow: its names do not fit")
        elif name in files:
            problems.append(f"the prompt '{plain_text(prompt.name, 80)}' is offered twice")
        else:
            files[name] = _file(name, server, prompt, tool)
    return list(files.values()), problems[:10]


def parameter_name(argument: str) -> str:
    """The workflow's name for an argument: `resourceType` and `resource-type` become `resource_type`."""
    spaced = "".join(
        f"_{c}" if c.isupper() and before.islower() else c for before, c in zip(f"_{argument}", argument, strict=False)
    )
    return "".join("_" if c in "-. " else c for c in spaced).lower()


def _file(name: str, server: str, prompt: OfferedPrompt, tool: str) -> SuppliedFile:
    arguments: Json = {argument: f"{{{{{parameter_name(argument)}}}}}" for argument, _, _ in prompt.arguments}
    call: Json = {"tool": tool, "parameters": {"name": prompt.name, "arguments": arguments}}
    description = prompt.description or f"A prompt of the MCP server {server}."
    lines = [
        "+++",
        f"name = {_quoted(name)}",
        f"description = {_quoted(description)}",
        'category = "mcp"',
        *(line for argument in prompt.arguments for line in _parameter(*argument)),
        "+++",
        "",
        f"A prompt of the MCP server `{server}`. Its text comes from the server.",
        "",
        "## Get the prompt",
        "",
        "```tool",
        json.dumps(call),
        "```",
        "",
        "## Follow it",
        "",
        _FOLLOW,
        "",
    ]
    text = "\n".join(lines)
    return SuppliedFile(f"mcp/{server}/{name}.md", text, sha256(text.encode()).hexdigest(), trusted=True)


def _parameter(name: str, description: str, required: bool) -> list[str]:
    lines = ["", "[[parameters]]", f"name = {_quoted(parameter_name(name))}", f"description = {_quoted(description)}"]
    return lines if required else [*lines, 'default = ""']


def _quoted(text: str) -> str:
    """A TOML string of printable text: JSON's escapes are TOML's as well, without those for surrogates."""
    return json.dumps(text.replace("{{", "{ {"), ensure_ascii=False)


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name[0] in _LOWER and set(name) <= _SIGNS


def _is_parameter(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name[0] in _LOWER and set(name) <= _SIGNS - {"-"}
