"""Tools with their schemas: what gives way when they are more than a provider can be offered."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.roles import Permission
from anycowork.domain.tools import ToolSpec
from anycowork.prompts.native_tools import all_fit_whole, offer_tokens, offered_tools
from support.spec import proves
from unit.prompts.parts import role

LONG = "Finds things. " + "It knows of very many kinds of them. " * 4
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "description": {"type": "string", "description": "what it is", "minLength": 1, "title": "T"},
        "pattern": {"enum": ["title", "default"], "default": "title"},
        "many": {"type": "array", "maxItems": 3, "items": {"$ref": "#/$defs/title"}},
    },
    "required": ["description"],
    "$defs": {"title": {"type": "object", "properties": {"default": {"type": "integer", "minimum": 2}}}},
}
BARE = {
    "type": "object",
    "properties": {
        "description": {"type": "string"},
        "pattern": {"enum": ["title", "default"]},
        "many": {"type": "array", "items": {"$ref": "#/$defs/title"}},
    },
    "required": ["description"],
    "$defs": {"title": {"type": "object", "properties": {"default": {"type": "integer"}}}},
}
ACTOR = role("actor")


def tools(count: int) -> list[ToolSpec]:
    reading = frozenset({Permission.READ_FILES})
    return [ToolSpec(f"tool_{n:02}", "things", LONG, reading, SCHEMA, priority=n) for n in range(count)]


@proves("SYS-2")
def test_what_fits_is_offered_as_it_is():
    found = offered_tools(tools(3), ACTOR)
    assert list(found.tools) == tools(3) and found.left_out == ()
    assert all_fit_whole(tools(3), ACTOR) and not all_fit_whole(tools(3), ACTOR, budget_tokens=300)


@proves("SYS-2")
def test_the_least_important_are_shortened_first_and_keep_every_name_and_type():
    whole = offer_tokens(offered_tools(tools(4), ACTOR).tools)
    first, *_, last = offered_tools(tools(4), ACTOR, budget_tokens=whole - 1).tools
    assert first == tools(4)[0]
    assert (last.description, last.schema) == ("Finds things.", BARE)
    assert tools(1)[0].schema == SCHEMA, "the tool itself keeps what its calls are checked by"


@proves("SYS-2")
@given(st.integers(0, 12), st.integers(0, 3000))
def test_the_offers_fit_their_budget_and_what_is_not_among_them_is_named(count, budget):
    found = offered_tools(tools(count), ACTOR, budget_tokens=budget)
    assert offer_tokens(found.tools) <= budget
    assert sorted([*(spec.name for spec in found.tools), *found.left_out]) == [spec.name for spec in tools(count)]


@pytest.mark.parametrize("schema", [{}, {"properties": None}, {"properties": {"a": True}}, {"anyOf": [1, None]}])
def test_a_strange_schema_is_no_fault(schema):
    specs = [ToolSpec("odd", "things", LONG, frozenset({Permission.READ_FILES}), schema)]
    size = offer_tokens(offered_tools(specs, ACTOR).tools)
    assert json.dumps(offered_tools(specs, ACTOR, budget_tokens=size - 1).tools[0].schema) == json.dumps(schema)
