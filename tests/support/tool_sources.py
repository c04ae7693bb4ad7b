"""A few-line source of tools beside the built-in ones, and a tool whose effect lies outside the workspace."""

import asyncio
from collections.abc import Iterable, Sequence

from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Prepared, Tool, ToolContext
from anycowork.domain.tools import CallStatus, Parameters, ToolResult, ToolSpec


class FixedSource:
    def __init__(self, tools: Iterable[Tool], source_name: str = "test") -> None:
        self.source_name = source_name
        self._tools = tuple(tools)

    def tools(self) -> Sequence[Tool]:
        return self._tools


class OutsideTool:
    """A server's tool as the gate sees it: it needs the permission to execute, and changes no file of the workspace."""

    def __init__(self, name: str = "far__act") -> None:
        self.begun = asyncio.Event()
        self.spec = ToolSpec(
            name=name,
            category="far",
            description="Act elsewhere.",
            permissions=frozenset({Permission.EXECUTE_COMMANDS}),
            schema={"type": "object", "properties": {}},
            requires_approval=False,
            server="far",
        )

    def problems(self, parameters: Parameters) -> list[str]:
        return []

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        return Prepared(self.spec.name, parameters, resource="mcp:far/act#0")

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        self.begun.set()
        return ToolResult(CallStatus.OK, "done elsewhere")
