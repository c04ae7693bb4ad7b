"""What a worker reports at the end of its task. Pure."""

import json
from enum import StrEnum
from typing import Annotated

from pydantic import Field, JsonValue, ValidationError

from anycowork.domain.boundary import ModelDocument, Text
from anycowork.domain.messages import Json
from anycowork.domain.model import LONGEST_REPLY

_DECODER = json.JSONDecoder()
_MOST_TRIED = 50  # braces at which an object may begin


class ReportStatus(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"


class TaskReport(ModelDocument):
    status: Annotated[ReportStatus, Field(strict=False)]
    summary: Text
    evidence: JsonValue = None

    def to_json(self) -> Json:
        return self.model_dump(mode="json", exclude_none=True)


def read_report(text: str) -> TaskReport | None:
    """The last object in the text that is a report; None if there is none."""
    text = text[:LONGEST_REPLY]
    at = text.rfind("{")
    for _ in range(_MOST_TRIED):
        if at < 0:
            return None
        try:
            found, _end = _DECODER.raw_decode(text, at)
            if isinstance(found, dict):
                return TaskReport.model_validate(found)
        except (ValidationError, ValueError, RecursionError):
            pass
        at = text.rfind("{", 0, at)
    return None
