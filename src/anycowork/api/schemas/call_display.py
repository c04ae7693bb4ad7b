"""How calls of a tool are shown."""

from pydantic import Field, JsonValue

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.tools import ToolKind


class ToolDisplayShape(DescribedSchema):
    kind: ToolKind = Field(
        description="What the tool does, in one word. A client treats a word it does not know as 'other'."
    )
    subject: list[str] = Field(description="The parameters that say what a call is about, in the order they are shown.")
    target: list[str] = Field(description="The parameters that rules match.")
    example: dict[str, JsonValue] = Field(description="The parameters of a complete call.")
