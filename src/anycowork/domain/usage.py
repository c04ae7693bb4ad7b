"""What models were used for, summed up from the recorded requests."""

from enum import StrEnum

from anycowork.domain.values import value


@value
class ModelUsage:
    """`model` with its provider as prefix. `reserved` belongs to requests that never reported their use: it counts as spent."""

    model: str
    requests: int
    reserved: int
    prompt: int
    completion: int
    cached: int
    reasoning: int
    estimated: bool


@value
class TurnUsage:
    """What turns of a job have used, and the task that they worked on."""

    task_id: str | None
    seconds: float
    models: tuple[ModelUsage, ...] = ()


@value
class ChatUsage:
    """`window` is how much of the model's context the newest settled request filled: prompt and answer."""

    models: tuple[ModelUsage, ...] = ()
    window: int = 0


class UsageGroup(StrEnum):
    """What a report of use is summed up by."""

    CHAT = "chat"
    JOB = "job"
    ROLE = "role"
    MODEL = "model"
    DAY = "day"


@value
class GroupedUsage:
    """What one chat, job, role, model or day used of one model."""

    key: str
    used: ModelUsage
