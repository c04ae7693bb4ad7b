import json

import jsonschema_rs
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from anycowork.tools.plugins.schemas import BadSchema, problems_by, validated

NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.text(alphabet="xyzü", max_size=4)
NUMBERS = st.integers(-5, 5) | st.floats(-5, 5).filter(lambda number: not number.is_integer())
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def objects(parts: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    def closed(properties: dict[str, object], wanted: list[str], open_: bool) -> dict[str, object]:
        required = [name for name in dict.fromkeys(wanted) if name in properties]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": open_}

    return st.builds(
        closed, st.dictionaries(NAMES, parts, max_size=3), st.lists(NAMES, max_size=3), st.sampled_from([True, False])
    )


PLAIN: st.SearchStrategy[dict[str, object]] = st.one_of(
    st.just({}),
    st.builds(lambda kind: {"type": kind}, st.sampled_from(["string", "integer", "number", "boolean", "null"])),
    st.builds(lambda kinds: {"type": kinds}, st.lists(st.sampled_from(["string", "integer"]), min_size=1, unique=True)),
    st.builds(lambda values: {"enum": values}, st.lists(VALUES, min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, VALUES),
    st.builds(lambda least, most: {"minLength": least, "maxLength": most}, st.integers(0, 3), st.integers(0, 3)),
    st.builds(lambda least, most: {"minimum": least, "maximum": most}, NUMBERS, NUMBERS),
)
PARTS = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        objects(inner),
        st.builds(lambda items, most: {"type": "array", "items": items, "maxItems": most}, inner, st.integers(0, 3)),
        st.builds(lambda branches: {"anyOf": branches}, st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=4,
)


@given(objects(PARTS), st.dictionaries(NAMES, VALUES, max_size=3))
def test_parameters_fit_exactly_when_the_standard_says_so(schema: dict, parameters: dict) -> None:
    schema["additionalProperties"] = False
    try:
        read = validated(schema)
    except BadSchema as error:
        assume("nested" not in str(error))
        raise
    fits = jsonschema_rs.validator_for(json.loads(json.dumps(read))).is_valid(parameters)
    assert (problems_by(read, parameters) == []) is fits


@given(st.dictionaries(st.text(max_size=12), VALUES, max_size=4))
def test_no_schema_is_too_odd_to_be_answered(schema: dict) -> None:
    with pytest.raises(BadSchema):
        validated({**schema, "$ref": "#/anything"})
    try:
        validated(schema)
    except BadSchema as error:
        assert str(error)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "string"}, "must be of type 'object'"),
        ({"type": "object", "additionalProperties": True}, "must not allow additional properties"),
        (
            {"type": "object", "properties": {"a": {"pattern": "(a+)+$"}}},
            "'pattern', which is not supported; supported are",
        ),
        ({"type": "object", "properties": {"a b": {}}}, "'a b' is no name for a parameter"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "'type' in the schema of 'a'"),
        ({"type": "object", "properties": {"a": {"enum": []}}}, "'enum' in the schema of 'a'"),
        ({"type": "object", "required": ["a"]}, "'a' is required .* not among"),
        ({"type": "object", "description": "x" * 30_000}, "more than 20,000 letters"),
    ],
)
def test_a_schema_that_is_not_understood_is_refused_with_the_reason(schema: dict, says: str) -> None:
    with pytest.raises(BadSchema, match=says):
        validated(schema)


def test_a_schema_that_is_nested_without_end_is_refused() -> None:
    schema: dict = {"type": "object", "properties": {"a": {}}}
    for _ in range(10):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(BadSchema, match="nested more than"):
        validated(schema)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({}, "'path' is missing; it is required (text)."),
        ({"path": 3}, "'path' is the number 3, which does not fit: it should be text."),
        ({"path": "a", "to": 1}, "'to' is not a parameter; the parameters are path, lines, kind."),
        (
            {"path": "a", "lines": [1, "b"]},
            "'lines.1' is the text 'b', which does not fit: it should be a whole number.",
        ),
        (
            {"path": "a", "lines": [True]},
            "'lines.0' is the value True, which does not fit: it should be a whole number.",
        ),
        ({"path": "a", "kind": "c"}, """'kind' is the text 'c', which does not fit: it should be one of "a", "b"."""),
        ({"path": "a\0"}, "'path' must not contain NUL characters."),
        ({"path": "\ud800"}, "'path' must be valid Unicode text."),
        ({"path": ""}, "'path' must not be less than 1 letters."),
    ],
)
def test_problems_name_the_field_the_fault_and_what_is_expected(parameters: dict, says: str) -> None:
    schema = validated(
        {
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "lines": {"type": "array", "items": {"type": "integer"}},
                "kind": {"enum": ["a", "b"]},
            },
            "required": ["path"],
        }
    )
    assert problems_by(schema, parameters) == [says]
