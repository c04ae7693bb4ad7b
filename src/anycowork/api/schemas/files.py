"""Files of a workspace, as a person browses them."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema

_SHOWN = "The path with misleading and invisible characters written out, for the screen."


class FoundPathShape(DescribedSchema):
    path: str
    shown: str = Field(description=_SHOWN)
    kind: Literal["file", "folder"]


class FoundPathsShape(DescribedSchema):
    results: list[FoundPathShape]
    complete: bool = Field(description="False if the workspace has more files than were searched.")


class FoundSymbolShape(DescribedSchema):
    name: str
    kind: str = Field(description="The keyword that defines it, such as class or def.")
    path: str
    line: int


class FoundSymbolsShape(DescribedSchema):
    results: list[FoundSymbolShape]
