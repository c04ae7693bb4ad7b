"""A server's prompts as workflows: the first step gets the prompt through the gate, the second lets the agent follow it.

A prompt is text of a third party. The person who runs it asks for it to be followed; what the agent then does passes the gate as ever.
"""

import json
from collections.abc import Iterable
from hashlib import sha256

from anycowork.domain.messages import Json
from anycowork.domain.ports import SuppliedFile
from anycowork.mcp.definitions import McpToolDefinition, ServerMethod
from anycowork.mcp.offers import OfferedPrompt
from anycowork.mcp.schemas import plain_text

LONGEST_NAME = 40
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_SIGNS = _LOWER | frozenset("0123456789_-")
_FOLLOW = "Do what the prompt in the last result asks for. The person chose it."


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
