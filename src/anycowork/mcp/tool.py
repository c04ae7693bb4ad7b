"""A server's tool as the gate knows it. Its parameters are checked here; its work is done by the server."""

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol

from anycowork.domain.errors import BadParameters, StateChanged
from anycowork.domain.ports import Prepared, ToolContext
from anycowork.domain.tools import CallError, Parameters, Status, ToolResult
from anycowork.mcp.definitions import McpToolDefinition
from anycowork.mcp.session import McpSession
from anycowork.mcp.stdio_transport import McpFailed
from anycowork.tools.plugins.schemas import problems_by

if TYPE_CHECKING:
    from mcp_types import CallToolResult

MOST_OUTPUT = 2_000_000


class SessionSource(Protocol):
    def session_for(self, root: str | None) -> AbstractAsyncContextManager[McpSession]:
        """A live session that sees this workspace read-only, or none. Raises: McpFailed."""

    def version_of(self, tool: str) -> str | None:
        """What the server says of the tool now; None if it has no such tool."""


class McpTool:
    """The Tool of the domain's ports."""

    def __init__(self, definition: McpToolDefinition, sessions: SessionSource) -> None:
        self.spec = definition.spec
        self._definition = definition
        self._sessions = sessions

    def problems(self, parameters: Parameters) -> list[str]:
        return problems_by(self.spec.schema, parameters)

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        """Nothing is started or sent. Raises: BadParameters."""
        if problems := self.problems(parameters):
            raise BadParameters(f"{self.spec.name}: " + " ".join(problems))
        return Prepared(
            tool=self.spec.name,
            parameters=parameters,
            resource=self._definition.resource,
            state=self._definition.version,
        )

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        """Raises: ToolFault. A server that is started for a chat in which files are hidden sees no workspace at all."""
        name = self._definition.name
        if self._sessions.version_of(name) != self._definition.version:
            raise StateChanged(
                f"'{self.spec.name}' changed after this call was admitted. Look at it and call it again."
            )
        root = None if tool_context.hidden.patterns else tool_context.workspace.origin
        try:
            async with self._sessions.session_for(root) as session:
                answer = await session.call(name, prepared.parameters, _quiet(tool_context.progress))
        except McpFailed as error:
            raise McpFailed(f"The MCP server '{self.spec.server}' failed: {error.message}.") from None
        return self._result(answer)

    def _result(self, answer: "CallToolResult") -> ToolResult:
        content = "\n".join(_texts(answer)).replace("\0", "�")
        if len(content) > MOST_OUTPUT:
            raise McpFailed(f"'{self.spec.name}' gave more than {MOST_OUTPUT:,} letters. Ask it for less.")
        error = McpFailed(f"'{self.spec.name}' reports an error.") if answer.is_error else None
        return ToolResult(
            status=Status.ERROR if error else Status.OK,
            content=content,
            error=CallError.of(error) if error else None,
            facts={"mcp_server": self.spec.server},
        )


def _texts(answer: "CallToolResult") -> Iterable[str]:
    for block in answer.content:
        yield _text(block)
    if not answer.content and answer.structured_content is not None:
        yield json.dumps(answer.structured_content, ensure_ascii=False)


def _text(block: Any) -> str:
    """Text as it is; of everything else what it is, never its bytes."""
    match block.type:
        case "text":
            return str(block.text)
        case "image" | "audio":
            return f"[{block.type}: {block.mime_type}, {len(block.data) * 3 // 4:,} bytes, not shown]"
        case "resource_link":
            return f"[resource: {block.uri}]"
        case "resource" if hasattr(block.resource, "text"):
            return f"[resource: {block.resource.uri}]\n{block.resource.text}"
        case _:
            return f"[{block.type}, not shown]"


def _quiet(progress: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """At most 100 lines of progress for one call: a server may send them without end."""
    if progress is None:
        return None
    left = 100

    def tell(line: str) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            progress(line)

    return tell
