"""Settings, and what was found on this machine."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema, Schema


class SandboxResponse(DescribedSchema):
    level: Literal["full", "landlock", "none"]
    layer: Literal["overlay", "copy"] | None = Field(
        description="What commands write into: a layer over the workspace, or a private copy of it."
    )
    enforces: list[str]
    does_not: list[str] = Field(description="What this level does not hold, in plain words.")
    visible: list[str] = Field(
        default_factory=list, description="Folders that commands can read besides the system's and their workspace."
    )
    caches: list[str] = Field(
        default_factory=list,
        description="Package caches that they use; what they write there never reaches these folders.",
    )
    hidden: list[str] = Field(default_factory=list, description="What is kept from commands inside these folders.")
    refused: list[str] = Field(
        default_factory=list, description="Folders of PATH and sandbox_paths, and package caches, that they do not see."
    )


class PluginResponse(DescribedSchema):
    name: str = Field(description="As the setting 'plugins' names it.")
    version: str | None = Field(description="null: it is not installed.")
    on: bool
    tools: int = Field(description="How many of its tools can be used.")
    problems: list[str] = Field(description="Why it, or some of its tools, cannot be used.")


class SettingsResponse(Schema):
    """Every setting by its name; of secrets only whether they are set. What holds commands and which plugins there are is found, not set."""

    token_set: bool
    sandbox: SandboxResponse
    plugins_found: list[PluginResponse]


class SearchEngineResponse(Schema):
    """`kind` is null if no engine is configured."""

    kind: str | None
    base_url: str | None
    key_set: bool


class ShareResponse(DescribedSchema):
    name: str
    bytes: int | None = Field(description="null where it cannot be told.")
    most: int | None = Field(description="Its bound; null for what grows with use.")
    setting: str | None = Field(description="The setting that is its bound.")


class AboutResponse(DescribedSchema):
    version: str
    python: str
    data_dir: str
    licence: str


class StorageResponse(DescribedSchema):
    storage: list[ShareResponse]
