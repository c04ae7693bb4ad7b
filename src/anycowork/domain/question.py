"""Questions from an agent to a person, and a reviewer's reviews. One that is not valid stays text."""

from enum import StrEnum
from typing import Literal

from pydantic import model_validator

from anycowork.domain.boundary import ModelDocument, Text, read_written
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json


class Severity(StrEnum):
    CRITICAL = "critical"
    MAJOR = "major"
    MINOR = "minor"


class Option(ModelDocument):
    label: Text
    value: Text
    description: str = ""


class Question(ModelDocument):
    type: Literal["question"]
    format_version: Literal["1.0"] = "1.0"
    question: Text
    context: str = ""
    severity: Severity = Severity.MINOR
    options: tuple[Option, ...] = ()
    default: str | None = None
    allow_custom: bool = False

    @model_validator(mode="after")
    def _can_be_answered(self) -> "Question":
        values = [option.value for option in self.options]
        if len(set(values)) != len(values):
            raise ValueError("two options have the same value")
        if self.default is not None and self.default not in values:
            raise ValueError("the default is not one of the options")
        if not values and not self.allow_custom:
            raise ValueError("no options and no custom answer allowed")
        return self

    def to_json(self) -> Json:
        return self.model_dump(mode="json", exclude_none=True)

    def answer_text(self, *, value: str | None, custom: str | None) -> str:
        """Returns the text of this answer. Raises: Invalid if the question does not accept it."""
        if (value is None) == (custom is None):
            raise Invalid("Answer with exactly one of 'value' (an option) or 'custom' (your own text).", param="value")
        if custom is not None:
            return self._custom(custom)
        for option in self.options:
            if option.value == value:
                return option.label
        valid = ", ".join(f"'{option.value}'" for option in self.options)
        raise Invalid(
            f"'{value}' is not an option of this question. Valid values: {valid or 'none; send custom'}.",
            param="value",
        )

    def _custom(self, custom: str) -> str:
        if not self.allow_custom:
            raise Invalid("This question accepts no custom answer; choose one of its options.", param="custom")
        if not custom.strip():
            raise Invalid("The answer is empty; write something.", param="custom")
        return custom


def read_question(document: Json) -> Question | None:
    """Returns the question in this object; None if it is not valid."""
    if document.get("type") != "question":
        return None
    try:
        return read_written(Question, document)
    except ValueError:
        return None


class Finding(ModelDocument):
    path: Text
    line: int | None = None
    severity: Severity
    problem: Text
    suggestion: str = ""


class Review(ModelDocument):
    type: Literal["review"]
    format_version: Literal["1.0"] = "1.0"
    summary: Text
    findings: tuple[Finding, ...] = ()

    def to_json(self) -> Json:
        return self.model_dump(mode="json", exclude_none=True)


def read_review(document: Json) -> Review | None:
    """Returns the review in this object; None if it is not valid."""
    if document.get("type") != "review":
        return None
    try:
        return read_written(Review, document)
    except ValueError:
        return None
