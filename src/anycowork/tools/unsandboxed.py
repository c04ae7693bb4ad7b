"""Runs commands where the machine has no sandbox: with the server's own rights, each one approved, and only for roles that may do anything.

`run_child` documents what is still guaranteed (limits, no secrets in the environment, nothing left running).
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from anycowork.domain.errors import Forbidden, ToolFault
from anycowork.domain.tool_ports import ToolContext
from anycowork.sandbox.commit.delta_check import CHANGING
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.tools.built_in_tool import folder_of
from anycowork.tools.child_process import ChildLimits, ChildResult, run_child
from anycowork.workspace.jail import working_folder
from anycowork.workspace.paths import WorkspacePath


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
