"""What every shape is made from, and the shapes that belong to no noun."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class DescribedSchema(BaseModel):
    """Built when /openapi.json is first asked for: no answer passes through it."""

    model_config = ConfigDict(defer_build=True)


class Schema(DescribedSchema):
    """Open to more fields: what came with stored data is passed on, and later versions add."""

    model_config = ConfigDict(extra="allow")


class ErrorDetail(DescribedSchema):
    code: str = Field(description="Stable, for programs.")
    message: str = Field(description="For people: the thing, the reason, the way out.")
    param: str | None = Field(description="The field at fault, as a dotted path.")
    type: str


class Error(DescribedSchema):
    error: ErrorDetail


class Health(DescribedSchema):
    status: Literal["ok", "ready"]
