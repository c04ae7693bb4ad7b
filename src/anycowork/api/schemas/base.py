"""What every shape is made from, and the shapes that belong to no noun."""

from functools import cache
from types import new_class
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema


class DescribedSchema:
    """Describes an object of an answer, with pydantic's fields. No answer passes through it.

    So it becomes a model only when /openapi.json is first asked for: to make 160 of them took a twentieth of a start.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(_model_of(cls))  # type: ignore[arg-type]  # mypy takes the hash of its instances


class DescribedModel(BaseModel):
    model_config = ConfigDict(defer_build=True)  # they refer to each other


@cache
def _model_of(shape: type[DescribedSchema]) -> type[BaseModel]:
    if shape is DescribedSchema:
        return DescribedModel
    parents = tuple(_model_of(base) for base in shape.__bases__)
    written = {name: it for name, it in vars(shape).items() if name not in ("__dict__", "__weakref__")}
    return new_class(shape.__name__, parents, exec_body=lambda namespace: namespace.update(written))


class Schema(DescribedSchema):
    """Open to more fields: what came with stored data is passed on, and later versions add."""

    model_config: ClassVar = ConfigDict(extra="allow")


VisibilityField = Annotated[
    str,
    Field(
        min_length=1,
        max_length=80,
        description="`private`, `everyone`, or `group:` and a group's name.",
        examples=["private", "group:design", "everyone"],
    ),
]


class ErrorDetail(DescribedSchema):
    code: str = Field(description="Stable, for programs.")
    message: str = Field(description="For people: the thing, the reason, the way out.")
    param: str | None = Field(description="The field at fault, as a dotted path.")
    type: str


class Error(DescribedSchema):
    error: ErrorDetail


class Health(DescribedSchema):
    status: Literal["ok", "ready"]
