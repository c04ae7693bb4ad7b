"""What a chat has used of its models, summed from the requests that were recorded."""

from anycowork.domain.values import value


@value
class ModelUsage:
    """`model` with its provider in front. `reserved` was set aside for requests that never told what they used: it counts as spent."""

    model: str
    requests: int
    reserved: int
    prompt: int
    completion: int
    cached: int
    reasoning: int
    estimated: bool


@value
class ChatUsage:
    """`window` is what the newest settled request filled of its model's context: prompt and answer."""

    models: tuple[ModelUsage, ...] = ()
    window: int = 0
