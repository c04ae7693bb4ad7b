"""The base of every type that crosses a boundary: frozen, strict, and closed to unknown fields."""

from pydantic import BaseModel, ConfigDict


class Boundary(BaseModel):
    """What a model or a client wrote: trust nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Written(BaseModel):
    """A document that a model wrote and a person reads (plan, question, review): known fields are strict, unknown ones are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)
