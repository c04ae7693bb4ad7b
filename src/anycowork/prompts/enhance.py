"""Builds the enhanced system prompt: base, role, tools by category, how to call them, diagrams, and the project's instructions.
Pure; the passthrough does not use it."""

import json
from collections.abc import Mapping, Sequence
from string import Template

from pydantic import JsonValue

from anycowork.domain.roles import RoleDefinition
from anycowork.domain.tools import ToolSpec
from anycowork.domain.values import value
from anycowork.prompts.instructions import NOTHING, InstructionsSection
from anycowork.prompts.native_tools import OFFER_BUDGET, offered_tools
from anycowork.prompts.text_files import prose
from anycowork.prompts.tokens import BYTES_PER_TOKEN
from anycowork.prompts.tool_list import ToolList, tool_list
from anycowork.prompts.tool_selection import ToolSelection, named

TOOL_BUDGET = 2_000
_NAMES_SHARE = 8  # of the offers' budget, to name what was not offered


@value
class EnhancedPrompt:
    """`left_out` names what exceeded the budgets: tools that the role grants, and how much of the instructions."""

    content: str
    left_out: tuple[str, ...]


def enhance(
    base: str,
    role: RoleDefinition,
    role_text: str,
    specs: Sequence[ToolSpec],
    *,
    budget_tokens: int | None,
    request: str = "",
    offered: bool = False,
    instructions: InstructionsSection = NOTHING,
) -> EnhancedPrompt:
    """The whole prompt of this role. `budget_tokens` bounds the tools, listed or offered; the other sections are always whole. The project's own
    instructions come last: they rank below the rest, and all that stands before them is the same in every folder. `request` is what
    the chat was opened with; it matters only where the tools outgrow their budget.

    The same arguments give the same bytes, and a section that `base` holds already is not said again. `offered`: the provider shows
    the tools itself, so that the prompt does not.
    """
    if offered:
        selection = offered_tools(specs, role, budget_tokens=budget_tokens, request=request)
        tool_sections, left_out = _not_offered(selection, budget_tokens), selection.left_out
    else:
        budget = TOOL_BUDGET if budget_tokens is None else budget_tokens
        tools = tool_list(specs, role, budget_tokens=budget, request=request)
        tool_sections, left_out = _tool_sections(tools), tools.left_out
    sections = [base, role_text, *tool_sections, prose("mermaid"), instructions.text]
    return EnhancedPrompt(content=_joined(sections), left_out=(*left_out, *instructions.left_out))


def _not_offered(selection: ToolSelection, budget_tokens: int | None) -> tuple[str, ...]:
    """Lists tools that were not offered natively: a provider rejects native calls of them, but text calls always work."""
    budget = OFFER_BUDGET if budget_tokens is None else budget_tokens
    names = named(selection.left_out, budget // _NAMES_SHARE * BYTES_PER_TOKEN)
    return (f"# More tools\n\n{names}\n\n{prose('not_offered')}",) if names else ()


def _tool_sections(listed: ToolList) -> tuple[str, ...]:
    if not listed.tools:
        return ()
    calling = Template(prose("calling")).substitute(example=_example(listed.tools))
    return (f"{prose('some_tools' if listed.left_out else 'tools')}\n\n{listed.text}", calling)


def _example(listed: Sequence[ToolSpec]) -> str:
    """Returns an example call of a tool that is in the list."""
    spec = next((spec for spec in listed if spec.name == "read_file"), listed[0])
    return json.dumps({"tool": spec.name, "parameters": _sample(spec.schema), "terminate": False})


def _sample(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return {}
    return {str(name): _sample_value(str(name), properties.get(str(name))) for name in required}


_SAMPLES: dict[str, JsonValue] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}
_SAMPLE_WORDS = {"path": "README.md", "command": "ls", "pattern": "TODO", "query": "TODO"}


def _sample_value(name: str, schema: JsonValue) -> JsonValue:
    described = schema if isinstance(schema, dict) else {}
    if isinstance(choices := described.get("enum"), list) and choices:
        return choices[0]
    return _SAMPLES.get(str(described.get("type")), _SAMPLE_WORDS.get(name, "example"))


def _joined(sections: Sequence[str]) -> str:
    prompt = ""
    for section in map(str.strip, sections):
        if section and section not in prompt:
            prompt = f"{prompt}\n\n{section}" if prompt else section
    return prompt
