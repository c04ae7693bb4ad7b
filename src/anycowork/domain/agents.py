"""Agents as the configuration has them: our own (a role, a model, a prompt), and delegates, which are agents of other vendors."""

from collections.abc import Iterable

from anycowork.domain.messages import Json
from anycowork.domain.values import value


@value
class AgentSpec:
    """Without a `model` it uses the chat's. `steps` and `seconds` replace the limits of a turn; `tokens` and `cost` (US dollars) limit a
    task that another agent gives it. `description` tells what it is for."""

    name: str
    role: str
    model: str | None = None
    prompt: str = ""
    steps: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None
    description: str = ""

    def to_json(self) -> Json:
        limits: Json = {"steps": self.steps, "seconds": self.seconds, "tokens": self.tokens, "cost": self.cost}
        return {
            "name": self.name,
            "role": self.role,
            "model": self.model,
            "prompt": self.prompt,
            "description": self.description,
            "limits": limits,
        }


@value
class AgentTask:
    """A task that one agent gives to another. `allowed_by` is the person who allowed this very call: then the paths are granted."""

    agent: str
    task: str
    paths: tuple[str, ...] = ()
    allowed_by: str | None = None


_MOST_NAMED = 50


def agent_names(agents: Iterable[AgentSpec]) -> str:
    """Returns the names in one line, bounded."""
    names = sorted(agent.name for agent in agents)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


PLANNER_AGENT, WORKER_AGENT, PRIMARY_AGENT = "planner", "worker", "primary"


AGENT_PROVIDER = "agent"
"""A chat whose model is `agent/NAME` is answered by the delegate of this name."""


@value
class DelegateConfig:
    """`environment` are names of variables whose values it gets. `network` are the hosts it may reach. `seconds` is how long it may work."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    seconds: float = 600.0

    @property
    def tool(self) -> str:
        return delegate_tool(self.name)


def delegate_tool(name: str) -> str:
    """The name of the tool that gives a task to this delegate."""
    return f"agent__{name}"
