"""Builds the short prompt for a small model: tools, few rules, and examples for its role. Pure."""

from collections.abc import Sequence

from anycowork.domain.roles import RoleDefinition
from anycowork.domain.tools import ToolSpec
from anycowork.prompts.instructions import NOTHING, InstructionsSection
from anycowork.prompts.reply_schema import callable_tools, needed
from anycowork.prompts.text_files import prose
from anycowork.prompts.tokens import BYTES_PER_TOKEN, size
from anycowork.prompts.tool_list import shortened
from anycowork.prompts.tool_selection import ToolSelection, named, select_tools

LONGEST = 90  # characters of a tool's description
TOOL_BUDGET = 600  # tokens of all their lines; a small model reads slowly, and chooses worse among many
_NAMES = 150


def small_model_prompt(
    base: str | None,
    role: RoleDefinition,
    specs: Sequence[ToolSpec],
    instructions: InstructionsSection = NOTHING,
    *,
    budget_tokens: int = TOOL_BUDGET,
    request: str = "",
) -> str:
    """`base` is what a person wrote instead of our own opening. The same arguments give the same bytes, so that a cache of them holds."""
    selection = small_model_tools(role, specs, budget_tokens=budget_tokens, request=request)
    tools = "\n".join(["Tools:", *map(_line, selection.tools), *_others(selection)]) if selection.tools else ""
    parts = (base or "", prose("brief/base"), tools, prose("brief/rules"), _role(role), instructions.text)
    return "\n\n".join(part for part in parts if part)


def small_model_tools(
    role: RoleDefinition, specs: Sequence[ToolSpec], *, budget_tokens: int, request: str = ""
) -> ToolSelection:
    """Returns the tools that a small model in this role is offered."""
    budget = budget_tokens * BYTES_PER_TOKEN
    return select_tools(
        callable_tools(role, specs), weight=lambda spec: size(_line(spec)) + 1, budget=budget, request=request
    )


def _others(selection: ToolSelection) -> list[str]:
    return [more] if (more := named(selection.left_out, _NAMES * BYTES_PER_TOKEN)) else []


def _line(spec: ToolSpec) -> str:
    ways = " or ".join(f"{spec.name}({', '.join(needed(form))})" for form in (spec.forms or (spec.schema,)))
    return f"- {ways}: {shortened(spec.description, LONGEST).rstrip(':')}"


def _role(role: RoleDefinition) -> str:
    return prose(f"brief/{role.prompt}") if role.built_in else role.prompt.strip()
