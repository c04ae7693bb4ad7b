"""Commands that a person runs for themselves in a workspace."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema


class RunningCommandShape(DescribedSchema):
    id: str
    command: str
    started_at: str
    output: str = Field(
        description="What it printed so far, as it came. Further text comes as `text-delta` with this id as `call_id`."
    )


class PersonCommandsShape(DescribedSchema):
    reason: str | None = Field(description="Why people run no commands on this server; null if they may.")
    running: list[RunningCommandShape] = Field(description="The commands that run in this chat now.")


class StartedCommandShape(DescribedSchema):
    id: str = Field(description="The message with this id in `payload.person_command` and an `ended` tells its end.")


class StoppedCommandShape(DescribedSchema):
    id: str
