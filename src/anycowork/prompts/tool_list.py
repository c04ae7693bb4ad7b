"""Builds the tool list of a prompt: exactly the tools that the role grants, by category, within a token budget. Pure."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from anycowork.domain.roles import RoleDefinition
from anycowork.domain.tools import ToolSpec
from anycowork.domain.values import value
from anycowork.prompts.tokens import BYTES_PER_TOKEN, size
from anycowork.prompts.tool_selection import named, rank_tools

LONGEST = 320  # characters of a description; a stranger's tool may have written a page
SHORT = 60
_NAMES_SHARE = 4  # a quarter of the room names what the rest does not hold
_LEAST_NAMES = 200  # bytes, below which that quarter is better spent on one more tool


@value
class ToolList:
    """`left_out` names the granted tools for which there was no room; a tool that the role does not grant is named nowhere.
    `complete`: no description had to be shortened for want of room, so that no request changes the text."""

    text: str
    tools: tuple[ToolSpec, ...]
    left_out: tuple[str, ...]
    complete: bool


def tool_list(specs: Sequence[ToolSpec], role: RoleDefinition, *, budget_tokens: int, request: str = "") -> ToolList:
    """The tools this role grants. Descriptions are shortened before a tool is left out, and the least important give way first.

    Tools stand in the order given, so that the text stays the same from turn to turn as long as it fits. What is left out can be
    called all the same, so the last line names it, as far as the budget holds the names.
    """
    granted = tools_of(specs, role)
    order = rank_tools(granted, request)
    budget = budget_tokens * BYTES_PER_TOKEN
    lines = _fitted(order, budget)
    listed = tuple(spec for spec in granted if spec.name in lines)
    text = _by_category(listed, lines)
    others = [spec.name for spec in order if spec.name not in lines]
    more = named(others, budget - size(text) - 2) if others and budget // _NAMES_SHARE >= _LEAST_NAMES else ""
    return ToolList(
        text=f"{text}\n\n{more}" if more else text,
        tools=listed,
        left_out=tuple(spec.name for spec in granted if spec.name not in lines),
        complete=all(line == _line(spec, LONGEST) for spec in listed for line in [lines[spec.name]]) and not others,
    )


def tools_of(specs: Sequence[ToolSpec], role: RoleDefinition) -> list[ToolSpec]:
    """Returns the granted tools; sentences about tools that the role lacks are removed from their descriptions."""
    excluded = [spec.name for spec in specs if not role.grants(spec.permissions)]
    # A tool name that is also an ordinary word ("search") does not refer to the tool in a sentence.
    distinct = [re.escape(name) for name in excluded if re.search(r"[^a-z]", name)]
    granted = [spec for spec in specs if role.grants(spec.permissions)]
    if not distinct:
        return granted
    names = re.compile(rf"\b({'|'.join(distinct)})\b")
    return [replace(spec, description=_without(names, spec.description)) for spec in granted]


def _without(names: re.Pattern[str], description: str) -> str:
    return " ".join(sentence for sentence in re.split(r"(?<=[.!?])\s+", description) if not names.search(sentence))


def _fitted(ranked: Sequence[ToolSpec], budget: int) -> dict[str, str]:
    """The line of every tool that fits, by name: whole lines, else short ones from the end, else as many short ones as fit."""
    lines = {spec.name: _line(spec, LONGEST) for spec in ranked}
    used = sum(map(_cost, lines.values())) + sum(map(_heading_cost, {spec.category for spec in ranked}))
    for spec in reversed(ranked):
        if used <= budget:
            return lines
        short = _line(spec, SHORT)
        used -= _cost(lines[spec.name]) - _cost(short)
        lines[spec.name] = short
    return lines if used <= budget else _as_many_as_fit(ranked, lines, budget)


def _as_many_as_fit(ranked: Iterable[ToolSpec], lines: dict[str, str], budget: int) -> dict[str, str]:
    fitting: dict[str, str] = {}
    opened: set[str] = set()
    names = budget // _NAMES_SHARE
    budget -= names if names >= _LEAST_NAMES else 0
    for spec in ranked:
        cost = _cost(lines[spec.name]) + (0 if spec.category in opened else _heading_cost(spec.category))
        if cost > budget:
            continue
        budget -= cost
        fitting[spec.name] = lines[spec.name]
        opened.add(spec.category)
    return fitting


def _line(spec: ToolSpec, limit: int) -> str:
    description = shortened(spec.description, limit)
    return f"- {spec.name}({signature(spec.schema)})" + (f": {description}" if description else "")


def shortened(description: str, limit: int) -> str:
    """One line of at most `limit` characters: all of it, else its first sentence, else its first words."""
    line = " ".join(description.split())
    if len(line) <= limit:
        return line
    sentence = re.split(r"(?<=[.;:])\s", line, maxsplit=1)[0]
    if len(sentence) <= limit:
        return sentence
    return line[: limit - 1].rsplit(" ", 1)[0].rstrip(".,;:") + "…"


def _cost(line: str) -> int:
    return size(line) + 1


def _heading_cost(category: str) -> int:
    return size(_heading(category)) + 2


def _heading(category: str) -> str:
    return f"## {category}"


def _by_category(listed: Sequence[ToolSpec], lines: dict[str, str]) -> str:
    categories = dict.fromkeys(spec.category for spec in listed)
    blocks = (
        "\n".join([_heading(category), *(lines[spec.name] for spec in listed if spec.category == category)])
        for category in categories
    )
    return "\n\n".join(blocks)


Schema = Mapping[str, JsonValue]
_DEEPEST = 4  # a schema may refer to itself


def signature(schema: Schema) -> str:
    """The parameters of this schema, each with its type; `?` marks those that may be left out."""
    return _fields(schema, schema, _DEEPEST)


def _fields(schema: Schema, root: Schema, depth: int) -> str:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return ""
    needed = required if isinstance(required, list) else []
    return ", ".join(
        f"{name}{'' if name in needed else '?'}: {_type(property_schema, root, depth)}"
        for name, property_schema in properties.items()
    )


def _type(schema: JsonValue, root: Schema, depth: int) -> str:
    if not isinstance(schema, dict) or depth == 0:
        return "any"
    if isinstance(reference := schema.get("$ref"), str):
        return _type(_referred(reference, root), root, depth - 1)
    if "const" in schema:
        return json.dumps(schema["const"])
    if isinstance(values := schema.get("enum"), list):
        return "|".join(json.dumps(value) for value in values)
    if isinstance(branches := schema.get("anyOf", schema.get("oneOf")), list):
        return _either([_type(branch, root, depth - 1) for branch in branches])
    return _plain(schema, root, depth)


def _plain(schema: Schema, root: Schema, depth: int) -> str:
    match schema.get("type"):
        case "array":
            return f"[{_type(schema.get('items'), root, depth - 1)}]"
        case "object":
            fields = _fields(schema, root, depth - 1)
            return f"{{{fields}}}" if fields else "object"
        case str(name):
            return name
        case list(names):
            return _either([str(name) for name in names])
        case _:
            return "any"


def _referred(reference: str, root: Schema) -> JsonValue:
    """What `#/$defs/Name` stands for; nothing outside the schema is ever looked up."""
    target: JsonValue = dict(root)
    for step in reference.removeprefix("#/").split("/"):
        target = target.get(step) if isinstance(target, dict) else None
    return target


def _either(types: list[str]) -> str:
    """`null` says only that the parameter may be left out, which `?` says already."""
    return "|".join(dict.fromkeys(name for name in types if name != "null")) or "null"
