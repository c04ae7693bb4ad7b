"""Reviews: the structured answers of a reviewer. A review that is not valid stays text."""

from typing import Literal

from anycowork.domain.boundary import ModelDocument, Text, read_written
from anycowork.domain.messages import Json
from anycowork.domain.question import Severity


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
    """Return the review in this object; None if it is not valid."""
    if document.get("type") != "review":
        return None
    try:
        return read_written(Review, document)
    except ValueError:
        return None
