"""A server's tool as the gate knows it. Its parameters are checked here; its work is done by the server."""

import asyncio
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, assert_never

from pydantic import JsonValue

from anycowork.domain.errors import BadParameters, StateChanged, ToolFault, ToolTimedOut
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallError, CallStatus, Intent, Parameters, ToolResult
from anycowork.domain.values import replace
from anycowork.mcp.definitions import McpToolDefinition, ServerMethod
from anycowork.mcp.server_launcher import ProgramView
from anycowork.mcp.session import McpSession
from anycowork.mcp.stdio_transport import McpFailed
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.sandbox import CommandNotStarted, Sandbox
from anycowork.tools.built_in_tool import folder_of
from anycowork.tools.child_process import run_on_best_layer
from anycowork.tools.command_changes import commit_now, settle_changes
from anycowork.tools.command_summary import on_a_copy
from anycowork.tools.plugins.schemas import problems_by

if TYPE_CHECKING:
    from anycowork.mcp.connection import McpConnection

MOST_OUTPUT = 2_000_000


class McpTool:
    """The Tool of the domain's ports."""

    def __init__(self, definition: McpToolDefinition, sessions: "McpConnection") -> None:
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
            intent=Intent(command=self._title, contained=self.spec.contained) if self.spec.layered else None,
            state=self._definition.version,
        )

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        """Raises: ToolFault. A server that runs for many calls sees no workspace at all in a chat in which files are hidden."""
        if tool_context.commit.held is not None:
            staging = self._require_sandbox().staging
            return await commit_now(staging, folder_of(tool_context).jail, tool_context.commit.held, tool_context)
        name = self._definition.name
        if self._sessions.version_of(name) != self._definition.version:
            raise StateChanged(
                f"'{self.spec.name}' changed after this call was admitted. Look at it and call it again."
            )
        request = request_parameters(self._definition, prepared.parameters)
        if request is None:
            return self._listed()
        if self._definition.access == "layer":
            return await self._run_alone(request, tool_context)
        keeps_back = tool_context.hidden.patterns or tool_context.hidden.asking
        root = None if keeps_back else tool_context.workspace.origin
        try:
            async with self._sessions.session_for(root) as session:
                answer = await self._answer(session, request, tool_context)
        except McpFailed as error:
            raise McpFailed(f"The MCP server '{self.spec.server}' failed: {error.message}.") from None
        return self._result(answer)

    async def _run_alone(self, request: Parameters, tool_context: ToolContext) -> ToolResult:
        """Starts the program for this call alone: it sees the files as they are now, and what it changes is this call's."""
        sandbox = self._require_sandbox()
        jail = folder_of(tool_context).jail
        if self.spec.read_only:
            view = ProgramView(jail, tool_context.hidden)
            return await self._asked_alone(view, request, tool_context)
        return await run_on_best_layer(sandbox, jail.root, lambda layer: self._in_layer(layer, request, tool_context))

    async def _in_layer(self, layer: Layer, request: Parameters, tool_context: ToolContext) -> ToolResult:
        """A tool that reports an error changes nothing. Nobody is asked meanwhile: the workspace's other writers wait for this call."""
        jail, not_begun = folder_of(tool_context).jail, asyncio.Event()
        async with self._require_sandbox().begin(jail, layer, tool_context.hidden) as transaction:
            view = ProgramView(jail, tool_context.hidden, transaction, not_begun=not_begun.set)
            try:
                result = await self._asked_alone(view, request, replace(tool_context, ask=None, sample=None))
            except ToolFault as fault:
                if not_begun.is_set():
                    raise CommandNotStarted(fault.message) from None
                raise
            await asyncio.to_thread(transaction.covered.require_intact)
            if transaction.covered.key_files:
                left_out: list[JsonValue] = [*transaction.covered.key_files]
                result = replace(result, facts={**result.facts, "key_files_left_out": left_out})
            result = await settle_changes(
                transaction,
                self._title,
                result,
                tool_context,
                by_itself=result.status is CallStatus.OK,
                whose=f"The MCP server '{self.spec.server}' in this role",
            )
        return on_a_copy(result) if layer is Layer.COPY else result

    async def _asked_alone(self, view: ProgramView, request: Parameters, tool_context: ToolContext) -> ToolResult:
        try:
            async with self._sessions.session_of_call(view) as session:
                answer = await self._answer(session, request, tool_context)
        except ToolTimedOut as error:
            raise ToolTimedOut(f"{error.message}{_dropped(view)}") from None
        except McpFailed as error:
            raise McpFailed(f"The MCP server '{self.spec.server}' failed: {error.message}.{_dropped(view)}") from None
        return self._result(answer)

    async def _answer(self, session: McpSession, request: Parameters, tool_context: ToolContext) -> Any:
        return await session.request(
            self._definition.method,
            request,
            tell=_quiet(tool_context.progress),
            ask=tool_context.ask,
            sample=tool_context.sample,
        )

    @property
    def _title(self) -> str:
        return f"{self.spec.name} (MCP server {self.spec.server})"

    def _require_sandbox(self) -> Sandbox:
        if self._sessions.sandbox is None:
            raise McpFailed(
                f"This machine gives no sandbox, so '{self.spec.name}' has no layer to work in. `anycowork doctor` says what is missing."
            )
        return self._sessions.sandbox

    def _listed(self) -> ToolResult:
        """The resources, when none was named: what the server listed, without asking it."""
        lines = [
            " ".join(filter(None, (resource.uri, f"({resource.name})", resource.mime_type, resource.description)))
            for resource in self._sessions.resources()
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


def _dropped(view: ProgramView) -> str:
    return " None of its changes in the workspace was kept." if view.transaction is not None else ""


def request_parameters(definition: McpToolDefinition, parameters: Parameters) -> Parameters | None:
    """The parameters of the protocol's request; None if there is nothing to ask the server."""
    match definition.method:
        case ServerMethod.CALL_TOOL:
            return {"name": definition.name, "arguments": dict(parameters)}
        case ServerMethod.READ_RESOURCE:
            return {"uri": parameters["uri"]} if parameters.get("uri") else None
        case ServerMethod.GET_PROMPT:
            arguments = parameters.get("arguments")
            texts = arguments.items() if isinstance(arguments, dict) else ()
            return {"name": parameters["name"], "arguments": {name: str(text) for name, text in texts if text != ""}}
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
            for content in answer.contents:
                kind = content.mime_type or "unknown kind"
                binary = getattr(content, "blob", "")
                yield (
                    content.text if hasattr(content, "text") else f"[{kind}, {len(binary) * 3 // 4:,} bytes, not shown]"
                )
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
    remaining = 100

    def tell(line: str) -> None:
        nonlocal remaining
        remaining -= 1
        if remaining >= 0:
            progress(line)

    return tell
