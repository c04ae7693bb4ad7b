"""Skills."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
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


class SkillPage(SkillResponse):
    files: list[SkillFileResponse] = Field(description="What a person reads before trusting it.")


class SkillList(DescribedSchema):
    skills: list[SkillResponse]
