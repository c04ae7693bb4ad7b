"""Templates of jobs."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.api.schemas.workflows import FileFaultShape, ParameterShape
from anycowork.domain.messages import Json
from anycowork.domain.workflows import Source


class JobTemplateShape(DescribedSchema):
    name: str
    description: str
    goal: str
    parameters: list[ParameterShape]
    steps: list[Json] = Field(description="The plan's steps, with `{{placeholders}}` where values are filled in.")
    source: Source


class EarlierPlanShape(DescribedSchema):
    job_id: str
    request: str
    completed_at: str | None
    plan: Json = Field(description="As it was approved.")


class JobTemplateList(DescribedSchema):
    templates: list[JobTemplateShape]
    faults: list[FileFaultShape] = Field(description="Files that give no template, with line and reason.")
    similar: list[EarlierPlanShape] = Field(description="With `like`: plans of completed jobs, best first.")
