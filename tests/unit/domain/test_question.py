"""The fields of a question, one by one: which are read, what they mean when they are left out, and which make it no question."""

import json
from typing import Any

import pytest

from anycowork.domain.question import Question, Severity, read_question
from support.spec import proves

WHOLE: dict[str, Any] = {
    "type": "question",
    "format_version": "1.0",
    "question": "Which database?",
    "context": "The orders need transactions.",
    "severity": "critical",
    "options": [
        {"label": "PostgreSQL", "value": "pg", "description": "a server of its own"},
        {"label": "SQLite", "value": "lite", "description": "one file"},
    ],
    "default": "lite",
    "allow_custom": True,
}
LEFT_OUT = {"format_version": "1.0", "context": "", "severity": "minor", "default": None, "allow_custom": False}


def fields_of(document: dict[str, Any]) -> dict[str, Any] | None:
    question = read_question(document)
    return None if question is None else question.model_dump(mode="json")


@proves("QST-1/1")
def test_every_field_of_a_question_is_read_as_it_was_written() -> None:
    assert fields_of(WHOLE) == WHOLE
    assert set(WHOLE) == set(Question.model_fields)


@proves("QST-1/1")
@pytest.mark.parametrize("field", LEFT_OUT)
def test_a_field_that_is_left_out_has_its_usual_value(field: str) -> None:
    assert fields_of({name: value for name, value in WHOLE.items() if name != field}) == {
        **WHOLE,
        field: LEFT_OUT[field],
    }


@proves("QST-1/1")
def test_an_option_needs_no_description_and_a_question_no_options_if_any_answer_is_allowed() -> None:
    read = fields_of({**WHOLE, "options": [{"label": "SQLite", "value": "lite"}]})
    assert read is not None and read["options"] == [{"label": "SQLite", "value": "lite", "description": ""}]
    assert fields_of({**WHOLE, "options": [], "default": None}) is not None


@proves("QST-1/1")
def test_a_question_is_critical_major_or_minor_and_nothing_else() -> None:
    assert [severity.value for severity in Severity] == ["critical", "major", "minor"]
    for severity in Severity:
        assert fields_of({**WHOLE, "severity": severity.value}) == {**WHOLE, "severity": severity.value}
    assert all(fields_of({**WHOLE, "severity": severity}) is None for severity in ("high", "Critical", "", None, 1))


@proves("QST-1/1", "QST-1/4")
@pytest.mark.parametrize(
    "change",
    [
        *(
            {name: wrong}
            for name, wrong in {"type": "ask", "question": None, "context": 1, "default": "oracle"}.items()
        ),
        {"options": [{"label": "SQLite"}], "default": None},
        {"options": [{"value": "lite"}]},
        {"options": [{"label": "", "value": "lite"}]},
        {"options": {"lite": "SQLite"}},
        {"options": [], "default": None, "allow_custom": False},
        {"default": "SQLite"},
        {"allow_custom": 1},
    ],
    ids=json.dumps,
)
def test_a_question_with_a_field_that_is_wrong_is_none(change: dict[str, Any]) -> None:
    assert fields_of({**WHOLE, **change}) is None
