"""ask_agent: gives a task to a configured agent and returns its report. The turn's `ask_agent` runs the task as a job of one step."""

from typing import Annotated

from pydantic import Field

from anycowork.domain.agents import PRIMARY_AGENT, AgentTask, agent_names
from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import BadParameters, ToolFault
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import Intent, Parameters, ToolDisplay, ToolKind, ToolResult
from anycowork.tools.built_in_tool import BuiltInTool
from anycowork.tools.parameters import PlainText

LONGEST_TASK = 50_000
MOST_PATHS = 100
PathText = Annotated[PlainText, Field(min_length=1, max_length=4_096)]
_NOBODY_TO_ASK = (
    "An agent that was given a task cannot give it to another one. Do it yourself, or report what is missing."
)


class AskAgentParameters(Boundary):
    agent: PlainText = Field(min_length=1, max_length=200, description="the agent's name")
    task: PlainText = Field(
        min_length=1,
        max_length=LONGEST_TASK,
        description="what it is to do, in full: it sees the files and this text, not the conversation",
    )
    paths: list[PathText] | None = Field(
        None,
        max_length=MOST_PATHS,
        description="files that it may change without asking again, if the person allows this call",
    )


class AskAgent(BuiltInTool[AskAgentParameters]):
    name = "ask_agent"
    category = "agents"
    description = "Give a task to another agent. It works in its own copy of the files; its changes are merged, and its report comes back."
    priority = 80
    asks_agents = True
    display = ToolDisplay(
        ToolKind.ASK,
        subject=("agent",),
        target=("agent",),
        example={"agent": "worker", "task": "Write tests for parse() in tests/test_parse.py"},
    )
    model = AskAgentParameters

    def inspect(self, args: AskAgentParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        if not tool_context.agents:
            raise ToolFault(_NOBODY_TO_ASK)
        if args.agent == PRIMARY_AGENT:
            raise BadParameters(f"'{PRIMARY_AGENT}' is you. There are: {agent_names(tool_context.agents)}.")
        if all(agent.name != args.agent for agent in tool_context.agents):
            raise BadParameters(
                f"There is no agent '{args.agent[:80]}'. There are: {agent_names(tool_context.agents)}. Name one of them."
            )
        intent = Intent(command=f"agent {args.agent}", contained=True)
        return Prepared(tool=self.name, parameters=parameters, resource=f"agent:{args.agent}", intent=intent)

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        if tool_context.ask_agent is None:
            raise ToolFault(_NOBODY_TO_ASK)
        args = AskAgentParameters.model_validate(prepared.parameters)
        return await tool_context.ask_agent(AgentTask(args.agent, args.task, tuple(args.paths or ())))
