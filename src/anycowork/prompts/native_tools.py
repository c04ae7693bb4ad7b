"""Selects the tools and schemas to offer to a model with native tool calls, within a budget. Pure."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from anycowork.domain.roles import RoleDefinition
from anycowork.domain.tools import ToolSpec
from anycowork.prompts.tokens import BYTES_PER_TOKEN, size
from anycowork.prompts.tool_list import SHORT, shortened, tools_of
from anycowork.prompts.tool_selection import ToolSelection, rank_tools, select_tools

OFFER_BUDGET = 4_000  # with their schemas they are far wider than a line
_ENVELOPE = 84  # bytes that a provider's format and its list put around one
# Schema keywords beyond names and types. The gate validates every call with the full schema and explains what is wrong.
_BEYOND = frozenset(
    {"title", "description", "default", "examples", "pattern", "additionalProperties", "minLength", "maxLength"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems"}
)
_BY_NAME = frozenset({"properties", "$defs", "definitions"})  # what stands in these are names, not keywords
_VERBATIM = frozenset({"enum", "const", "required"})


def offered_tools(
    specs: Sequence[ToolSpec], role: RoleDefinition, *, budget_tokens: int | None = None, request: str = ""
) -> ToolSelection:
    """Returns all granted tools if they fit, with the least important shortened first; else those of the highest rank."""
    granted = tools_of(specs, role)
    budget = _byte_budget(budget_tokens)
    fitting = _shortened_until(granted, budget, request)
    return select_tools(
        fitting if _together(fitting) <= budget else granted, weight=_offer_size, budget=budget, request=request
    )


def all_fit_whole(specs: Sequence[ToolSpec], role: RoleDefinition, *, budget_tokens: int | None = None) -> bool:
    """Whether all tools fit unshortened, so that the offer does not depend on the request."""
    return _together(tools_of(specs, role)) <= _byte_budget(budget_tokens)


def offer_tokens(specs: Sequence[ToolSpec]) -> int:
    """Returns the tokens that the tools add to a request."""
    return math.ceil(_together(specs) / BYTES_PER_TOKEN)


def _byte_budget(budget_tokens: int | None) -> int:
    return (OFFER_BUDGET if budget_tokens is None else budget_tokens) * BYTES_PER_TOKEN


def _together(specs: Sequence[ToolSpec]) -> int:
    return sum(map(_offer_size, specs))


def _offer_size(spec: ToolSpec) -> int:
    return _ENVELOPE + size(spec.name) + size(spec.description) + size(json.dumps(spec.schema))


def _shortened_until(granted: Sequence[ToolSpec], budget: int, request: str) -> list[ToolSpec]:
    excess = _together(granted) - budget
    short: dict[str, ToolSpec] = {}
    for spec in reversed(rank_tools(granted, request)) if excess > 0 else ():
        if excess <= 0:
            break
        short[spec.name] = _short(spec)
        excess -= _offer_size(spec) - _offer_size(short[spec.name])
    return [short.get(spec.name, spec) for spec in granted]


def _short(spec: ToolSpec) -> ToolSpec:
    bare = _bare(spec.schema)
    schema = bare if isinstance(bare, dict) else spec.schema
    return replace(spec, description=shortened(spec.description, SHORT), schema=schema)


def _bare(schema: JsonValue) -> JsonValue:
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _inside(key, value) for key, value in schema.items() if key not in _BEYOND}


def _inside(key: str, value: JsonValue) -> JsonValue:
    if key in _BY_NAME and isinstance(value, dict):
        return {name: _bare(item) for name, item in value.items()}
    return value if key in _VERBATIM else _bare(value)
