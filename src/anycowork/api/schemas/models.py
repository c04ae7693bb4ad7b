"""Providers and local models."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.metering import UsageGroup


class ModelPriceResponse(DescribedSchema):
    input: float = Field(description="US dollars per million tokens.")
    output: float
    cached: float | None = Field(description="Of prompt tokens that the server had cached; null: the full price.")


class ModelSettingsResponse(DescribedSchema):
    """null: what is known of the model holds."""

    images: bool | None
    calling: Literal["text", "schema", "native"] | None
    context_tokens: int | None
    price: ModelPriceResponse | None
    fallbacks: list[str] = Field([], description="Models that go on, in this order, where it cannot answer.")


class ProviderResponse(DescribedSchema):
    name: str
    kind: str
    base_url: str | None
    models: list[str]
    images: list[str] = Field(
        description="Those of its models that can be shown images, or may be: then they are tried."
    )
    no_images: list[str] = Field(description="Models that cannot be shown images, of those that were named or tried.")
    tries_images: bool = Field(description="Whether a model of which nothing is known is shown images.")
    calling: Literal["text", "schema", "native"] = Field(
        description="How its models call tools unless one is set otherwise."
    )
    model_settings: dict[str, ModelSettingsResponse] = Field(description="What a person set for single models.")
    privacy: Literal["local", "company", "anyone"] = Field(
        description="Who sees what is sent there. No request goes on with a model whose server more people see into."
    )
    changeable: bool = Field(description="Whether it was connected here, and can be changed and removed.")
    default: bool
    default_model: str | None = Field(
        description="The model that it is asked for where none is named, if it is the default."
    )
    status: str = Field(description="ready, once a request succeeded; not tested, no key, key refused or unreachable.")
    has_key: bool = Field(description="Whether a key is known. The key itself is never shown.")
    hint: str
    detail: str | None = Field(description="What the status does not tell, such as why its certificate is not trusted.")


class PresetResponse(DescribedSchema):
    name: str
    title: str
    kind: str
    base_url: str
    key_url: str | None = Field(description="Where a person gets a key.")
    needs_key: bool


class ProviderList(DescribedSchema):
    providers: list[ProviderResponse]
    presets: list[PresetResponse]


class TestResult(DescribedSchema):
    __test__ = False

    ok: bool
    message: str = Field(description="The verdict in plain words.")
    models: list[str]


class ModelFactsResponse(DescribedSchema):
    context_tokens: int | None = Field(description="null: unknown.")
    price: ModelPriceResponse | None = Field(description="null: unknown.")
    images: bool | None = Field(description="Whether it accepts images. null: unknown, so they are tried.")
    native_calls: bool | None = Field(
        description="Whether it calls tools through its server's own interface. null: unknown."
    )


class ModelNames(DescribedSchema):
    models: list[str]
    facts: dict[str, ModelFactsResponse] = Field(description="Of the models of which something is known.")


class LocalModelResponse(DescribedSchema):
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
    models: list[LocalModelResponse]


class UsageCountsResponse(DescribedSchema):
    requests: int
    reserved: int = Field(description="Set aside for requests that never told what they used; it counts as spent.")
    prompt: int
    completion: int
    cached: int
    reasoning: int
    estimated: bool = Field(description="Some of it was counted here, because the provider did not say.")
    cost: float | None = Field(description="US dollars by the known prices; null where none is known.")


class ModelUsageResponse(UsageCountsResponse):
    model: str


class UsageSumResponse(UsageCountsResponse):
    unpriced_requests: int = Field(description="Requests whose price is not known: `cost` leaves them out.")


class UsageRowResponse(UsageSumResponse):
    key: str = Field(
        description="The id of the chat or job, the name of the role, model, person or group, or the day (UTC)."
    )


class UsageReportResponse(DescribedSchema):
    by: UsageGroup
    since: str
    until: str
    rows: list[UsageRowResponse] = Field(description="Most tokens first; days newest first.")
    groups: int = Field(description="How many there are, beyond the limit too.")
    total: UsageSumResponse


class ChatUsageResponse(DescribedSchema):
    models: list[ModelUsageResponse]
    window: int = Field(description="Tokens that the newest request filled.")
    context_tokens: int | None = Field(description="How many the chat's model can be shown; null if it is gone.")
    context_known: bool = Field(description="False: nobody named the size, and it is assumed.")
