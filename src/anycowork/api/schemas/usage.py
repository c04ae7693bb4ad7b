"""The shape of what a chat has used of its models."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema


class ModelUsageShape(DescribedSchema):
    model: str
    requests: int
    reserved: int = Field(description="Set aside for requests that never told what they used; it counts as spent.")
    prompt: int
    completion: int
    cached: int
    reasoning: int
    estimated: bool = Field(description="Some of it was counted here, because the provider did not say.")
    cost: float | None = Field(description="US dollars by the known prices; null where none is known.")


class ChatUsageShape(DescribedSchema):
    models: list[ModelUsageShape]
    window: int = Field(description="Tokens that the newest request filled.")
    context_tokens: int | None = Field(description="How many the chat's model can be shown; null if it is gone.")
    context_known: bool = Field(description="False: nobody named the size, and it is assumed.")
