"""Delegates: agents of other vendors that a person configured, as programs that speak the Agent Client Protocol."""

from anycowork.domain.values import value

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
