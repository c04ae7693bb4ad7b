"""The forms that servers ask people to fill in."""

import pytest

from anycowork.mcp.elicitation_form import DEFAULT, SKIP, FieldValue, form_fields
from anycowork.mcp.offers import parameter_name


def test_a_default_is_offered_only_if_the_field_takes_it() -> None:
    properties = {
        "good": {"type": "integer", "default": 3},
        "flag": {"type": "integer", "default": True},
        "strange": {"type": "string", "enum": ["a"], "default": "b"},
        "list": {"type": "array", "items": {"type": "string", "enum": ["a"]}, "default": ["a", "b"]},
    }
    fields = form_fields({"properties": properties}) or []
    assert [field.default for field in fields] == [3, None, None, None]
    values = [[option.value for option in field.question("?", "s").options] for field in fields]
    assert [DEFAULT in one for one in values] == [True, False, False, False]
    assert all(SKIP in one for one in values)


@pytest.mark.parametrize(
    ("part", "answer", "expected"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 5}, "5", 5),
        ({"type": "integer", "minimum": 1, "maximum": 5}, "6", None),
        ({"type": "number", "minimum": 1}, "nan", None),
        ({"type": "array", "items": {"anyOf": [{"const": "f1", "title": "Tuna"}]}}, "Tuna, f1", ["f1", "f1"]),
        ({"type": "array", "items": {"enum": ["a"]}}, "b", None),
        ({"type": "array", "maxItems": 1}, "a, b", None),
        ({"type": "array"}, "a, b", ["a", "b"]),
    ],
)
def test_an_answer_is_read_within_the_bounds_of_its_field(
    part: dict[str, object], answer: str, expected: FieldValue | None
) -> None:
    (field,) = form_fields({"properties": {"x": part}}) or []
    if expected is None:
        with pytest.raises(ValueError):
            field.read(answer)
    else:
        assert field.read(answer) == expected


def test_a_form_with_too_many_fields_is_not_shown() -> None:
    assert form_fields({"properties": {f"f{n}": {"type": "string"} for n in range(21)}}) is None


def test_arguments_of_prompts_get_names_that_workflows_take() -> None:
    names = ("resourceType", "resource-type", "topic", "resource.type", "ID")
    assert [parameter_name(name) for name in names] == [
        "resource_type",
        "resource_type",
        "topic",
        "resource_type",
        "id",
    ]
