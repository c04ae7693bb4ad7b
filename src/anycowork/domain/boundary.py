"""The bases of every type that crosses a boundary, frozen and strict: requests and calls, which are closed to unknown fields,
and documents, which keep them."""

import re
from typing import Annotated, TypeVar

import msgspec
from pydantic import BaseModel, ConfigDict, Field, JsonValue

_SUBJECT = re.compile(r"^(Value error, |(Input|String|List|Tuple|Dictionary|Value) (?=should ))")


class Boundary(BaseModel):
    """What a model or a client wrote: trust nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Written(BaseModel):
    """A document that a model wrote and a person reads (plan, question, review): known fields are strict, unknown ones are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


W = TypeVar("W", bound=Written)
Text = Annotated[str, Field(min_length=1)]


def read_written(kind: type[W], found: dict[str, JsonValue], *, most_bytes: int | None = None) -> W:
    """The document in this object. Raises: ValueError, of which pydantic's ValidationError is one, and text that cannot be encoded another."""
    encoded = msgspec.json.encode(found)
    if most_bytes is not None and len(encoded) > most_bytes:
        raise ValueError(f"it has {len(encoded)} bytes, and at most {most_bytes} are read.")
    return kind.model_validate_json(encoded)


def reason_of(message: str) -> str:
    """Pydantic's words about a field as the end of a sentence that begins with the field: "should be a valid string"."""
    words = _SUBJECT.sub("", message).partition(" after validation")[0]
    if words == r"should match pattern '\S'":
        return "must say something"
    return words[:1].lower() + words[1:]
