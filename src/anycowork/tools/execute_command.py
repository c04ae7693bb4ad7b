"""execute_command: runs bash in the workspace, as a transaction in the sandbox.

It sees its own layer over the workspace; `command_changes.py` settles its changes. It has no network except to the hosts that the call
names. Where the machine has no sandbox, see `run_unsandboxed`.
"""

import asyncio
import codecs
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from anycowork.domain.boundary import Boundary
from anycowork.domain.errors import Forbidden, ToolFault
from anycowork.domain.network import wanted_destinations
from anycowork.domain.path_class import is_key_file
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import CheckPrograms, CheckSetup, Prepared, ToolContext
from anycowork.domain.tools import Intent, Parameters, ToolDisplay, ToolKind, ToolResult, ToolSpec
from anycowork.domain.values import replace
from anycowork.sandbox.commit.delta_check import CHANGING, may_change_nothing
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.sandbox.network.dialer import NetworkReach
from anycowork.sandbox.network.egress import Egress
from anycowork.sandbox.remote.remote_run import RemoteCommand
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.sandbox.sandbox import Sandbox
from anycowork.tools.built_in_tool import BuiltInTool, folder_of
from anycowork.tools.child_process import (
    ChildEnding,
    ChildLimits,
    ChildResult,
    SandboxedProgram,
    run_child,
    run_on_best_layer,
)
from anycowork.tools.command_changes import commit_now, settle_changes
from anycowork.tools.command_summary import (
    CommandSummary,
    exists_outside,
    missing_program,
    on_a_copy,
    summary_text,
    without_key_files,
)
from anycowork.tools.parameters import PlainText, parsed
from anycowork.workspace.jail import working_folder
from anycowork.workspace.paths import WorkspacePath

LONGEST_TIMEOUT = 3600.0
_WORD = re.compile(r"[\s'\"=:;|&<>()`$@,]")
MOST_OUTPUT = 10_000_000
_PROJECT_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin")
_BYTECODE = "/tmp/check-bytecode"  # in memory, and gone with the command
KeyFileText = Annotated[PlainText, Field(min_length=1, max_length=1_000)]
HostText = Annotated[PlainText, Field(min_length=1, max_length=300)]


class ExecuteCommandParameters(Boundary):
    command: PlainText = Field(min_length=1, max_length=100_000, description="the command line, as typed into bash")
    timeout: float | None = Field(None, gt=0, le=LONGEST_TIMEOUT, description="seconds until it is stopped")
    network: list[HostText] | None = Field(
        None,
        max_length=20,
        description="hosts it must reach over http(s), such as example.org, example.org:8443 or *.example.org; none without it",
    )

    key_files: list[KeyFileText] | None = Field(
        None,
        max_length=50,
        description="key files, such as .env, and files that a rule asks about, that it must read; it reads none without it",
    )

    @field_validator("key_files")
    @classmethod
    def _key_files(cls, paths: list[str] | None) -> list[str] | None:
        for path in paths or ():
            is_path = {"", ".", ".."}.isdisjoint(path.split("/")) and not any(sign in path for sign in "*?[]")
            if not is_path:
                raise ValueError("name each file from the workspace's root, such as .env; folders are not meant")
        return paths

    @field_validator("network")
    @classmethod
    def _destinations(cls, hosts: list[str] | None) -> list[str] | None:
        wanted_destinations(hosts or ())
        return hosts


class ExecuteCommand(BuiltInTool[ExecuteCommandParameters]):
    """`sandbox` None: the machine has none, and commands run with the server's own rights, for roles that may do anything."""

    name = "execute_command"
    category = "commands"
    description = (
        "Run a command with bash in the workspace folder and get its output and exit code. "
        "It reaches no network but the hosts in 'network'."
    )
    permissions = frozenset({Permission.EXECUTE_COMMANDS})
    priority = 30
    display = ToolDisplay(ToolKind.RUN, ("command",), ("command",), {"command": "git status"})
    model = ExecuteCommandParameters

    def __init__(
        self,
        *,
        timeout: Callable[[], float],
        sandbox: Sandbox | None,
        egress: Egress | None = None,
        remote: RemoteRuns | None = None,
    ) -> None:
        self._remote = remote
        self._timeout = timeout
        self._sandbox = sandbox
        self._egress = egress or Egress()

    @cached_property
    def spec(self) -> ToolSpec:
        return replace(super().spec, contained=self._sandbox is not None)

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        """Returns at once: reads nothing from the disk."""
        return self.inspect(parsed(self.model, self.name, parameters), parameters, tool_context)

    def inspect(self, args: ExecuteCommandParameters, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        if self._sandbox is None:
            require_all_changes_allowed(tool_context)
        return Prepared(
            tool=self.name,
            parameters=parameters,
            resource=f"command:{args.command}",
            intent=Intent(command=args.command, contained=self._sandbox is not None),
            network=wanted_destinations(args.network or ()),
            key_files=tuple(f"/{path}" for path in args.key_files or ()),
        )

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        args = ExecuteCommandParameters.model_validate(prepared.parameters)
        most = self._timeout()
        bounds = ChildLimits(seconds=min(args.timeout or most, most), output=MOST_OUTPUT, most_seconds=most)
        on_output = _as_text(tool_context.progress)
        if self._sandbox is None:
            return summary_text(
                await run_unsandboxed(args.command, tool_context, bounds, on_output), bounds, sandbox="none"
            )
        if tool_context.commit.held is not None:
            return await commit_now(
                self._sandbox.staging, folder_of(tool_context).jail, tool_context.commit.held, tool_context
            )
        program = SandboxedProgram(
            self._sandbox,
            _without_bytecode(args.command, tool_context.check),
            bounds,
            on_output,
            reach=NetworkReach(prepared.network, tool_context.named_network) if prepared.network else None,
            egress=self._egress,
            environment=_check_environment(folder_of(tool_context).jail.origin, tool_context.check),
        )
        root = folder_of(tool_context).root
        runs_elsewhere = self._remote is not None and tool_context.worker is not None and tool_context.check is None
        if self._remote is not None and runs_elsewhere and not prepared.network and not args.key_files:
            worker = await self._remote.worker_for(tool_context.worker, tool_context.worker_needs)
            if worker is not None:
                return await run_on_worker(self._remote, worker, program, tool_context)
        result = await run_on_best_layer(self._sandbox, root, lambda layer: _contained(program, layer, tool_context))
        key_files = [
            *(args.key_files or ()),
            *filter(is_key_file, _WORD.split(args.command)),
            *sorted(tool_context.hidden.named),
        ]
        return (
            replace(result, facts={**result.facts, "key_files_read": [*dict.fromkeys(key_files)][:50]})
            if key_files
            else result
        )


async def _contained(program: SandboxedProgram, layer: Layer, tool_context: ToolContext) -> ToolResult:
    jail = folder_of(tool_context).jail
    async with program.sandbox.begin(jail, layer, tool_context.hidden) as transaction:
        cache_kept = not may_change_nothing(tool_context.permissions)
        child, report = await program.run(
            jail.origin, transaction.stage, source=jail.layers, cache_kept=cache_kept, covered=transaction.covered
        )
        result = summary_text(
            child, program.bounds, sandbox="full", layer=layer, story=CommandSummary(), network=report
        )
        hinted = _with_hint(result, child, program.sandbox)
        result = without_key_files(hinted, transaction.covered.key_files, program.command)
        by_itself = child.how is ChildEnding.ITSELF
        result = await settle_changes(transaction, program.command, result, tool_context, by_itself=by_itself)
    return on_a_copy(result) if layer is Layer.COPY else result


def _check_environment(root: str, check: CheckSetup | None) -> dict[str, str]:
    if check is None:
        return {}
    folders = ":".join(f"{root}/{folder}" for folder in _PROJECT_PROGRAMS)
    path = {"PATH": folders} if check.programs is CheckPrograms.PROJECT else {}
    return path if check.stale_bytecode is not None else {**path, "PYTHONPYCACHEPREFIX": _BYTECODE}


def _without_bytecode(command: str, check: CheckSetup | None) -> str:
    """Returns the command with stale bytecode removed before it, in the layer that is dropped with the check."""
    if check is None or not check.stale_bytecode:
        return command
    return f"rm -rf -- {' '.join(map(shlex.quote, check.stale_bytecode))} 2> /dev/null\n{command}"


def _with_hint(result: ToolResult, child: ChildResult, sandbox: Sandbox) -> ToolResult:
    program = missing_program(child)
    program_path = shutil.which(program, path=sandbox.toolchains.outside) if program else None
    if not program or not program_path:
        return result
    refused = {folder.path: folder.why for folder in sandbox.toolchains.refused}
    return exists_outside(result, program, program_path, refused.get(str(Path(program_path).parent)))


def _as_text(progress: Callable[[str], None] | None) -> Callable[[bytes], None] | None:
    if progress is None:
        return None
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def report(piece: bytes) -> None:
        if text := decoder.decode(piece):
            progress(text)

    return report


async def run_on_worker(
    remote: RemoteRuns, worker_id: str, program: SandboxedProgram, tool_context: ToolContext
) -> ToolResult:
    """Raises: WorkerGone, CannotTravel, BadManifest; then nothing of the command is kept."""
    jail = folder_of(tool_context).jail
    async with program.sandbox.begin(jail, Layer.OVERLAY, tool_context.hidden) as transaction:
        covered = transaction.covered
        command = RemoteCommand(
            program.command, jail.origin, program.bounds.seconds, program.bounds.output, tool_context.job_id or ""
        )
        done = await remote.run(
            worker_id,
            command,
            jail,
            transaction.stage,
            covered=[mask.place for mask in covered.masks],
            on_output=program.on_output,
        )
        await asyncio.to_thread(covered.require_intact)
        how = ChildEnding[done.how]
        child = ChildResult(how, done.exit_code, done.output, b"", done.seconds)
        result = summary_text(child, program.bounds, sandbox="full", layer=Layer.OVERLAY, story=CommandSummary())
        result = without_key_files(result, covered.key_files, program.command)
        result = await settle_changes(
            transaction, program.command, result, tool_context, by_itself=how is ChildEnding.ITSELF
        )
    return replace(result, facts={**result.facts, "worker": worker_id})


async def run_unsandboxed(
    command: str, tool_context: ToolContext, bounds: ChildLimits, on_output: Callable[[bytes], None] | None
) -> ChildResult:
    """Raises: Forbidden, ToolFault."""
    require_all_changes_allowed(tool_context)
    jail = folder_of(tool_context).jail
    async with _private_home() as home:
        with jail.folder(WorkspacePath(())) as root:
            return await run_child(
                [_bash(), "--noprofile", "--norc", "-c", "--", command],
                cwd=working_folder(root, jail.root, WorkspacePath(())),
                env=_environment(home),
                bounds=bounds,
                on_output=on_output,
            )


def require_all_changes_allowed(tool_context: ToolContext) -> None:
    """A command may do anything to files; without a sandbox it is only for roles that may, too."""
    missing = sorted(CHANGING - tool_context.permissions)
    if missing:
        raise Forbidden(
            f"This role may run commands but not change files (it lacks {', '.join(missing)}), and only a sandbox could limit a "
            "command to that. This machine has none (`anycowork doctor` says why); a person can run it, or switch to Actor."
        )


@asynccontextmanager
async def _private_home() -> AsyncIterator[str]:
    home = await asyncio.to_thread(tempfile.mkdtemp, prefix="anycowork-home-")
    try:
        yield home
    finally:
        await asyncio.to_thread(remove_tree, Path(home))


def _bash() -> str:
    bash = shutil.which("bash")
    if bash is None:
        raise ToolFault("There is no bash on this machine, so commands cannot be run. Install it and try again.")
    return str(Path(bash).absolute())


def _environment(home: str) -> dict[str, str]:
    """Passes nothing of the server's environment except where programs are: the rest may be secret."""
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"}
