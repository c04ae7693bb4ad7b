"""Parameters: typed or from a form, checked all at once, and put in their places as data."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import Invalid
from anycowork.domain.workflows import ParameterType, UnfittingParameters, Workflow, WorkflowParameter
from anycowork.workflows.parameters import (
    as_typed,
    fit,
    placeholders,
    read_words,
    render,
    render_json,
    split_words,
    usage,
)
from support.spec import proves


def workflow(*parameters: WorkflowParameter) -> Workflow:
    return Workflow("demo", "d", "c", parameters, ())


PATH = WorkflowParameter("path", ParameterType.PATH, "where")
COUNT = WorkflowParameter("count", ParameterType.INTEGER, required=False, default=1)
STYLE = WorkflowParameter("style", required=False, default="short", choices=("short", "long"))
ALL = workflow(PATH, COUNT, STYLE)


def typed(text: str, of: Workflow = ALL) -> dict[str, object]:
    return fit(of, read_words(of, split_words(text)))


@proves("WFL-2")
@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("path=a.txt", {"path": "a.txt", "count": 1, "style": "short"}),
        ("a.txt", {"path": "a.txt", "count": 1, "style": "short"}),
        ("a.txt 3", {"path": "a.txt", "count": 3, "style": "short"}),
        ("count=3 a.txt style=long", {"path": "a.txt", "count": 3, "style": "long"}),
        ('path="my notes/a b.txt"', {"path": "my notes/a b.txt", "count": 1, "style": "short"}),
        ("'x = 1.txt'", {"path": "x = 1.txt", "count": 1, "style": "short"}),
        ("path=a.txt\ncount=2", {"path": "a.txt", "count": 2, "style": "short"}),
        ("path=./src//a.txt", {"path": "src/a.txt", "count": 1, "style": "short"}),
        ("path=a.txt count=", {"path": "a.txt", "count": 1, "style": "short"}),
    ],
)
def test_typed_text_gives_values(text: str, values: dict[str, object]) -> None:
    assert typed(text) == values


@proves("WFL-2")
@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", {"path": "is missing (where)"}),
        ("count=x style=wide", {"path": "missing", "count": "whole number", "style": "one of short, long"}),
        ("path=/etc/passwd", {"path": "inside the workspace"}),
        ("path=a/../../b", {"path": "inside the workspace"}),
        ("path=a colour=red", {"colour": "is not a parameter (it takes: path, count, style)"}),
        ("path=a path=b", {"path": "given twice"}),
        ("a.txt 2 long more", {"more": "one word too many"}),
        ("--path a.txt", {"--path": "without dashes: path=…"}),
        ("a.txt -count=2", {"-count=2": "without dashes: count=…"}),
        ("path=a count=1.5", {"count": "whole number"}),
        ("path=a count=" + "9" * 30, {"count": "whole number"}),
    ],
)
def test_every_fault_names_its_parameter(text: str, faults: dict[str, str]) -> None:
    with pytest.raises(UnfittingParameters) as told:
        typed(text)
    assert set(told.value.faults) == set(faults)
    for name, words in faults.items():
        assert words in told.value.faults[name] and name in told.value.message


def test_endless_typed_text_is_refused_at_once() -> None:
    with pytest.raises(Invalid, match="64,000"):
        split_words("x" * 64_001)


def test_an_open_quote_is_told() -> None:
    with pytest.raises(Invalid, match="closing quotation"):
        split_words("path='it is")


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (ParameterType.INTEGER, [3, "3", "-3"], [True, 1.5, "x", [1], {}]),
        (ParameterType.NUMBER, [3, 1.5, "1.5"], [True, "x", float("nan"), "inf", []]),
        (ParameterType.BOOLEAN, [True, "yes", "off", "1"], [2, "maybe", []]),
        (ParameterType.STRING, ["x", "ünï"], [1, True, ["x"], "a\0b", "\ud800", "x" * 20_001]),
        (ParameterType.PATH, ["a", "a/b"], ["/a", "..", "a/..", "a\nb", 1]),
    ],
)
def test_a_form_may_send_a_type_or_its_text(kind: ParameterType, good: list[object], bad: list[object]) -> None:
    one = workflow(WorkflowParameter("x", kind))
    for value in good:
        assert "x" in fit(one, {"x": value})
    for value in bad:
        with pytest.raises(UnfittingParameters):
            fit(one, {"x": value})


def test_usage_shows_what_must_be_given() -> None:
    assert usage(ALL) == "/demo path=<path> [count=<integer>] [style=short|long]"


@proves("WFL-2")
@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.text(min_size=1).filter(str.strip), min_size=3))
def test_what_is_typed_again_gives_the_same_values(values: dict[str, str]) -> None:
    three = workflow(*(WorkflowParameter(name) for name in "abc"))
    try:
        fitted = fit(three, values)
    except UnfittingParameters:
        return
    words = as_typed("demo", fitted).removeprefix("/demo")
    assert fit(three, read_words(three, split_words(words))) == fitted


@given(st.text(), st.text())
def test_a_value_is_put_in_once_and_never_looked_at_again(one: str, other: str) -> None:
    assert render("{{a}}|{{ b }}", {"a": one + "{{b}}", "b": other}) == f"{one}{{{{b}}}}|{other}"


@given(st.text())
def test_a_value_never_changes_the_shape_of_a_call(value: str) -> None:
    template = {"path": "x/{{v}}", "list": ["{{v}}", 1], "deep": {"{{v}}": True}}
    rendered = render_json(template, {"v": value})
    assert rendered == {"path": "x/" + value, "list": [value, 1], "deep": {"{{v}}": True}}


def test_a_placeholder_alone_keeps_the_type_and_without_a_value_its_place_goes() -> None:
    template = {"timeout": "{{t}}", "fast": "{{f}}", "note": "{{gone}}", "text": "in {{t}} s{{gone}}"}
    assert render_json(template, {"t": 5, "f": True}) == {"timeout": 5, "fast": True, "text": "in 5 s"}


def test_names_are_found_wherever_they_stand() -> None:
    assert sorted(placeholders({"a": ["{{x}}", {"b": "{{ y }} {{Z}} {{ x.y }}"}], "c": 1})) == ["x", "y"]


def test_words_are_quoted_so_that_they_hold_together() -> None:
    assert (
        as_typed("demo", {"a": "it's", "b": True, "c": 3})
        == f"/demo a={shlex.quote(chr(39).join(['it', 's']))} b=true c=3"
    )
