"""Base classes for every type that crosses a boundary, frozen and strict: requests and calls reject unknown fields,
documents keep them. Each is worked out when something first passes through it: there are 120, and a start needs few."""

import re
from typing import Annotated, TypeVar

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue

_SUBJECT = re.compile(r"^(Value error, |(Input|String|List|Tuple|Dictionary|Value) (?=should ))")


class Boundary(BaseModel):
    """Untrusted input from a model or a client; unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @classmethod
    def work_out(cls) -> None:
        """Works out now what else the first use would, also for those who ask the class whether they should."""
        cls.model_rebuild()
        cls.model_config = {**cls.model_config, "defer_build": False}


class ModelDocument(BaseModel):
    """A document that a model wrote and a person reads (plan, question, review): known fields are strict, unknown ones are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, defer_build=True)


W = TypeVar("W", bound=ModelDocument)
Text = Annotated[str, Field(min_length=1)]


def read_written(kind: type[W], document: dict[str, JsonValue], *, most_bytes: int | None = None) -> W:
    """Validates the document in this object. Raises: ValueError, also as pydantic's ValidationError or for text that cannot be encoded."""
    encoded = msgspec.json.encode(document)
    if most_bytes is not None and len(encoded) > most_bytes:
        raise ValueError(f"it has {len(encoded)} bytes; at most {most_bytes} are allowed.")
    return kind.model_validate_json(encoded)


def reason_of(message: str) -> str:
    """Turns pydantic's message about a field into the end of a sentence that begins with the field: "should be a valid string"."""
    reason = _SUBJECT.sub("", message).partition(" after validation")[0]
    if reason == r"should match pattern '\S'":
        return "must not be empty"
    return reason[:1].lower() + reason[1:]
