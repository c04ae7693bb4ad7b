"""A third-party tool as the gate sees it: its parameters are checked here, its work is done in a worker that lives for one call.

One that only reads sees the workspace read-only; one that changes files is a transaction, like a command.
"""

import asyncio
from collections.abc import Callable
from typing import assert_never

from pydantic import JsonValue, ValidationError

from anycowork.domain.errors import BadParameters, ToolFault, ToolTimedOut
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import CallError, CallStatus, Intent, Parameters, ToolResult
from anycowork.domain.values import replace
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.network.dialer import NetworkReach, NetworkReport
from anycowork.sandbox.secrets.masks import MaskedPaths, cover
from anycowork.tools.built_in_tool import folder_of
from anycowork.tools.child_process import ChildEnding, ChildLimits, ChildResult, SandboxedProgram, run_on_best_layer
from anycowork.tools.command_changes import commit_now, settle_changes
from anycowork.tools.command_summary import on_a_copy
from anycowork.tools.plugins.manifest import DeclaredTool, Plugin, PluginAnswer
from anycowork.tools.plugins.runtime import PluginRuntime
from anycowork.tools.plugins.schemas import problems_by
from anycowork.workspace.landlock_threads import reading
from anycowork.workspace.paths import WorkspacePath

MOST_OUTPUT = 2_000_000
_LAST_WORDS = 2_000


class PluginFailed(ToolFault):
    """The tool, or its worker, did not return a result."""

    code = "plugin_failed"


class PluginTool:
    """Implements the `Tool` port. `timeout` returns seconds."""

    def __init__(
        self, plugin: Plugin, declared: DeclaredTool, runtime: PluginRuntime, timeout: Callable[[], float]
    ) -> None:
        self.spec = declared.spec
        self._plugin = plugin
        self._declared = declared
        self._runtime = runtime
        self._timeout = timeout

    def problems(self, parameters: Parameters) -> list[str]:
        return problems_by(self.spec.schema, parameters)

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        """Runs nothing of the plugin. Raises: BadParameters, OutsideWorkspace."""
        if problems := self.problems(parameters):
            raise BadParameters(f"{self.spec.name}: " + " ".join(problems))
        path = parameters.get(self._declared.path) if self._declared.path else None
        workspace_path = await _place(path, tool_context) if isinstance(path, str) else None
        changes = not self.spec.read_only
        return Prepared(
            tool=self.spec.name,
            parameters=parameters,
            resource=workspace_path.resource if workspace_path else f"plugin:{self._plugin.name}",
            intent=Intent(command=self._title(), contained=True) if changes else None,
            network=self._declared.network,
            payload=workspace_path,
        )

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        """Raises: ToolFault."""
        own_context = replace(tool_context, permissions=tool_context.permissions & self.spec.permissions)
        sandbox = self._runtime.sandbox
        if own_context.commit.held is not None:
            return await commit_now(sandbox.staging, folder_of(own_context).jail, own_context.commit.held, own_context)
        program = self._wanted(prepared, own_context)
        if self.spec.read_only:
            return await self._read_only(program, own_context)
        root = folder_of(own_context).root
        within = prepared.payload if isinstance(prepared.payload, WorkspacePath) else None
        return await run_on_best_layer(sandbox, root, lambda layer: self._changing(program, layer, own_context, within))

    def _wanted(self, prepared: Prepared, tool_context: ToolContext) -> SandboxedProgram:
        request: dict[str, JsonValue] = {
            "do": "call",
            "entry": self._declared.entry,
            "tool": self.spec.name,
            "parameters": self._resolved(prepared),
        }
        return self._runtime.worker_for(
            self._plugin,
            request,
            ChildLimits(seconds=self._timeout(), output=MOST_OUTPUT),
            sees_workspace=self._sees_workspace,
            changes=not self.spec.read_only,
            reach=NetworkReach(prepared.network, tool_context.named_network) if prepared.network else None,
        )

    def _resolved(self, prepared: Prepared) -> Parameters:
        """Passes the path that was shown, not the one that the model spelled."""
        if self._declared.path is None or not isinstance(prepared.payload, WorkspacePath):
            return prepared.parameters
        return {**prepared.parameters, self._declared.path: prepared.payload.path}

    async def _read_only(self, program: SandboxedProgram, tool_context: ToolContext) -> ToolResult:
        jail = folder_of(tool_context).jail
        async with program.sandbox.read_only(jail.root) as stage:
            covered = MaskedPaths()
            if self._sees_workspace:
                sandbox = program.sandbox
                covered = await asyncio.to_thread(
                    cover, jail, stage, tool_context.hidden, sandbox.key_files, sandbox.hidden_paths
                )
            try:
                child, report = await program.run(jail.origin, stage, source=jail.layers, covered=covered)
            finally:
                covered.close()
        return _with_left_out(self._result(child, program.bounds, report), covered)

    async def _changing(
        self, program: SandboxedProgram, layer: Layer, tool_context: ToolContext, within: WorkspacePath | None
    ) -> ToolResult:
        """A tool that fails changes nothing: only a success is committed. One that names a path may change only that."""
        jail = folder_of(tool_context).jail
        async with program.sandbox.begin(jail, layer, tool_context.hidden) as transaction:
            child, report = await program.run(
                jail.origin, transaction.stage, source=jail.layers, covered=transaction.covered
            )
            result = _with_left_out(self._result(child, program.bounds, report), transaction.covered)
            went_well = result.status is CallStatus.OK
            result = await settle_changes(
                transaction,
                self._title(),
                result,
                tool_context,
                by_itself=went_well,
                whose=f"The tool '{self.spec.name}'",
                within=within,
            )
        return on_a_copy(result) if layer is Layer.COPY else result

    def _result(self, child: ChildResult, bounds: ChildLimits, report: NetworkReport | None) -> ToolResult:
        error = self._fault(child, bounds)
        answer = PluginAnswer() if error else _answer(child.output)
        if error is None and answer.content is None:
            error = PluginFailed(f"'{self.spec.name}' failed: {answer.error or _no_answer(child)}")
        facts: dict[str, JsonValue] = {"plugin": self._plugin.name, "seconds": round(child.seconds, 3)}
        if report is not None:
            facts["network"] = {"reached": dict(report.reached), "refused": dict(report.refused)}
        content = answer.content if answer.content is not None else _with_output(error, child)
        return ToolResult(
            status=CallStatus.ERROR if error else CallStatus.OK,
            content=content.replace("\0", "�"),
            error=CallError.of(error) if error else None,
            facts=facts,
        )

    def _fault(self, child: ChildResult, bounds: ChildLimits) -> ToolFault | None:
        """Returns what ended it, if that was not the tool itself."""
        name = self.spec.name
        match child.how:
            case ChildEnding.TIMED_OUT:
                return ToolTimedOut(f"'{name}' was still running after {bounds.seconds:g} seconds and was stopped.")
            case ChildEnding.TOO_MUCH_OUTPUT:
                return PluginFailed(
                    f"'{name}' gave more than {bounds.output:,} bytes and was stopped. Ask it for less."
                )
            case ChildEnding.DISK_FULL:
                return PluginFailed(f"'{name}' was stopped: the disk was nearly full.")
            case ChildEnding.ITSELF if child.exit_code:
                return PluginFailed(f"'{name}' died without an answer ({_how(child.exit_code)}).")
            case ChildEnding.ITSELF:
                return None
            case _:
                assert_never(child.how)

    @property
    def _sees_workspace(self) -> bool:
        return bool(self.spec.permissions)

    def _title(self) -> str:
        return f"{self.spec.name} ({self._plugin.name})"


def _with_left_out(result: ToolResult, covered: MaskedPaths) -> ToolResult:
    """The answer is the tool's own; what it could not read stands in the facts."""
    if not covered.key_files:
        return result
    return replace(result, facts={**result.facts, "key_files_left_out": list(covered.key_files)})


async def _place(path: str, tool_context: ToolContext) -> WorkspacePath:
    return await reading(lambda: folder_of(tool_context).jail.place(path))


def _answer(output: bytes) -> PluginAnswer:
    """Reads one JSON object; any other output is not an answer."""
    try:
        answer = PluginAnswer.model_validate_json(output)
    except ValidationError:
        return PluginAnswer()
    return answer if (answer.content is None) is not (answer.error is None) else PluginAnswer()


def _no_answer(child: ChildResult) -> str:
    return "it ended without an answer" if not child.output else "what it answered cannot be read"


def _with_output(error: ToolFault | None, child: ChildResult) -> str:
    error_text = child.errors.decode(errors="replace").strip()[-_LAST_WORDS:]
    reason = error.message if error else ""
    return f"{reason}\nIt last printed:\n{error_text}" if error_text else reason


def _how(exit_code: int) -> str:
    number = -exit_code if exit_code < 0 else exit_code - 128
    return f"signal {number}" if number > 0 else f"exit code {exit_code}"
