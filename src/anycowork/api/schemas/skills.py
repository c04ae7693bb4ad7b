"""Skills and hooks."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.hooks import HookDecision, HookEvent
from anycowork.domain.skills import SkillSource


class DeclaredNeeds(DescribedSchema):
    tools: list[str] = Field(description="As its author names them.")
    network: list[str]
    paths: list[str] = Field(description="What it changes; empty: anywhere that the role and the rules allow.")


class SkillProblemResponse(DescribedSchema):
    message: str
    path: str
    line: int | None


class SkillResponse(DescribedSchema):
    name: str
    description: str
    source: SkillSource
    path: str = Field(description="Its folder, from the workspace or the data folder.")
    sha256: str = Field(description="Of all its files.")
    trusted: bool = Field(description="If not, a person must trust its content before a model reads it.")
    changed: bool = Field(description="A person trusted other content before.")
    declared: DeclaredNeeds
    problems: list[SkillProblemResponse] = Field(description="With one, it cannot be used.")


class SkillFileResponse(DescribedSchema):
    path: str
    bytes: int
    sha256: str
    text: str | None = Field(description="Null if it is a key file or no short text, and for viewers.")


class PluginPartResponse(DescribedSchema):
    name: str
    about: str


class LeftOutResponse(DescribedSchema):
    what: str
    reason: str


class PluginHooksResponse(DescribedSchema):
    path: str = Field(description="As GET /hooks lists them.")
    sha256: str = Field(description="Of all files of the plugin, which its hooks may use.")
    trusted: bool = Field(description="If not, a person must trust them before they run.")
    changed: bool
    problems: list[SkillProblemResponse] = Field(description="With one, they do not run.")


class InstalledPluginResponse(DescribedSchema):
    name: str
    version: str
    description: str
    source: str = Field(description="The folder or address that it came from.")
    marketplace: str
    skills: list[str] = Field(description="Of its skills and commands, each trusted for itself.")
    hooks: PluginHooksResponse | None
    agents: list[PluginPartResponse] = Field(description="Listed, not imported.")
    mcp_servers: list[PluginPartResponse] = Field(description="Listed, neither added nor started.")
    not_imported: list[LeftOutResponse]


class PluginList(DescribedSchema):
    plugins: list[InstalledPluginResponse]


class PluginImportResponse(DescribedSchema):
    name: str = Field(description="Of the marketplace, or of the plugin.")
    plugins: list[InstalledPluginResponse]
    problems: list[LeftOutResponse] = Field(description="Plugins of the marketplace that were not imported.")


class SkillPage(SkillResponse):
    files: list[SkillFileResponse] = Field(description="What a person reads before trusting it.")


class PluginPage(InstalledPluginResponse):
    files: list[SkillFileResponse] = Field(description="What a person reads before trusting its hooks.")


class SkillList(DescribedSchema):
    skills: list[SkillResponse]


class HookOutcomeResponse(DescribedSchema):
    decision: HookDecision
    reason: str
    failed: str = Field(description="Why it gave no answer; empty if it did.")
    adds: str = Field(description="What it had the model told.")
    checks: list[str] = Field(description="Commands that it named as checks of the turn.")


class HookResponse(DescribedSchema):
    event: HookEvent
    matcher: str
    command: str
    timeout: float
    last: HookOutcomeResponse | None = Field(description="Its newest outcome since the server started.")


class HookFileResponse(DescribedSchema):
    source: Literal["data", "workspace", "plugin"]
    path: str
    sha256: str
    trusted: bool = Field(
        description="If not, a person must trust its content before its hooks run: POST /workspaces, or POST /plugins/{name}/trust."
    )
    content: str
    hooks: list[HookResponse]
    problems: list[str]


class HookList(DescribedSchema):
    files: list[HookFileResponse]
