"""The agents that a job may use: those of the configuration, and the three that are always there."""

from collections.abc import Callable, Sequence

from anycowork.domain.agents import PLANNER_AGENT, PRIMARY_AGENT, WORKER_AGENT, AgentSpec
from anycowork.domain.errors import Invalid, UnknownRole
from anycowork.domain.plan import Plan, PlanStep
from anycowork.domain.roles import Permission, Role, RoleDefinition
from anycowork.domain.values import replace
from anycowork.permissions.roles import RoleRegistry

_CHANGING = frozenset({Permission.WRITE_FILES, Permission.CREATE_FILES, Permission.DELETE_FILES})
_BUILT_IN = (
    AgentSpec(PLANNER_AGENT, Role.PLANNER, description="looks around and makes plans; changes nothing"),
    AgentSpec(WORKER_AGENT, Role.ACTOR, description="does one task: reads, changes and runs things"),
)


class AgentRegistry:
    """`configured` are the agents of the settings in force. One of them may replace a built-in one by its name.

    `primary` is the chat's own agent: it has the chat's role and model, unless the configuration gives it another model or prompt.
    """

    def __init__(self, configured: Callable[[], Sequence[AgentSpec]], roles: RoleRegistry) -> None:
        self._configured = configured
        self._roles = roles

    def all(self) -> list[AgentSpec]:
        agents = {agent.name: agent for agent in (*_BUILT_IN, *self._configured())}
        return list(agents.values())

    def find(self, name: str) -> AgentSpec | None:
        return next((agent for agent in self.all() if agent.name == name), None)

    def askable(self, role: str) -> tuple[AgentSpec, ...]:
        """Returns the agents that the agent of a chat in this role may give tasks to: all but itself, and a worker in each role that
        its role may delegate to."""
        agents = {agent.name: agent for agent in self.all() if agent.name != PRIMARY_AGENT}
        worker = agents[WORKER_AGENT]
        lent = {name: replace(worker, name=name, role=name) for name in self._roles.stored(role).delegates}
        return tuple({**lent, **agents}.values())

    def planner(self) -> AgentSpec:
        return self.find(PLANNER_AGENT) or _BUILT_IN[0]

    def primary(self, role: str) -> AgentSpec:
        configured = self.find(PRIMARY_AGENT)
        return replace(configured, role=role) if configured else AgentSpec(PRIMARY_AGENT, role)

    def worker(self, step: PlanStep) -> AgentSpec:
        """The agent that the step names, else the worker: in the role that the step names, or with the model that a race names."""
        agent = self.find(step.agent) if step.agent else None
        if agent is not None:
            return agent
        worker = self.find(WORKER_AGENT) or _BUILT_IN[1]
        if step.agent is not None and is_model(step.agent):
            return replace(worker, name=step.agent, model=step.agent)
        return replace(worker, role=step.role) if step.role else worker

    def require_known(self, plan: Plan, race: Sequence[str]) -> None:
        """Raises: Invalid for a step whose agent or role does not exist. In a race a model can stand for an agent."""
        names = {agent.name for agent in self.all()}
        models = {name for name in race if is_model(name)}
        for step in plan.steps:
            if step.agent is not None and step.agent not in names | models:
                raise Invalid(
                    f"Step {step.id[:80]} names the agent '{step.agent[:80]}', which does not exist. "
                    f"There are: {', '.join(sorted(names))}. Name one of them, or set it up in config.toml under [agents].",
                    param="steps",
                )
            if step.role is not None:
                try:
                    self._roles.require(step.role)
                except UnknownRole as error:
                    raise Invalid(f"Step {step.id[:80]}: {error.message}", param="steps") from error

    def only_reads(self, agent: AgentSpec, *, parent: str) -> bool:
        """Whether the agent can change no file: then it may run beside any other."""
        return not self.role_of(agent, parent=parent).permissions & _CHANGING

    def role_of(self, agent: AgentSpec, *, parent: str) -> RoleDefinition:
        """The agent's role, cut to what the parent's role holds and may delegate."""
        role, most = self._roles.stored(agent.role), self._roles.with_delegates(self._roles.stored(parent))
        return replace(role, permissions=role.permissions & most.permissions)


def is_model(name: str) -> bool:
    """Whether a race names a model (PROVIDER/MODEL) instead of an agent: then the worker does it with that model."""
    return "/" in name
