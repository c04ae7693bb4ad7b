"""Runs a command of a task on a joined worker. Its changes are settled here, like those of a command that ran here."""

import asyncio

from anycowork.domain.tool_ports import ToolContext
from anycowork.domain.tools import ToolResult
from anycowork.domain.values import replace
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.remote.remote_run import RemoteCommand
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.tools.built_in_tool import folder_of
from anycowork.tools.child_process import ChildEnding, ChildResult
from anycowork.tools.command_changes import settle_changes
from anycowork.tools.command_summary import CommandSummary, summary_text, without_key_files
from anycowork.tools.sandboxed_program import SandboxedProgram


async def run_on_worker(
    remote: RemoteRuns, worker_id: str, program: SandboxedProgram, tool_context: ToolContext
) -> ToolResult:
    """Raises: WorkerGone, CannotTravel, BadManifest; then nothing of the command is kept."""
    jail = folder_of(tool_context).jail
    async with program.sandbox.begin(jail, Layer.OVERLAY) as transaction:
        await asyncio.to_thread(transaction.hide, tool_context.hidden)
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
