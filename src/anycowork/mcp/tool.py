"""A server's tool as the gate knows it. Its parameters are checked here; its work is done by the server."""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, assert_never

from anycowork.domain.errors import BadParameters, StateChanged
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallError, CallStatus, Parameters, ToolResult
from anycowork.mcp.definitions import McpToolDefinition, ServerMethod
from anycowork.mcp.offers import OfferedResource
from anycowork.mcp.session import McpSession
from anycowork.mcp.stdio_transport import McpFailed
from anycowork.tools.plugins.schemas import problems_by

MOST_OUTPUT = 2_000_000


class SessionSource(Protocol):
    def session_for(self, root: str | None) -> AbstractAsyncContextManager[McpSession]:
        """A live session that sees this workspace read-only, or none. Raises: McpFailed."""

    def version_of(self, tool: str) -> str | None:
        """What the server says of the tool now; None if it has no such tool."""

    def resources(self) -> Sequence[OfferedResource]:
        """The resources that it listed."""


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
        asked = request_parameters(self._definition, prepared.parameters)
        if asked is None:
            return self._listed()
        root = None if tool_context.hidden.patterns else tool_context.workspace.origin
        try:
            async with self._sessions.session_for(root) as session:
                answer = await session.request(
                    self._definition.method,
                    asked,
                    tell=_quiet(tool_context.progress),
                    ask=tool_context.ask,
                    sample=tool_context.sample,
                )
        except McpFailed as error:
            raise McpFailed(f"The MCP server '{self.spec.server}' failed: {error.message}.") from None
        return self._result(answer)

    def _listed(self) -> ToolResult:
        """The resources, when none was named: what the server listed, without asking it."""
        lines = [
            " ".join(filter(None, (one.uri, f"({one.name})", one.mime_type, one.description)))
            for one in self._sessions.resources()
        ]
        return ToolResult(status=CallStatus.OK, content="\n".join(lines), facts={"mcp_server": self.spec.server})

    def _result(self, answer: Any) -> ToolResult:
        content = "\n".join(answer_texts(self._definition.method, answer)).replace("\0", "�")
        if len(content) > MOST_OUTPUT:
            raise McpFailed(f"'{self.spec.name}' gave more than {MOST_OUTPUT:,} letters. Ask it for less.")
        failed = getattr(answer, "is_error", False)
        error = McpFailed(f"'{self.spec.name}' reports an error.") if failed else None
        return ToolResult(
            status=CallStatus.ERROR if error else CallStatus.OK,
            content=content,
            error=CallError.of(error) if error else None,
            facts={"mcp_server": self.spec.server},
        )


def request_parameters(definition: McpToolDefinition, given: Parameters) -> Parameters | None:
    """The parameters of the protocol's request; None if there is nothing to ask the server."""
    match definition.method:
        case ServerMethod.CALL_TOOL:
            return {"name": definition.name, "arguments": dict(given)}
        case ServerMethod.READ_RESOURCE:
            return {"uri": given["uri"]} if given.get("uri") else None
        case ServerMethod.GET_PROMPT:
            arguments = given.get("arguments")
            texts = arguments.items() if isinstance(arguments, dict) else ()
            return {"name": given["name"], "arguments": {name: str(text) for name, text in texts if text != ""}}
        case _:
            assert_never(definition.method)


def answer_texts(method: ServerMethod, answer: Any) -> Iterable[str]:
    """The text of an answer. Everything that is not text is described."""
    match method:
        case ServerMethod.CALL_TOOL:
            yield from (_text(block) for block in answer.content)
            if not answer.content and answer.structured_content is not None:
                yield json.dumps(answer.structured_content, ensure_ascii=False)
        case ServerMethod.READ_RESOURCE:
            for one in answer.contents:
                kind = one.mime_type or "unknown kind"
                binary = getattr(one, "blob", "")
                yield one.text if hasattr(one, "text") else f"[{kind}, {len(binary) * 3 // 4:,} bytes, not shown]"
        case ServerMethod.GET_PROMPT:
            yield from (_text(message.content) for message in answer.messages)
        case _:
            assert_never(method)


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
