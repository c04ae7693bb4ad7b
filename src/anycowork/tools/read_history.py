"""read_history: shows a job's worker the conversation that its job belongs to. Nobody else is told of it."""

from typing import Annotated

from pydantic import Field

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import ToolFault
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallStatus, Parameters, ToolResult
from anycowork.tools.built_in_tool import BuiltInTool


class ReadHistoryParameters(Boundary):
    before: Annotated[int, Field(ge=1)] | None = Field(
        None, description="the number of a message: the ones before it are shown; without it the newest"
    )


class ReadHistory(BuiltInTool[ReadHistoryParameters]):
    name = "read_history"
    category = "job"
    description = "Read the whole conversation of the chat that your task comes from, newest messages first page."
    model = ReadHistoryParameters

    def inspect(self, args: ReadHistoryParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        if tool_context.history is None:
            raise ToolFault("Only a worker of a job has a conversation to read. You already see this one.")
        return Prepared(tool=self.name, parameters=parameters, resource="/")

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        if tool_context.history is None:
            raise ToolFault("Only a worker of a job has a conversation to read. You already see this one.")
        before = ReadHistoryParameters.model_validate(prepared.parameters).before
        return ToolResult(CallStatus.OK, await tool_context.history(before))
