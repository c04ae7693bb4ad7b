"""Providers and local models."""

from typing import Literal

from pydantic import Field

from anycowork.api.shapes.base import Described
from anycowork.domain.messages import Json


class ProviderList(Described):
    providers: list[Json]


class LocalModelShape(Described):
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


class LocalEngine(Described):
    installed: bool
    hint: str | None


class LocalModelList(Described):
    engine: LocalEngine
    models: list[LocalModelShape]
