"""The base of every type that crosses a boundary: frozen, strict, and closed to unknown fields."""

import re

from pydantic import BaseModel, ConfigDict

_SUBJECT = re.compile(r"^(Value error, |(Input|String|List|Tuple|Dictionary|Value) (?=should ))")


class Boundary(BaseModel):
    """What a model or a client wrote: trust nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Written(BaseModel):
    """A document that a model wrote and a person reads (plan, question, review): known fields are strict, unknown ones are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


def reason_of(message: str) -> str:
    """Pydantic's words about a field as the end of a sentence that begins with the field: "should be a valid string"."""
    words = _SUBJECT.sub("", message).partition(" after validation")[0]
    if words == r"should match pattern '\S'":
        return "must say something"
    return words[:1].lower() + words[1:]
