from typing import Any  # JSON of a test

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import Invalid
from anycowork.domain.fixed_arguments import (
    LONGEST_VALUES,
    ArgumentsBody,
    arguments_of,
    is_long_text,
    read_arguments,
    stored_arguments,
    stored_text,
)

NOTE = "Thank you very much for the good work that you have done for all of us in the course of the last month. " * 2
CODE = "for account in accounts: send(account, all_of_it) " * 10
VALUES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())
CALLS = st.dictionaries(st.text(min_size=1, max_size=20).filter(lambda name: name != "*"), VALUES, max_size=6)


def fixed(**body: Any) -> Any:
    return read_arguments(ArgumentsBody(**body))


@given(CALLS, CALLS)
def test_a_call_admits_itself_and_no_call_with_other_fixed_values(call: dict[str, Any], other: dict[str, Any]) -> None:
    arguments = arguments_of(call)
    assert arguments is not None and arguments.admit(call) and not arguments.differing(call)
    assert stored_arguments(stored_text(arguments)) == arguments
    assert arguments.admit(other) is (not arguments.differing(other))
    if arguments.admit(other):
        assert repr(sorted(call.items())) == repr(sorted(other.items())) or arguments.text


@pytest.mark.parametrize("other", [True, 1.0, "1", None, [1], {"1": 1}])
def test_a_number_is_no_other_value_that_equals_it(other: Any) -> None:
    assert not fixed(fixed={"a": 1}).admit({"a": other})


def test_an_argument_that_was_not_there_is_not_admitted_unless_it_is_open() -> None:
    assert fixed(fixed={"to": "ann"}).differing({"to": "ann", "copy": "bob"}) == ["copy"]
    assert fixed(fixed={"to": "ann"}, open=["copy"]).admit({"to": "ann", "copy": "bob"})
    assert fixed(fixed={"to": "ann"}, open=["*"]).admit({"to": "ann", "copy": "bob"})
    assert not fixed(fixed={"to": "ann"}, open=["*"]).admit({"to": "bob"})
    assert fixed(fixed={"to": "ann"}).admit({"to": "ann", "copy": "bob"}, others_count=False)


@pytest.mark.parametrize("short", ["ann", "DE89 3704 0044", "5 Long Street, New Town", "ann@example.org", CODE, 7])
def test_only_a_long_plain_text_is_left_open(short: Any) -> None:
    assert not is_long_text(short) and is_long_text(NOTE)
    arguments = arguments_of({"to": short, "note": NOTE})
    assert arguments is not None and arguments.names == ("to",) and arguments.text == ("note",)


@pytest.mark.parametrize("target", ["ann@example.org", "http://evil.example", "f(x)=1", "<b>", 5, ["text"]])
def test_a_text_that_is_left_open_becomes_no_address_and_no_code(target: Any) -> None:
    arguments = fixed(text=["note"])
    assert arguments.admit({"note": "Fine."}) and not arguments.admit({"note": target})


def test_values_that_are_too_long_make_no_rule() -> None:
    assert arguments_of({"code": "x" * LONGEST_VALUES}) is None
    assert arguments_of({f"a{number}": 1 for number in range(101)}) is None


@pytest.mark.parametrize("body", [{"fixed": {"a": 1}, "open": ["a"]}, {"text": ["*"]}, {"fixed": {"*": 1}}])
def test_an_argument_has_one_meaning(body: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        fixed(**body)


def test_the_words_show_hidden_characters_and_cut_what_is_long() -> None:
    described = fixed(fixed={"to": "a\u202eb", "note": "x" * 500}, text=["body"], open=["fast", "*"]).describe()
    assert "\u202e" not in described and len(described) < 300 and "…" in described
    assert described.endswith("any text in body, anything else, any fast")
    assert fixed().describe() == "without arguments"
