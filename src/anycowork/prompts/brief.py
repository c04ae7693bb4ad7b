"""The short prompt for a small model: what it may call, few rules, and worked examples of its role. Pure."""

from collections.abc import Sequence

from anycowork.domain.roles import RoleDefinition
from anycowork.domain.tools import ToolSpec
from anycowork.prompts.catalogue import shortened
from anycowork.prompts.instructions import NOTHING, Section
from anycowork.prompts.prose import prose
from anycowork.prompts.replies import callable_tools, needed

LONGEST = 90  # characters of a tool's description


def brief_prompt(
    base: str | None, role: RoleDefinition, specs: Sequence[ToolSpec], instructions: Section = NOTHING
) -> str:
    """`base` is what a person wrote instead of our own opening. The same arguments give the same bytes, so that a cache of them holds."""
    granted = callable_tools(role, specs)
    tools = "\n".join(["Tools:", *map(_line, granted)]) if granted else ""
    parts = (base or "", prose("brief/base"), tools, prose("brief/rules"), _role(role), instructions.text)
    return "\n\n".join(part for part in parts if part)


def _line(spec: ToolSpec) -> str:
    ways = " or ".join(f"{spec.name}({', '.join(needed(form))})" for form in (spec.forms or (spec.schema,)))
    return f"- {ways}: {shortened(spec.description, LONGEST).rstrip(':')}"


def _role(role: RoleDefinition) -> str:
    return prose(f"brief/{role.prompt}") if role.built_in else role.prompt.strip()
