"""The section of the prompt that tells which agents there are. Pure; bounded, however many are configured."""

from collections.abc import Sequence

from anycowork.domain.agents import AgentSpec
from anycowork.prompts.text_files import prose

MOST_LISTED = 40
LEADS_FROM = 6_000  # tokens of a prompt: in a smaller one, other agents and the tool to ask them take too much
_LONGEST_LINE = 240
_HERE = "{{agents}}"


def agents_to_ask(agents: Sequence[AgentSpec]) -> str:
    """Returns the list of the other agents for one that can call `ask_agent`; empty without others."""
    return prose("agents_to_ask").replace(_HERE, _listed(agents)) if agents else ""


def agents_to_plan(agents: Sequence[AgentSpec]) -> str:
    """Returns the list of the agents that steps may name, for the planner of a job; empty without any."""
    return prose("agents_to_plan").replace(_HERE, _listed(agents)) if agents else ""


def _listed(agents: Sequence[AgentSpec]) -> str:
    lines = [_line(agent) for agent in agents[:MOST_LISTED]]
    if (more := len(agents) - len(lines)) > 0:
        lines.append(f"- and {more} more that are not listed here")
    return "\n".join(lines)


def _line(agent: AgentSpec) -> str:
    """Name, role, model, and what it is for, in one line."""
    model = agent.model or "this chat's model"
    purpose = " ".join((agent.description or agent.prompt).split())
    line = f"- `{agent.name}`: role {agent.role}, {model}"
    return f"{line}: {purpose}"[:_LONGEST_LINE] if purpose else line[:_LONGEST_LINE]
