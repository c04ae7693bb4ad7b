"""Agents: a name, a role, a model and a prompt, as the configuration has them."""

from anycowork.domain.messages import Json
from anycowork.domain.values import value


@value
class AgentSpec:
    """Without a `model` it uses the chat's. `steps` and `seconds` replace the limits of a turn."""

    name: str
    role: str
    model: str | None = None
    prompt: str = ""
    steps: int | None = None
    seconds: float | None = None

    def to_json(self) -> Json:
        limits: Json = {"steps": self.steps, "seconds": self.seconds}
        return {"name": self.name, "role": self.role, "model": self.model, "prompt": self.prompt, "limits": limits}


PLANNER_AGENT, WORKER_AGENT, PRIMARY_AGENT = "planner", "worker", "primary"
