"""Providers and local models."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema


class ProviderShape(DescribedSchema):
    name: str
    kind: str
    base_url: str | None
    models: list[str]
    images: list[str] = Field(description="Those of its models that can be shown images.")
    default: bool
    default_model: str | None = Field(
        description="The model that it is asked for where none is named, if it is the default."
    )
    status: str = Field(description="ready, once a request succeeded; not tested, no key, key refused or unreachable.")
    has_key: bool = Field(description="Whether a key is known. The key itself is never shown.")
    hint: str
    detail: str | None = Field(description="What the status does not tell, such as why its certificate is not trusted.")


class PresetShape(DescribedSchema):
    name: str
    title: str
    kind: str
    base_url: str
    key_url: str | None = Field(description="Where a person gets a key.")
    needs_key: bool


class ProviderList(DescribedSchema):
    providers: list[ProviderShape]
    presets: list[PresetShape]


class TestResult(DescribedSchema):
    __test__ = False

    ok: bool
    message: str = Field(description="The verdict in plain words.")
    models: list[str]


class ModelPriceShape(DescribedSchema):
    input: float = Field(description="US dollars per million tokens.")
    output: float
    cached: float | None = Field(description="Of prompt tokens that the server had cached; null: the full price.")


class ModelFactsShape(DescribedSchema):
    context_tokens: int | None = Field(description="null: unknown.")
    price: ModelPriceShape | None = Field(description="null: unknown.")


class ModelNames(DescribedSchema):
    models: list[str]
    facts: dict[str, ModelFactsShape] = Field(description="Of the models of which something is known.")


class LocalModelShape(DescribedSchema):
    name: str
    title: str
    state: Literal["absent", "pulling", "ready", "failed"]
    recommended: bool
    size_bytes: int
    fetched_bytes: int
    progress: float | None = Field(description="0 to 1.")
    memory_bytes: int = Field(description="What running it takes.")
    licence: str
    limits: str = Field(description="What it can and cannot do, in plain words.")
    loaded: bool
    error: str | None


class LocalEngine(DescribedSchema):
    installed: bool
    hint: str | None


class LocalModelList(DescribedSchema):
    engine: LocalEngine
    models: list[LocalModelShape]
