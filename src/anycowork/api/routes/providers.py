"""Routes for model providers: list, connect, test, change and remove them. Keys can be set but never read."""

from typing import Annotated, Literal

from fastapi import Response
from pydantic import Field, JsonValue, SecretStr

from anycowork.api.middleware.auth import Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.models import ModelNames, ProviderList, ProviderResponse, TestResult
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.model import UNKNOWN_MODEL

routes = Router(tags=["providers"])

Kind = Literal["openai", "anthropic"]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$", examples=["office"])]
Address = Annotated[str, Field(pattern=r"^https?://\S+$", max_length=2000, examples=["http://127.0.0.1:8000/v1"])]
Key = Annotated[SecretStr, Field(max_length=4096, description="Kept for this provider alone; never read back.")]
ModelId = Annotated[str, Field(pattern=r"^[^/\s]+/\S+$", max_length=300, examples=["office/small"])]
Privacy = Annotated[
    Literal["local", "company", "anyone"],
    Field(description="Who sees what is sent there; without it, by where the server runs."),
]
Models = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=500)]


class ModelPrice(Boundary):
    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached: Annotated[float, Field(ge=0)] | None = None


class ModelSettingsRequest(Boundary):
    """What is left out or null is taken from what is known of the model."""

    images: bool | None = None
    calling: Literal["text", "schema", "native"] | None = None
    context_tokens: Annotated[int, Field(gt=0)] | None = None
    price: ModelPrice | None = None
    fallbacks: Annotated[list[ModelId], Field(max_length=5)] | None = Field(
        None, description="Models that go on, in this order, where it cannot answer."
    )


ModelSettings = Annotated[
    dict[Annotated[str, Field(min_length=1, max_length=200)], ModelSettingsRequest], Field(max_length=500)
]


class NewProvider(Boundary):
    name: Name
    kind: Kind = "openai"
    base_url: Address | None = None
    api_key: Key | None = None
    models: Models | None = None
    model_settings: ModelSettings | None = None
    privacy: Privacy | None = None


class ProviderChange(Boundary):
    """What is absent stays as it is."""

    kind: Kind | None = None
    base_url: Address | None = None
    api_key: Key | None = None
    models: Models | None = None
    model_settings: ModelSettings | None = None
    privacy: Privacy | None = None


@routes.get("/providers", response_model=ProviderList, responses=error_responses())
async def list_providers(principal: Reader, services: ServicesDep) -> Response:
    """`presets` are servers that can be connected by name."""
    return json_response(
        200,
        {
            "providers": [*services.models.connections.describe()],
            "presets": list(services.models.connections.presets()),
        },
    )


@routes.post("/providers", status_code=201, response_model=ProviderResponse, responses=error_responses(body=True))
async def connect_provider(body: NewProvider, principal: Manager, services: ServicesDep) -> Response:
    """Usable at once. It counts as ready when a request succeeded: test it."""
    return json_response(201, await services.models.connections.connect(_entry(body), _plain(body.api_key)))


@routes.patch("/providers/{name}", response_model=ProviderResponse, responses=error_responses(404, body=True))
async def change_provider(name: str, body: ProviderChange, principal: Manager, services: ServicesDep) -> Response:
    return json_response(200, await services.models.connections.change(name, _entry(body), _plain(body.api_key)))


@routes.delete(
    "/providers/{name}", status_code=204, response_class=Response, responses=error_responses(404, 409, 422, 507)
)
async def remove_provider(name: str, principal: Manager, services: ServicesDep) -> Response:
    """With its key."""
    await services.models.connections.remove(name)
    return Response(status_code=204)


@routes.post("/providers/{name}/test", response_model=TestResult, responses=error_responses(404, body=True))
async def test_provider(name: str, principal: Manager, services: ServicesDep) -> Response:
    """Asks a model of it for one word. A failure is an answer too: `ok` is false, and `message` says why."""
    return json_response(200, await services.models.connections.test(name))


@routes.get("/providers/{name}/models", response_model=ModelNames, responses=error_responses(404, 422, 502, 504))
async def list_provider_models(name: str, principal: Reader, services: ServicesDep) -> Response:
    """What the server itself lists now, with what is known of each model."""
    models = list(await services.models.connections.models(name))
    configured = next(
        (provider["models"] for provider in services.models.providers.describe() if provider["name"] == name), None
    )
    every = dict.fromkeys([*models, *(map(str, configured) if isinstance(configured, list) else ())])
    facts_by_model = {model: services.models.providers.facts(name, model) for model in every}
    facts = {
        model: model_facts.to_json() for model, model_facts in facts_by_model.items() if model_facts != UNKNOWN_MODEL
    }
    return json_response(200, {"models": models, "facts": facts})


def _entry(body: NewProvider | ProviderChange) -> Json:
    entry: dict[str, JsonValue] = body.model_dump(mode="json", exclude={"api_key"}, exclude_none=True)
    return entry


def _plain(key: SecretStr | None) -> SecretStr | None:
    """Without the blanks around it; None for an empty one. Raises: Invalid, without repeating it."""
    plain = key.get_secret_value().strip() if key else ""
    if not all("!" <= char <= "~" for char in plain):
        raise Invalid("The key holds characters that no key has. Copy it again.", param="api_key")
    return SecretStr(plain) if plain else None
