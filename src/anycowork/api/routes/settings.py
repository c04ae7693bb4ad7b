"""Routes for settings: show them without their secrets, and let a person change them. `config/settings.py` explains each one."""

from typing import Annotated, Literal

from fastapi import Body, Response
from pydantic import Field, JsonValue, SecretStr

from anycowork.api.middleware.auth import Manager, Reader
from anycowork.api.responses import error_responses, json_response
from anycowork.api.router import Router, ServicesDep
from anycowork.api.schemas.settings import SearchEngineResponse, SettingsResponse
from anycowork.domain.boundary import Boundary
from anycowork.tools.web.search_web import EngineKind

routes = Router(tags=["settings"])

Changes = Annotated[dict[str, JsonValue], Body(examples=[{"max_steps": 20}])]


@routes.get("/settings", response_model=SettingsResponse, responses=error_responses())
async def show_settings(principal: Reader, services: ServicesDep) -> Response:
    return json_response(200, await services.server.settings.shown())


@routes.put("/settings", response_model=SettingsResponse, responses=error_responses(body=True))
async def change_settings(changes: Changes, principal: Manager, services: ServicesDep) -> Response:
    """Only the settings named change; null takes one back to its default."""
    return json_response(200, await services.server.settings.change(changes))


class SearchEngineRequest(Boundary):
    kind: Literal["searxng", "brave", "tavily"]
    base_url: str | None = Field(None, max_length=2_000, examples=["http://127.0.0.1:8888"])
    api_key: SecretStr | None = Field(
        None, max_length=4_096, description="Kept for this engine alone; never read back."
    )


@routes.get("/search_engine", response_model=SearchEngineResponse, responses=error_responses())
async def show_search_engine(principal: Reader, services: ServicesDep) -> Response:
    """Returns the engine that `search_web` asks, without its key."""
    return json_response(200, services.models.search.shown())


@routes.put("/search_engine", response_model=SearchEngineResponse, responses=error_responses(body=True))
async def put_search_engine(body: SearchEngineRequest, principal: Manager, services: ServicesDep) -> Response:
    """Names the engine. A key that is left out stays, if it was pasted for the same host."""
    return json_response(200, await services.models.search.connect(EngineKind(body.kind), body.base_url, body.api_key))


@routes.delete("/search_engine", status_code=204, response_class=Response, responses=error_responses())
async def remove_search_engine(principal: Manager, services: ServicesDep) -> Response:
    """Forgets the engine and its key."""
    await services.models.search.remove()
    return Response(status_code=204)
